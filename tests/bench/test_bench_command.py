"""The bench itself: every measurement runs from end to end on small sizes, and its command keeps
what it promises about files and exit codes."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from bench.__main__ import MEASUREMENTS, PAGE, main
from bench.report import Result


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASUREMENTS)
def test_every_measurement_runs_and_leaves_a_complete_result(name: str, tmp_path: Path) -> None:
    before = PAGE.read_text(encoding="utf-8")

    assert main([name, "--quick", "--results", str(tmp_path)]) == 0

    result = msgspec.json.decode((tmp_path / f"{name}.json").read_bytes(), type=Result)
    assert result.report.name == name
    subjects = {figure.subject for figure in result.report.figures}
    assert len(subjects) > 1 or name == "clusters"
    assert all(value >= 0 for figure in result.report.figures for value in figure.values)
    assert result.machine["cores"] >= 1
    assert PAGE.read_text(encoding="utf-8") == before


def test_a_quick_run_never_replaces_the_published_results(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--quick"]) == 2
    assert "--results" in capsys.readouterr().err


def test_an_unknown_measurement_is_named_with_those_that_exist(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["speed"])

    assert exit_.value.code == 2
    said = capsys.readouterr().err
    assert "'speed'" in said
    assert "requests, reflector, engine, clusters" in said
