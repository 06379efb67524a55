"""What kube-apiserver's decoder does to a built-in object in JSON: fields that a type does not have
are dropped, values that do not fit are an error. Works in place; knows nothing of HTTP."""

from __future__ import annotations

from typing import Any

from fairlead_sim.kinds.builtin_types.shapes import Message, Shape, message, message_of

Object = dict[str, Any]

_GO_TYPES = {"s": "string", "i": "int32", "b": "bool", "f": "float64", "y": "[]uint8"}
_JSON_TYPES: dict[type, str] = {
    bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object",
}  # fmt: skip
_FITTING: dict[str, tuple[type, ...]] = {
    "s": (str,), "i": (int,), "b": (bool,), "f": (int, float), "y": (str,), "time": (str,),
    "micro": (str,), "duration": (str,), "quantity": (str, int, float), "intstr": (str, int),
    "M": (dict,), "strings": (list,),
}  # fmt: skip


class WrongType(Exception):
    """A value that the Go type cannot hold, in Go's words."""


def drop_unknown(api_version: str, kind: str, obj: Object) -> list[str]:
    """Remove what the type does not know, in place, and null values; answers the unknown paths.
    `apiVersion`, `kind` and `metadata` are left to others. Raises WrongType."""
    known = message_of(api_version, kind)
    if known is None:
        return []
    dropped: list[str] = []
    skipped: Object = {
        name: obj.pop(name) for name in ("apiVersion", "kind", "metadata") if name in obj
    }
    _clean(obj, known, "", dropped)
    rest = dict(obj)
    obj.clear()
    obj.update(skipped)
    obj.update(rest)
    return sorted(dropped)


def _clean(obj: Object, known: Message, path: str, dropped: list[str]) -> None:
    for name in list(obj):
        shape = known.names.get(name)
        place = f"{path}.{name}" if path else name
        if shape is None:
            dropped.append(place)
            del obj[name]
        elif obj[name] is None:
            # Go reads null as the zero value, which is left out again.
            del obj[name]
        else:
            _check(obj[name], shape, place, dropped, known.name.rsplit(".", 1)[-1])


def _check(value: Any, shape: Shape, place: str, dropped: list[str], owner: str) -> None:
    if shape.repeated:
        if not isinstance(value, list):
            raise _wrong(value, owner, place, f"[]{_go_type(shape)}")
        for index, item in enumerate(value):
            _check_one(item, shape, f"{place}[{index}]", dropped, owner)
    elif shape.mapped:
        if not isinstance(value, dict):
            raise _wrong(value, owner, place, f"map[string]{_go_type(shape)}")
        for key, item in value.items():
            _check_one(item, shape, place, dropped, owner, key)
    else:
        _check_one(value, shape, place, dropped, owner)


def _check_one(
    value: Any, shape: Shape, place: str, dropped: list[str], owner: str, key: str = ""
) -> None:
    fitting = _FITTING.get(shape.base)
    if fitting is None or value is None:
        return
    if not isinstance(value, fitting) or (isinstance(value, bool) and bool not in fitting):
        raise _wrong(value, owner, place, _go_type(shape))
    if isinstance(value, dict):
        _clean(value, message(shape.message), f"{place}.{key}" if key else place, dropped)


def _go_type(shape: Shape) -> str:
    if shape.base == "M":
        return shape.message.split(".", 1)[-1]
    return _GO_TYPES.get(shape.base, "string")


def _wrong(value: Any, owner: str, place: str, wanted: str) -> WrongType:
    found = _JSON_TYPES.get(type(value), "object")
    return WrongType(
        f"json: cannot unmarshal {found} into Go struct field {owner}.{place} of type {wanted}"
    )
