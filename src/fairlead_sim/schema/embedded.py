"""Embedded resources and the uniqueness of list items: what the API server checks of an object
besides its schema's value validations. Knows nothing of CEL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fairlead_sim.patch.json_values import go_json
from fairlead_sim.schema.errors import FieldError, Path, field_error, invalid, required

Schema = dict[str, Any]

_KIND = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_KIND_RULE = (
    "may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case "
    "alphanumeric characters or '-', start with an alphabetic character, and end with an "
    "alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def embedded_errors(value: Any, schema: Schema, path: Path = None) -> Iterator[FieldError]:
    """What is wrong with the type information of embedded resources."""
    if isinstance(value, dict) and schema.get("x-kubernetes-embedded-resource"):
        yield from _type_errors(value, path)
    for child, sub, step in _children(value, schema):
        yield from embedded_errors(child, sub, (path, step))


def _type_errors(value: dict[str, Any], path: Path) -> Iterator[FieldError]:
    for name in ("apiVersion", "kind"):
        here = (path, "." + name)
        found = value.get(name)
        if name not in value:
            yield required(here)
        elif not isinstance(found, str):
            yield invalid(here, found, "must be a string")
        elif not found:
            yield invalid(here, found, "must not be empty")
        elif name == "kind" and not (_KIND.fullmatch(found.lower()) and len(found) <= 63):
            yield invalid(here, found, _KIND_RULE)


def duplicate_errors(value: Any, schema: Schema, path: Path = None) -> Iterator[FieldError]:
    """Items that occur twice in a set or in a list with keys."""
    if isinstance(value, list):
        kind = schema.get("x-kubernetes-list-type")
        if kind == "set":
            yield from _duplicates(value, path)
        elif kind == "map":
            yield from _duplicate_keys(value, schema["x-kubernetes-list-map-keys"], path)
    for child, sub, step in _children(value, schema):
        yield from duplicate_errors(child, sub, (path, step))


def _duplicates(values: list[Any], path: Path) -> Iterator[FieldError]:
    seen: dict[str, int] = {}
    for at, value in enumerate(values):
        text = go_json(value)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            yield field_error("FieldValueDuplicate", (path, f"[{at}]"), value)


def _duplicate_keys(items: list[Any], keys: list[str], path: Path) -> Iterator[FieldError]:
    for at, item in enumerate(items):
        if item is not None and not isinstance(item, dict):
            detail = "must be an object for an array of list-type map"
            yield invalid((path, f"[{at}]"), item, detail)
            return
    yield from _duplicates([{k: i[k] for k in keys if k in i} if i else {} for i in items], path)


def _children(value: Any, schema: Schema) -> Iterator[tuple[Any, Schema, str]]:
    if isinstance(value, dict):
        properties, extra = schema.get("properties", {}), schema.get("additionalProperties")
        for name, child in value.items():
            if not isinstance(child, dict | list):
                continue
            if name in properties:
                yield child, properties[name], "." + name
            elif isinstance(extra, dict):
                yield child, extra, f"[{name}]"
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for at, item in enumerate(value):
            if isinstance(item, dict | list):
                yield item, schema["items"], f"[{at}]"
