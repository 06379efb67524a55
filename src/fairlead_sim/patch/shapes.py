"""What server-side apply and strategic patches must know of a type: which fields are named,
which maps and lists merge and by which keys. A `Shape` says so for one place of an object;
values say the rest, so no scalar types are kept. Knows nothing of where shapes come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

ListKind = Literal["atomic", "set", "map"]


@dataclass(slots=True, eq=False)
class Shape:
    """One place in a type. Shapes of recursive types point back to themselves."""

    fields: dict[str, Shape] = field(default_factory=dict)
    # A struct calls all its fields named, also those the table does not list; a map has elements.
    struct: bool = False
    element: Shape | None = None
    # Fields that are neither listed nor elements are refused by server-side apply.
    closed: bool = False
    map_atomic: bool = False
    list_kind: ListKind = "atomic"
    keys: tuple[str, ...] = ()
    item: Shape | None = None
    # Any JSON, kept as it was written.
    raw: bool = False
    # Default of a list key that an item leaves out; None means there is none.
    default: Any = None
    # Strategic merge patch only: its single merge key ("" means a set of scalars), and retainKeys.
    merge_key: str | None = None
    retain_keys: bool = False
    # What an empty typed object serialises here: {} for a nested struct, None for a required list.
    zero: dict[str, Any] = field(default_factory=dict)

    def child(self, name: str) -> tuple[Shape, bool]:
        """The shape of a field and whether it is a named field (not an element of a free map)."""
        found = self.fields.get(name)
        if found is not None:
            return found, True
        if self.struct:
            return PLAIN, True
        return self.element or DEDUCED, False

    def items(self) -> Shape:
        """The shape of the items of a list here."""
        return self.item or DEDUCED

    def key_default(self, key: str) -> Any:
        """The default of a key field of the items of this list."""
        found = self.items().fields.get(key)
        return None if found is None else found.default


# A value whose type nobody declared: maps merge by element, lists are replaced as a whole.
DEDUCED = Shape()
# A field of a typed struct of which nothing needs to be known.
PLAIN = Shape(struct=True)


def typed_value(value: Any, shape: Shape) -> Any:
    """`value` as a typed server holds it: nested structs that are never absent are there, nulls and
    what is omitted when empty is not. Shares nothing but scalars and raw values with the original.
    """
    if shape.raw:
        return value
    if isinstance(value, dict):
        out = {}
        for name, child in {**shape.zero, **value}.items():
            sub = shape.child(name)[0]
            if name in shape.zero or not _omitted(child, sub):
                out[name] = typed_value(child, sub)
        return out
    if isinstance(value, list) and shape.list_kind != "atomic":
        return [typed_value(item, shape.items()) for item in value]
    return value


def _omitted(value: Any, shape: Shape) -> bool:
    if value is None or value == []:
        return not shape.raw
    free_map = not shape.struct and shape.element is not None
    return free_map and value == {}
