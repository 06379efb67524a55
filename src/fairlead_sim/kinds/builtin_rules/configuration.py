"""Config maps and secrets: text only, valid keys, bounded size, immutable if so declared."""

from __future__ import annotations

import base64
import binascii
import re

from fairlead_sim.kinds.builtin_rules.field_errors import Errors, forbidden, invalid, unmarshal
from fairlead_sim.kinds.catalogue import Kind, Object
from fairlead_sim.objects.metadata import wrong_type
from fairlead_sim.schema import FieldError

_LIMIT = 1024 * 1024
_TOO_LONG = f"Too long: may not be more than {_LIMIT} bytes"
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+\Z")
_CONFIG_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)


def _string_map(kind: Kind, obj: Object, field: str) -> dict[str, str]:
    values = obj.get(field)
    if values is None:
        obj.pop(field, None)
        return {}
    if not isinstance(values, dict):
        raise wrong_type(kind, unmarshal(values, f"{kind.kind}.{field}", "map[string]string"))
    for value in values.values():
        if not isinstance(value, str):
            raise wrong_type(kind, unmarshal(value, f"{kind.kind}.{field}", "string"))
    return values


def _check_base64(kind: Kind, values: dict[str, str]) -> None:
    for value in values.values():
        try:
            base64.b64decode(value, validate=True)
        except binascii.Error as error:
            raise wrong_type(kind, "illegal base64 data at input byte 0") from error


def config_map(kind: Kind, obj: Object, old: Object | None) -> Errors:
    data = _string_map(kind, obj, "data")
    binary = _string_map(kind, obj, "binaryData")
    _check_base64(kind, binary)
    errors = _key_errors("data", data) + _key_errors("binaryData", binary)
    if sum(map(len, data.values())) + sum(len(each) * 3 // 4 for each in binary.values()) > _LIMIT:
        errors.append(FieldError("[]", "FieldValueTooLong", _TOO_LONG))
    return errors + _immutable(obj, old, ("data", "binaryData"))


def _key_errors(field: str, values: dict[str, str]) -> Errors:
    return [
        invalid(f"{field}[{key}]", f'"{key}"', _CONFIG_KEY_RULE)
        for key in values
        if not _CONFIG_KEY.match(key)
    ]


def _immutable(obj: Object, old: Object | None, fields: tuple[str, ...]) -> Errors:
    if not old or not old.get("immutable"):
        return []
    if not obj.get("immutable"):
        return [forbidden("immutable", "field is immutable when `immutable` is set")]
    return [
        forbidden(field, "field is immutable when `immutable` is set")
        for field in fields
        if (obj.get(field) or {}) != (old.get(field) or {})
    ]


def move_string_data(kind: Kind, obj: Object) -> None:
    """`stringData` is write-only: it lands in `data`."""
    data = _string_map(kind, obj, "data")
    _check_base64(kind, data)
    plain = _string_map(kind, obj, "stringData")
    obj.pop("stringData", None)
    if plain:
        added = {key: base64.b64encode(text.encode()).decode() for key, text in plain.items()}
        obj["data"] = {**data, **added}


def secret(kind: Kind, obj: Object, old: Object | None) -> Errors:
    move_string_data(kind, obj)
    size = sum(len(each) * 3 // 4 for each in (obj.get("data") or {}).values())
    too_long = [FieldError("data", "FieldValueTooLong", _TOO_LONG)] if size > _LIMIT else []
    obj["type"] = obj.get("type") or (old or {}).get("type") or "Opaque"
    errors = too_long + _key_errors("data", obj.get("data") or {})
    errors += _immutable(obj, old, ("data",))
    if old and old.get("type") != obj["type"]:
        errors.append(invalid("type", f'"{obj["type"]}"', "field is immutable"))
    return errors
