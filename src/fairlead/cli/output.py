"""How commands show things: the same rows as a table for people, as JSON or YAML for
programs. On a terminal tables are coloured and fit its width; in a pipe they are plain text
that is never cut."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Generic, TypeVar

import msgspec
import typer
import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

Row = TypeVar("Row")


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


OutputOption = Annotated[
    Format, typer.Option("--output", "-o", help="How to print what is listed.", show_default=True)
]

STYLES = {
    "healthy": "green",
    "ok": "green",
    "degraded": "yellow",
    "warning": "yellow",
    "unhealthy": "red",
    "failed": "red",
    "unknown": "dim",
}


@dataclass(frozen=True)
class Column(Generic[Row]):
    """One column of a table. `coloured` says that its words mean a state."""

    title: str
    value: Callable[[Row], str]
    coloured: bool = False
    wrap: bool = False


def console() -> Console:
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def error_console() -> Console:
    return Console(stderr=True, highlight=False, soft_wrap=True)


def show(rows: Sequence[Row], columns: Sequence[Column[Row]], output: Format, empty: str) -> None:
    """Print `rows`; `empty` is the sentence a person reads when there are none."""
    if output is not Format.TABLE:
        show_data([msgspec.to_builtins(row) for row in rows], output)
    elif not rows:
        error_console().print(empty)
    elif sys.stdout.isatty():
        console().print(table(rows, columns))
    else:
        sys.stdout.write(plain(rows, columns))


def show_data(data: Any, output: Format) -> None:
    """Print one value for a program to read."""
    builtins = msgspec.to_builtins(data)
    if output is Format.YAML:
        sys.stdout.write(yaml.safe_dump(builtins, sort_keys=False, allow_unicode=True))
    else:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(builtins)).decode() + "\n")


def table(rows: Sequence[Row], columns: Sequence[Column[Row]]) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        grid.add_column(column.title, no_wrap=not column.wrap, overflow="ellipsis")
    for row in rows:
        grid.add_row(*(_cell(column, column.value(row)) for column in columns))
    return grid


def _cell(column: Column[Row], value: str) -> Text:
    return Text(value or "-", style=STYLES.get(value.lower(), "") if column.coloured else "")


def plain(rows: Sequence[Row], columns: Sequence[Column[Row]]) -> str:
    """Aligned text without colours, as `kubectl get` prints it."""
    lines = [[column.title for column in columns]]
    lines += [[column.value(row) or "-" for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    text = ""
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        text += "   ".join(cells).rstrip() + "\n"
    return text
