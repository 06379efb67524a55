"""Objects as the `Table` that kubectl asks for. Knows columns and cells, nothing of HTTP."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from fairlead_sim.display import jsonpath
from fairlead_sim.display.columns import BUILTIN_COLUMNS, NAME, PLAIN_COLUMNS, WITHOUT_NAME, Columns
from fairlead_sim.display.durations import age
from fairlead_sim.display.views import object_of, partial_metadata
from fairlead_sim.kinds.catalogue import Column, Kind, Object
from fairlead_sim.objects.storage import Record


def columns_of(kind: Kind) -> Columns:
    """The columns after the name."""
    if kind.custom:
        return [(column, _cell_reader(column)) for column in kind.custom.columns]
    return BUILTIN_COLUMNS.get((kind.storage[0], kind.kind), PLAIN_COLUMNS)


def _cell_reader(column: Column) -> Any:
    def read(obj: Object, now: datetime) -> Any:
        found = jsonpath.find(obj, column.path)
        return _custom_cell(column, found[0], now) if found else None

    return read


def _custom_cell(column: Column, value: Any, now: datetime) -> Any:
    """As the API server coerces it: a value that does not fit the column's type shows nothing."""
    match column.type:
        case "date":
            return age(value, now) if isinstance(value, str) else None
        case "integer":
            fits = isinstance(value, int | float) and not isinstance(value, bool)
            return int(value) if fits else None
        case "number":
            fits = isinstance(value, int | float) and not isinstance(value, bool)
            return float(value) if fits else None
        case "boolean":
            return value if isinstance(value, bool) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def _starts_with_name(kind: Kind) -> bool:
    return bool(kind.custom) or kind.kind not in WITHOUT_NAME


def definitions(kind: Kind) -> list[Object]:
    columns = [column for column, _ in columns_of(kind)]
    if _starts_with_name(kind):
        columns.insert(0, NAME)
    return [
        {
            "name": column.name,
            # Dates are cells of text by the time they are in a table.
            "type": "string" if column.type == "date" and not kind.custom else column.type,
            "format": column.format,
            "description": column.description,
            "priority": column.priority,
        }
        for column in columns
    ]


def rows(
    kind: Kind, records: Iterable[Record], include: str, version: str, now: datetime
) -> list[Object]:
    readers = [read for _, read in columns_of(kind)]
    named = _starts_with_name(kind)
    made = []
    for record in records:
        obj = object_of(kind, record)
        cells = [read(obj, now) for read in readers]
        if named:
            cells.insert(0, obj["metadata"]["name"])
        row: Object = {"cells": cells}
        if include == "Metadata":
            row["object"] = partial_metadata(obj, version)
        else:
            row["object"] = obj if include == "Object" else None
        made.append(row)
    return made


def table(
    rows: list[Object], metadata: Object, version: str, columns: list[Object] | None
) -> Object:
    made: Object = {"kind": "Table", "apiVersion": f"meta.k8s.io/{version}", "metadata": metadata}
    made["columnDefinitions"] = columns
    made["rows"] = rows
    return made
