"""Results as files and tables: what is written is read back, and a page keeps its prose."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.figures import Figure, Report, at_most
from bench.report import BEGIN, END, PageWithoutMarkers, Result, read_results, write_page
from bench.report import write_result as write

MACHINE = {"cores": 2, "processor": "Some processor", "python": "CPython 3.11"}


def result(name: str = "speed", value: float = 1.25) -> Result:
    figures = [
        Figure("ours", "time", "ms", (1234.0, 1300.0, 1200.0)),
        Figure("theirs", "time", "ms", (20.04,)),
        Figure("ours", "x bare", "x", (value,)),
    ]
    bars = [at_most("ours is quick", value, 1.5, "x")]
    report = Report(name, "Speed", "About speed.", {"rounds": 3}, figures, bars)
    return Result(report, MACHINE, (0.02, 0.5))


def test_results_are_read_back_in_the_order_asked_for(tmp_path: Path) -> None:
    write(tmp_path, result("one"))
    write(tmp_path, result("two"))

    assert read_results(tmp_path, ["two", "missing", "one"]) == [result("two"), result("one")]


def test_the_tables_replace_only_what_stands_between_the_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n{BEGIN}\nold\n{END}\nThe end.\n", encoding="utf-8")

    write_page(page, [result()])
    once = page.read_text(encoding="utf-8")
    write_page(page, [result()])

    assert page.read_text(encoding="utf-8") == once
    assert once.startswith("# Title\n")
    assert once.endswith(f"{END}\nThe end.\n")
    assert "old" not in once
    assert "| ours is quick | 1.25x | 1.50x | met |" in once
    assert "| ours | 1,234 (1,200 – 1,300) | 1.25 |" in once
    assert "| theirs | 20.0 |  |" in once
    assert "others used 2% of the machine just before and 50% just after" in once


def test_a_missed_bar_is_shown_as_missed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{BEGIN}\n{END}\n", encoding="utf-8")

    write_page(page, [result(value=1.51)])

    assert "| ours is quick | 1.51x | 1.50x | **missed** |" in page.read_text(encoding="utf-8")


def test_a_page_without_markers_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n{BEGIN}\n", encoding="utf-8")

    with pytest.raises(PageWithoutMarkers, match="put them back"):
        write_page(page, [result()])

    assert page.read_text(encoding="utf-8") == f"# Title\n{BEGIN}\n"
