"""Which lists and maps of a kind merge, and by which keys: from the table of built-in kinds or
from the structural schema of a custom kind. Knows nothing of patches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from fairlead_sim.patch.builtin_table import packaged_table
from fairlead_sim.patch.fields import FieldSet
from fairlead_sim.patch.shapes import DEDUCED, Shape, typed_value

Schema = dict[str, Any]
Object = dict[str, Any]

_NOTHING = FieldSet()
_SPEC = FieldSet.of(("f:spec",))
_SPEC_AND_METADATA = FieldSet.of(("f:spec",), ("f:metadata",))
_STATUS = FieldSet.of(("f:status",))


@dataclass(frozen=True, slots=True, eq=False)
class ListTypes:
    """The merge rules of one kind; `typed` kinds are Go structs in a real server."""

    root: Shape
    typed: bool = False
    # Is status written through its own endpoint only?
    status_subresource: bool = True

    def typed_form(self, obj: Object) -> Object:
        """`obj` as a real server answers it: with the structs that are never absent, without nulls
        and empty maps. Custom objects come back as they are.
        """
        if not self.typed:
            return obj
        filled: Object = typed_value(obj, self.root)
        return filled

    def reset_by(self, subresource: str) -> FieldSet:
        """The fields that writes through an endpoint cannot change and therefore never own."""
        if subresource == "status":
            return _SPEC if self.typed else _SPEC_AND_METADATA
        return _STATUS if self.status_subresource else _NOTHING


def builtin_list_types(group: str, kind: str) -> ListTypes:
    """For a built-in kind, such as ("", "Service"); all lists of an unknown one are atomic."""
    return _builtin(f"{group}/{kind}")


@cache
def _builtin(key: str) -> ListTypes:
    name = _table()["kinds"].get(key)
    if name is None:
        metadata = _builtin_shapes()["ObjectMeta"]
        return ListTypes(
            Shape(struct=True, fields={"metadata": metadata}, zero={"metadata": {}}), True
        )
    return ListTypes(_builtin_shapes()[name], typed=True)


@cache
def _table() -> dict[str, Any]:
    return packaged_table()


@cache
def _builtin_shapes() -> dict[str, Shape]:
    types: dict[str, dict[str, Any]] = _table()["types"]
    shapes = {name: Shape(struct=True) for name in types}
    for name, fields in types.items():
        shape = shapes[name]
        shape.map_atomic = "" in fields
        for field_name, entry in fields.items():
            if field_name:
                shape.fields[field_name] = _entry_shape(entry, shapes)
                if "zero" in entry:
                    shape.zero[field_name] = entry["zero"]
    return shapes


def _entry_shape(entry: dict[str, Any], shapes: dict[str, Shape]) -> Shape:
    target = shapes.get(entry.get("of", ""))
    if "keys" not in entry and "map" not in entry and "merge" not in entry:
        if target is not None and not entry.get("atomic") and not entry.get("retain"):
            return target
        inner = target or Shape()
        return Shape(
            struct=not entry.get("raw"),
            fields=inner.fields,
            zero=inner.zero,
            map_atomic=inner.map_atomic or entry.get("atomic", False),
            retain_keys=entry.get("retain", False),
            raw=entry.get("raw", False),
            default=entry.get("default", entry.get("zero")),
        )
    keys = entry.get("keys")
    return Shape(
        struct="map" not in entry,
        element=shapes.get(entry.get("map") or "", Shape(struct=True)),
        map_atomic=entry.get("atomic", False),
        list_kind="atomic" if keys is None else "map" if keys else "set",
        keys=tuple(keys or ()),
        item=target or Shape(struct=True),
        merge_key=entry.get("merge"),
        retain_keys=entry.get("retain", False),
    )


def schema_list_types(schema: Schema | None, *, status_subresource: bool = True) -> ListTypes:
    """For a custom kind, from the openAPIV3Schema of one version (None: everything is deduced)."""
    root = _with_object_fields(_schema_shape(schema or {}, preserve=False))
    return ListTypes(root, status_subresource=status_subresource)


def _with_object_fields(shape: Shape) -> Shape:
    """apiVersion, kind and metadata have the same types in every object."""
    shape.fields["metadata"] = _builtin_shapes()["ObjectMeta"]
    shape.fields["apiVersion"] = shape.fields["kind"] = DEDUCED
    return shape


def _schema_shape(schema: Schema, preserve: bool) -> Shape:
    # As in kube-apiserver, a preserving object makes all its descendants preserve.
    preserve = preserve or schema.get("x-kubernetes-preserve-unknown-fields", False)
    properties = schema.get("properties", {})
    extra = schema.get("additionalProperties")
    shape = Shape(
        fields={n: _schema_shape(s, preserve) for n, s in properties.items()},
        closed=bool(properties) and not preserve and not extra,
        map_atomic=schema.get("x-kubernetes-map-type") == "atomic",
        default=schema.get("default"),
    )
    if isinstance(extra, dict):
        shape.element = _schema_shape(extra, preserve)
    if isinstance(schema.get("items"), dict):
        shape.item = _schema_shape(schema["items"], preserve)
    if schema.get("x-kubernetes-list-type") == "set":
        shape.list_kind = "set"
    elif schema.get("x-kubernetes-list-type") == "map":
        shape.list_kind = "map"
        shape.keys = tuple(schema.get("x-kubernetes-list-map-keys", ()))
    if schema.get("x-kubernetes-embedded-resource"):
        return _with_object_fields(shape)
    return shape
