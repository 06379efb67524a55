"""Pruning: fields that the schema does not know are dropped, and so are nulls that it does not
allow. Knows nothing of validation."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

_META = frozenset(("apiVersion", "kind", "metadata"))
_NO_FIELDS: Schema = {}


def prune(obj: dict[str, Any], schema: Schema) -> list[str]:
    """Drop unknown fields of a whole object in place; their paths, sorted, e.g. ["spec.foo"]."""
    dropped: list[str] = []
    _prune(obj, {**schema, "x-kubernetes-embedded-resource": True}, "", dropped)
    _drop_nulls(obj, schema)
    return sorted(dropped)


def _prune(value: Any, schema: Schema | None, path: str, dropped: list[str]) -> None:
    preserves = bool(schema and schema.get("x-kubernetes-preserve-unknown-fields"))
    if isinstance(value, dict):
        _prune_map(value, schema or _NO_FIELDS, path, dropped, preserves)
    elif isinstance(value, list):
        items = (schema or _NO_FIELDS).get("items")
        for at, item in enumerate(value):
            if isinstance(item, dict | list):
                if preserves:
                    _prune_below_preserved(item, items, f"{path}[{at}]", dropped)
                else:
                    _prune(item, items, f"{path}[{at}]", dropped)


def _prune_below_preserved(
    value: Any, schema: Schema | None, path: str, dropped: list[str]
) -> None:
    """Items of a preserved list keep their unknown fields, but their known ones are pruned."""
    if schema is not None:
        _prune(value, {**schema, "x-kubernetes-preserve-unknown-fields": True}, path, dropped)


def _prune_map(
    value: dict[str, Any], schema: Schema, path: str, dropped: list[str], preserves: bool
) -> None:
    properties = schema.get("properties", _NO_FIELDS)
    extra = schema.get("additionalProperties")
    embedded = schema.get("x-kubernetes-embedded-resource", False)
    for name in list(value):
        if embedded and name in _META:
            continue
        below = f"{path}.{name}" if path else name
        if name in properties:
            _prune(value[name], properties[name], below, dropped)
        elif extra:
            # `additionalProperties: true` says nothing of what is below.
            _prune(value[name], extra if isinstance(extra, dict) else None, below, dropped)
        elif not preserves:
            dropped.append(below)
            del value[name]


def _drop_nulls(value: Any, schema: Schema | None) -> None:
    """Nulls that the schema neither allows nor can replace by a default."""
    if schema is None:
        return
    if isinstance(value, dict):
        properties, extra = schema.get("properties", _NO_FIELDS), schema.get("additionalProperties")
        for name in list(value):
            sub = properties.get(name, extra if isinstance(extra, dict) else None)
            if sub is None:
                continue
            if value[name] is None:
                if not sub.get("nullable") and sub.get("default") is None:
                    del value[name]
            else:
                _drop_nulls(value[name], sub)
    elif isinstance(value, list):
        for item in value:
            _drop_nulls(item, schema.get("items"))
