"""Structural OpenAPI schemas from the type hints of Structs. Owns the translation of types,
`msgspec.Meta` constraints and `Crd` annotations; knows nothing of CRDs around the schema."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin, get_type_hints

import msgspec

Schema = dict[str, Any]

IntOrString = NewType("IntOrString", object)
"""A whole number or text, as Kubernetes has it for ports and percentages."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule the API server enforces; `message` says what to do instead."""

    rule: str
    message: str
    field_path: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Crd:
    """What a CRD schema says about a field beyond its type and its `msgspec.Meta`.

    `required`: the API server refuses an object without it (the Struct still has None, see
    `meta.ApiStruct`). `default`: filled in by the API server. `keys`: the list is a map with
    these keys. `list_type`: "set" or "atomic".
    """

    required: bool = False
    default: Any = msgspec.UNSET
    format: str | None = None
    keys: tuple[str, ...] = ()
    list_type: Literal["set", "atomic"] | None = None
    rules: tuple[Rule, ...] = ()


_SCALARS: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer", "format": "int64"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    IntOrString: {"x-kubernetes-int-or-string": True},
    Any: {"x-kubernetes-preserve-unknown-fields": True},
}

_CONSTRAINTS: dict[str, Mapping[str, str]] = {
    "string": {"pattern": "pattern", "min_length": "minLength", "max_length": "maxLength"},
    "array": {"min_length": "minItems", "max_length": "maxItems"},
    "object": {"min_length": "minProperties", "max_length": "maxProperties"},
    "number": {
        "ge": "minimum",
        "le": "maximum",
        "gt": "exclusiveMinimum",
        "lt": "exclusiveMaximum",
        "multiple_of": "multipleOf",
    },
}

# The order of a reader's questions: what is it for, what may stand there, what must hold.
_ORDER = (
    "description",
    "type",
    "format",
    "default",
    "enum",
    "pattern",
    "required",
    "properties",
    "additionalProperties",
    "items",
)


def struct_schema(struct: type[msgspec.Struct]) -> Schema:
    """The schema of a Struct: its docstring, fields and `__rules__`."""
    hints = get_type_hints(struct, include_extras=True)
    properties: dict[str, Schema] = {}
    required = []
    for field in msgspec.structs.fields(struct):
        hint = hints[field.name]
        properties[field.encode_name] = type_schema(hint, f"{struct.__name__}.{field.name}")
        if any(crd.required for crd in _annotations(hint, Crd)):
            required.append(field.encode_name)
    schema: Schema = {"type": "object", "properties": properties}
    if struct.__doc__:
        schema["description"] = _text(struct.__doc__)
    if required:
        schema["required"] = sorted(required)
    rules: Sequence[Rule] = getattr(struct, "__rules__", ())
    if rules:
        schema["x-kubernetes-validations"] = [_rule(rule) for rule in rules]
    return _ordered(schema)


def type_schema(hint: Any, place: str) -> Schema:
    """The schema of one type hint; `place` is for the complaint about a hint we cannot express."""
    bare, annotations = _unwrap(hint)
    schema = _bare_schema(bare, place)
    for annotation in annotations:
        if isinstance(annotation, msgspec.Meta):
            _apply_meta(schema, annotation)
        elif isinstance(annotation, Crd):
            _apply_crd(schema, annotation)
    return _ordered(schema)


def _bare_schema(bare: Any, place: str) -> Schema:
    if bare in _SCALARS:
        return dict(_SCALARS[bare])
    origin, arguments = get_origin(bare), get_args(bare)
    if origin is Literal:
        return {"type": "string", "enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": type_schema(arguments[0], f"{place}[]")}
    if origin is dict and arguments[0] is str:
        if arguments[1] is Any:
            return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        values = type_schema(arguments[1], f"{place}{{}}")
        return {"type": "object", "additionalProperties": values}
    if isinstance(bare, type) and issubclass(bare, msgspec.Struct):
        return struct_schema(bare)
    raise TypeError(f"{place}: {bare!r} has no structural schema")


def _unwrap(hint: Any) -> tuple[Any, list[Any]]:
    """The type without `Annotated` and `| None`, and all annotations from inside out."""
    if get_origin(hint) is Annotated:
        inner, outer = get_args(hint)[0], list(get_args(hint)[1:])
        bare, annotations = _unwrap(inner)
        return bare, annotations + outer
    if get_origin(hint) in (Union, types.UnionType):
        members = [member for member in get_args(hint) if member is not types.NoneType]
        if len(members) == 1:
            return _unwrap(members[0])
    return hint, []


def _annotations(hint: Any, kind: type[Crd]) -> list[Crd]:
    return [annotation for annotation in _unwrap(hint)[1] if isinstance(annotation, kind)]


def _apply_meta(schema: Schema, meta: msgspec.Meta) -> None:
    if meta.description:
        schema["description"] = _text(meta.description)
    kind = schema.get("type", "")
    for attribute, keyword in _CONSTRAINTS.get("number" if kind == "integer" else kind, {}).items():
        value = getattr(meta, attribute)
        if value is None:
            continue
        # OpenAPI v3.0, which structural schemas follow, has exclusive bounds as flags.
        if attribute in ("gt", "lt"):
            schema["minimum" if attribute == "gt" else "maximum"] = value
            value = True
        schema[keyword] = value


def _apply_crd(schema: Schema, crd: Crd) -> None:
    if crd.default is not msgspec.UNSET:
        schema["default"] = crd.default
    if crd.format:
        schema["format"] = crd.format
    if crd.keys:
        schema["x-kubernetes-list-type"] = "map"
        schema["x-kubernetes-list-map-keys"] = list(crd.keys)
    if crd.list_type:
        schema["x-kubernetes-list-type"] = crd.list_type
    if crd.rules:
        rules = schema.setdefault("x-kubernetes-validations", [])
        rules.extend(_rule(rule) for rule in crd.rules)


def _rule(rule: Rule) -> Schema:
    fields = {
        "rule": rule.rule,
        "message": rule.message,
        "fieldPath": rule.field_path,
        "reason": rule.reason,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _text(docstring: str) -> str:
    """Paragraphs joined to lines, as `kubectl explain` shows them."""
    paragraphs = "\n".join(line.strip() for line in docstring.strip().splitlines()).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _ordered(schema: Schema) -> Schema:
    first = {key: schema[key] for key in _ORDER if key in schema}
    return first | {key: schema[key] for key in sorted(schema) if key not in first}
