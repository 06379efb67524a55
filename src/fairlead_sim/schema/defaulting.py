"""Defaults of a structural schema. Knows nothing of validation."""

from __future__ import annotations

from typing import Any

from fairlead_sim.patch.json_values import copied

Schema = dict[str, Any]


class Defaulter:
    """Compiled from a schema; branches without any default cost nothing."""

    __slots__ = ("_defaults", "_element", "_element_null", "_fields", "_item", "_item_null")

    def __init__(self, schema: Schema) -> None:
        properties: dict[str, Schema] = schema.get("properties", {})
        # A default that is null counts as none.
        self._defaults = {
            name: (sub["default"], not sub.get("nullable", False))
            for name, sub in properties.items()
            if sub.get("default") is not None
        }
        self._fields = {
            name: child
            for name, sub in properties.items()
            if (child := Defaulter(sub)).does_something()
        }
        self._element, self._element_null = _part(schema.get("additionalProperties"))
        self._item, self._item_null = _part(schema.get("items"))

    def does_something(self) -> bool:
        """Is there any default here or below?"""
        return bool(self._defaults or self._fields or self._element or self._item) or (
            self._element_null is not None or self._item_null is not None
        )

    def apply(self, value: Any) -> None:
        """Fill in the defaults, in place."""
        if isinstance(value, dict):
            self._apply_to_map(value)
        elif isinstance(value, list):
            for at, item in enumerate(value):
                if item is None and self._item_null is not None:
                    value[at] = copied(self._item_null)
                if self._item is not None:
                    self._item.apply(value[at])

    def _apply_to_map(self, value: dict[str, Any]) -> None:
        for name, (default, replaces_null) in self._defaults.items():
            if name not in value or (replaces_null and value[name] is None):
                value[name] = copied(default)
        for name, child in value.items():
            sub = self._fields.get(name)
            if sub is not None:
                sub.apply(child)
            elif self._element is not None or self._element_null is not None:
                if child is None and self._element_null is not None:
                    value[name] = copied(self._element_null)
                if self._element is not None:
                    self._element.apply(value[name])


def _part(schema: Any) -> tuple[Defaulter | None, Any]:
    """The defaulter of items or elements, and what replaces a null that is not allowed there."""
    if not isinstance(schema, dict):
        return None, None
    child = Defaulter(schema)
    null = None if schema.get("nullable") else schema.get("default")
    return (child if child.does_something() else None), null
