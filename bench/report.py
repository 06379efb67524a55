"""Reports as files: one JSON per measurement, and the tables of `docs/performance.md` between two
markers, made from whatever JSON there is. Knows nothing of how anything is measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench.figures import Figure, Report

BEGIN = "<!-- tables of `make bench`: begin -->"
END = "<!-- tables of `make bench`: end -->"


class Result(msgspec.Struct, frozen=True):
    """What one file holds. `busy` is the share of the machine that others used just before and
    just after."""

    report: Report
    machine: dict[str, Any]
    busy: tuple[float, float]


class PageWithoutMarkers(Exception):
    """The page has no place for the tables; the text is one sentence."""


def write_result(folder: Path, result: Result) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{result.report.name}.json"
    file.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")
    return file


def read_results(folder: Path, order: Sequence[str]) -> list[Result]:
    """The results that exist, in the order of the names."""
    files = [folder / f"{name}.json" for name in order]
    return [msgspec.json.decode(file.read_bytes(), type=Result) for file in files if file.exists()]


def write_page(page: Path, results: Sequence[Result]) -> None:
    """Put the tables between the markers and leave the rest as it is."""
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise PageWithoutMarkers(f"{page} lacks the lines {BEGIN!r} and {END!r}; put them back.")
    tables = "\n".join(line for result in results for line in _section(result))
    page.write_text(f"{before}{BEGIN}\n{_bars(results)}\n{tables}{END}{after}", encoding="utf-8")


def _bars(results: Sequence[Result]) -> str:
    lines = ["", "| bar | measured | limit | |", "| --- | ---: | ---: | --- |"]
    for result in results:
        for bar in result.report.bars:
            word = "met" if bar.met else "**missed**"
            value, limit = _number(bar.value, bar.unit), _number(bar.limit, bar.unit)
            lines.append(f"| {bar.claim} | {value} | {limit} | {word} |")
    return "\n".join([*lines, ""])


def _section(result: Result) -> list[str]:
    report, machine = result.report, result.machine
    measures = list(dict.fromkeys((f.measure, f.unit) for f in report.figures))
    subjects = list(dict.fromkeys(figure.subject for figure in report.figures))
    found = {(figure.subject, figure.measure): figure for figure in report.figures}
    heads = [measure if unit == "x" else f"{measure} ({unit})" for measure, unit in measures]
    before, after = result.busy
    where = f"{machine['processor']}, {machine['cores']} cores, {machine['python']}"
    noise = f"{before:.0%} of the machine just before and {after:.0%} just after"
    return [
        f"### {report.title}",
        "",
        f"{report.about} Median of {report.sizes['rounds']:g} rounds (least – most).",
        "",
        f"| | {' | '.join(heads)} |",
        f"| --- |{' ---: |' * len(heads)}",
        *(
            f"| {subject} | "
            + " | ".join(_cell(found.get((subject, measure))) for measure, _ in measures)
            + " |"
            for subject in subjects
        ),
        "",
        f"{where}; others used {noise}.",
        "",
    ]


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return ""
    text = _digits(figure.median)
    if len(figure.values) > 1 and min(figure.values) != max(figure.values):
        text += f" ({_digits(min(figure.values))} – {_digits(max(figure.values))})"
    return text


def _number(value: float, unit: str) -> str:
    return f"{_digits(value)}{unit}" if unit == "x" else f"{_digits(value)} {unit}"


def _digits(value: float) -> str:
    """Three digits that count: more would claim a precision that no such measurement has."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
