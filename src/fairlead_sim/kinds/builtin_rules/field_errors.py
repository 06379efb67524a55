"""How rules for built-in objects word what is wrong. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead_sim.schema import FieldError

Errors = list[FieldError]


def required(field: str, more: str = "") -> FieldError:
    message = f"Required value: {more}" if more else "Required value"
    return FieldError(field, "FieldValueRequired", message)


def invalid(field: str, value: str, why: str) -> FieldError:
    return FieldError(field, "FieldValueInvalid", f"Invalid value: {value}: {why}")


def forbidden(field: str, why: str) -> FieldError:
    return FieldError(field, "FieldValueForbidden", f"Forbidden: {why}")


def unmarshal(value: Any, field: str, wanted: str) -> str:
    names: dict[type, str] = {bool: "bool", int: "number", float: "number", str: "string"}
    names |= {list: "array", dict: "object", type(None): "null"}
    found = names.get(type(value), "object")
    return f"json: cannot unmarshal {found} into Go struct field {field} of type {wanted}"


def go_map(value: Any) -> str:
    return msgspec.json.encode(value or None).decode()
