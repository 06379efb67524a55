"""Is the schema of a custom resource definition structural, and are its extensions consistent?
The sentences are those of kube-apiserver. Knows nothing of objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fairlead_sim.patch.json_values import go_struct
from fairlead_sim.schema.cel import CelError
from fairlead_sim.schema.errors import FieldError, forbidden, invalid, required
from fairlead_sim.schema.patterns import compile_pattern
from fairlead_sim.schema.rules import Rule
from fairlead_sim.schema.validation import Validator

Schema = dict[str, Any]

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_EMPTY_TYPE = {
    "root": "must not be empty at the root",
    "items": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_UNSUPPORTED = ("$ref", "definitions", "dependencies", "patternProperties", "id", "$schema")
_FORBIDDEN_NESTED = {
    "type": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    "x-kubernetes-preserve-unknown-fields": "must be false to be structural",
    "x-kubernetes-embedded-resource": "must be false to be structural",
    "x-kubernetes-int-or-string": "must be false to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
    "x-kubernetes-validations": "must be empty to be structural",
}
# How the API server prints a rule that it refuses: its Go struct.
_RULE_FIELDS = (
    ("Rule", "rule", ""),
    ("Message", "message", ""),
    ("MessageExpression", "messageExpression", ""),
    ("Reason", "reason", None),
    ("FieldPath", "fieldPath", ""),
    ("OptionalOldSelf", "optionalOldSelf", None),
)
_LOGIC = ("allOf", "anyOf", "oneOf")


def check_structural(
    schema: Schema | None, path: str = "spec.validation.openAPIV3Schema"
) -> list[FieldError]:
    """The violations, including rules that do not compile; none means that it can be served."""
    if not isinstance(schema, dict):
        return [required(path, "schemas are required")]
    errors = [*_node(schema, path, "root"), *_completeness(schema, schema, path, path)]
    return sorted(dict.fromkeys(errors), key=str)


def _node(schema: Schema, path: str, level: str) -> Iterator[FieldError]:
    yield from _type(schema, path, level)
    yield from _unsupported(schema, path)
    yield from _extensions(schema, path)
    yield from _values(schema, path)
    yield from _metadata(schema, path, level)
    yield from _rules(schema, path)
    yield from _default(schema, path, level)
    if isinstance(schema.get("items"), dict):
        yield from _node(schema["items"], f"{path}.items", "items")
    for name, sub in schema.get("properties", {}).items():
        yield from _node(sub, f"{path}.properties[{name}]", "field")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _node(schema["additionalProperties"], f"{path}.additionalProperties", "field")


def _type(schema: Schema, path: str, level: str) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    embedded = schema.get("x-kubernetes-embedded-resource")
    untyped = any(
        schema.get(f"x-kubernetes-{name}") for name in ("int-or-string", "preserve-unknown-fields")
    )
    if embedded and kind != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(f"{path}.type", kind, detail) if kind else required(f"{path}.type", detail)
    elif not kind and not untyped:
        yield required(f"{path}.type", _EMPTY_TYPE[level])
    if kind and kind not in _TYPES:
        supported = ", ".join(f'"{name}"' for name in _TYPES)
        yield FieldError(
            f"{path}.type",
            "FieldValueNotSupported",
            f'Unsupported value: "{kind}": supported values: {supported}',
        )
    if level == "root" and kind not in ("", "object"):
        yield invalid(f"{path}.type", kind, "must be object at the root")
    if kind == "array" and not isinstance(schema.get("items"), dict):
        yield required(f"{path}.items", "must be specified")
    if "additionalProperties" in schema:
        yield from _additional(schema, path, level)


def _additional(schema: Schema, path: str, level: str) -> Iterator[FieldError]:
    here = f"{path}.additionalProperties"
    if level == "root":
        yield forbidden(here, "must not be used at the root")
    if schema.get("properties") and schema["additionalProperties"]:
        yield forbidden(here, "additionalProperties and properties are mutual exclusive")
    if schema["additionalProperties"] is False:
        yield forbidden(here, "additionalProperties cannot be set to false")
    if schema.get("x-kubernetes-embedded-resource"):
        yield forbidden(here, "must not be used if x-kubernetes-embedded-resource is set")


def _unsupported(schema: Schema, path: str) -> Iterator[FieldError]:
    for name in _UNSUPPORTED:
        if name in schema:
            yield forbidden(f"{path}.{name}", f"{name} is not supported")
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", detail)


def _extensions(schema: Schema, path: str) -> Iterator[FieldError]:
    if schema.get("x-kubernetes-int-or-string"):
        for other in ("preserve-unknown-fields", "embedded-resource"):
            if schema.get(f"x-kubernetes-{other}"):
                detail = "must be false if x-kubernetes-int-or-string is true"
                yield invalid(f"{path}.x-kubernetes-{other}", True, detail)
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        detail = "must be true or undefined"
        yield invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, detail)
    yield from _list_type(schema, path)
    map_type = schema.get("x-kubernetes-map-type")
    if map_type is not None:
        here = f"{path}.x-kubernetes-map-type"
        if schema.get("type") != "object":
            yield invalid(
                f"{path}.type",
                schema.get("type", ""),
                "must be object if x-kubernetes-map-type is specified",
            )
        if map_type not in ("atomic", "granular"):
            yield FieldError(
                here,
                "FieldValueNotSupported",
                f'Unsupported value: "{map_type}": supported values: "atomic", "granular"',
            )


def _list_type(schema: Schema, path: str) -> Iterator[FieldError]:
    kind, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys", [])
    keys_path = f"{path}.x-kubernetes-list-map-keys"
    if kind is None:
        if keys:
            yield required(
                f"{path}.x-kubernetes-list-type",
                "must be map if x-kubernetes-list-map-keys is non-empty",
            )
        return
    if schema.get("type") != "array":
        detail = "must be array if x-kubernetes-list-type is specified"
        yield invalid(f"{path}.type", schema.get("type", ""), detail)
    if kind not in ("atomic", "set", "map"):
        yield FieldError(
            f"{path}.x-kubernetes-list-type",
            "FieldValueNotSupported",
            f'Unsupported value: "{kind}": supported values: "atomic", "set", "map"',
        )
    if kind == "map":
        if not keys:
            yield required(keys_path, "must not be empty if x-kubernetes-list-type is map")
        yield from _map_keys(schema, keys, path)
    elif keys:
        yield forbidden(keys_path, f"must be empty if x-kubernetes-list-type is {kind}")


def _map_keys(schema: Schema, keys: list[str], path: str) -> Iterator[FieldError]:
    items = schema.get("items")
    if not isinstance(items, dict):
        return
    if items.get("type") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(f"{path}.items.type", items.get("type", ""), detail)
    properties = items.get("properties", {})
    if any(key not in properties for key in keys):
        detail = "entries must all be names of item properties"
        yield invalid(f"{path}.x-kubernetes-list-map-keys", keys, detail)
    for key in keys:
        known = properties.get(key, {"default": None})
        if key not in items.get("required", []) and "default" not in known:
            yield required(
                f"{path}.items.properties[{key}].default",
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be "
                "a required property",
            )


def _values(schema: Schema, path: str) -> Iterator[FieldError]:
    if pattern := schema.get("pattern"):
        try:
            compile_pattern(pattern)
        except re.error as cause:
            detail = f"must be a valid regular expression, but isn't: {cause}"
            yield invalid(f"{path}.pattern", pattern, detail)
    for name in _LOGIC:
        for at, sub in enumerate(schema.get(name, ())):
            skip = _is_int_or_string(schema, name) or (
                name == "allOf" and at == 0 and _is_int_or_string(sub, "anyOf")
            )
            if not skip:
                yield from _nested(sub, f"{path}.{name}[{at}]")
    if isinstance(schema.get("not"), dict):
        yield from _nested(schema["not"], f"{path}.not")


def _is_int_or_string(schema: Schema, name: str) -> bool:
    return name == "anyOf" and schema.get("anyOf") == _INT_OR_STRING


def _nested(schema: Schema, path: str) -> Iterator[FieldError]:
    """Inside logic, only value validations may stand."""
    for name, detail in _FORBIDDEN_NESTED.items():
        if schema.get(name) not in (None, "", False, []):
            yield forbidden(f"{path}.{name}", detail)
    if "metadata" in schema.get("properties", {}):
        detail = "must not be specified in a nested context"
        yield forbidden(f"{path}.properties[metadata]", detail)
    yield from _values(schema, path)
    if isinstance(schema.get("items"), dict):
        yield from _nested(schema["items"], f"{path}.items")
    for name, sub in schema.get("properties", {}).items():
        yield from _nested(sub, f"{path}.properties[{name}]")


def _completeness(part: Schema, whole: Schema, here: str, path: str) -> Iterator[FieldError]:
    """Whatever logic at the root speaks of must be specified outside of it as well."""
    for name in _LOGIC:
        for at, nested in enumerate(part.get(name, ())):
            yield from _specified(nested, whole, f"{here}.{name}[{at}]", path)
    if isinstance(part.get("not"), dict):
        yield from _specified(part["not"], whole, f"{here}.not", path)


def _specified(part: Schema, whole: Schema, here: str, path: str) -> Iterator[FieldError]:
    yield from _completeness(part, whole, here, path)
    pairs = [
        (sub, whole.get("properties", {}).get(name), f".properties[{name}]")
        for name, sub in part.get("properties", {}).items()
    ]
    if isinstance(part.get("items"), dict):
        pairs.append((part["items"], whole.get("items"), ".items"))
    for sub, known, step in pairs:
        if isinstance(known, dict):
            yield from _specified(sub, known, here + step, path + step)
        else:
            yield required(path + step, f"because it is defined in {here}{step}")


def _metadata(schema: Schema, path: str, level: str) -> Iterator[FieldError]:
    properties = schema.get("properties", {})
    if level != "root" and not schema.get("x-kubernetes-embedded-resource"):
        return
    for name, kind in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        if name in properties and properties[name].get("type") != kind:
            found = properties[name].get("type", "")
            yield invalid(f"{path}.properties[{name}].type", found, f"must be {kind}")
    metadata = properties.get("metadata", {})
    allowed = {"type", "properties", "description"}
    if level == "root" and (
        set(metadata) - allowed or set(metadata.get("properties", {})) - {"name", "generateName"}
    ):
        detail = (
            "must not specify anything other than name and generateName, but metadata is "
            "implicitly specified"
        )
        yield forbidden(f"{path}.properties[metadata]", detail)
    if (
        level != "root"
        and not schema.get("x-kubernetes-preserve-unknown-fields")
        and not properties
    ):
        detail = (
            "must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields"
        )
        yield required(f"{path}.properties", detail)


def _rules(schema: Schema, path: str) -> Iterator[FieldError]:
    for at, rule in enumerate(schema.get("x-kubernetes-validations", ())):
        here = f"{path}.x-kubernetes-validations[{at}]"
        if not str(rule.get("rule", "")).strip():
            yield required(f"{here}.rule", "rule is not specified")
            continue
        try:
            Rule.of(rule)
        except CelError as cause:
            shown = go_struct({go: rule.get(name, zero) for go, name, zero in _RULE_FIELDS})
            message = f"Invalid value: {shown}: {cause}"
            yield FieldError(f"{here}.rule", "FieldValueInvalid", message)


def _default(schema: Schema, path: str, level: str) -> Iterator[FieldError]:
    default = schema.get("default")
    if default is None:
        return
    if level == "root":
        # A default of the whole object is judged like an object.
        for name in ("apiVersion", "kind"):
            if name not in default:
                yield required(f"{path}.default.{name}")
        return
    try:
        validator = Validator(schema)
    except re.error:
        return  # the pattern is reported as such
    found: list[FieldError] = []
    validator.check(default, None, found)
    for error in found:
        where = "" if error.field == "<nil>" else "." + error.field
        yield FieldError(f"{path}.default{where}", error.type, error.message)
