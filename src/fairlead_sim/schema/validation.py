"""Validation of a value against a structural schema, with the errors and sentences of
kube-apiserver. On an update, parts that did not change are not judged again, as the API server
does it (ratcheting). Knows nothing of CEL rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fairlead_sim.patch.json_values import go_json, same
from fairlead_sim.schema.errors import (
    FieldError,
    Path,
    dotted,
    field_error,
    go_float,
    invalid,
    required,
)
from fairlead_sim.schema.formats import format_check
from fairlead_sim.schema.patterns import compile_pattern

Schema = dict[str, Any]
Errors = list[FieldError]
# Puts what is wrong with a value at a path into a list.
Check = Callable[[Any, Path, Errors], None]

_INT_RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


class _Unknown:
    pass


# There is no old value to compare with.
NO_OLD = _Unknown()


def json_type(value: Any) -> str:
    """The JSON schema type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    return {float: "number", str: "string", dict: "object", list: "array"}[type(value)]


class Validator:
    """Compiled from one schema node."""

    def __init__(self, schema: Schema) -> None:
        self._types = _types(schema)
        self._nullable = schema.get("nullable", False)
        self._common = [*_logic(schema), *_enum(schema)]
        self._by_type: dict[str, list[Check]] = {
            "string": [_first_of(list(_string_checks(schema))), *_format_checks(schema)],
            "integer": (numbers := list(_number_checks(schema))),
            "number": numbers,
            "array": list(_array_checks(schema)),
            "object": list(_object_checks(schema)),
        }
        self._required: list[str] = schema.get("required", [])
        self._fields = {n: Validator(s) for n, s in schema.get("properties", {}).items()}
        extra, items = schema.get("additionalProperties"), schema.get("items")
        self._element = Validator(extra) if isinstance(extra, dict) else None
        self._item = Validator(items) if isinstance(items, dict) else None
        is_map = schema.get("x-kubernetes-list-type") == "map"
        self._keys: list[str] = schema.get("x-kubernetes-list-map-keys", []) if is_map else []

    def check(self, value: Any, path: Path, errors: Errors, old: Any = NO_OLD) -> None:
        """Append what is wrong with `value`; nothing is, where it equals `old`."""
        if not isinstance(old, _Unknown) and same(value, old):
            return
        kind = json_type(value)
        self._check_type(value, kind, path, errors)
        for check in self._common:
            check(value, path, errors)
        for check in self._by_type.get(kind, ()):
            check(value, path, errors)
        if kind == "object":
            self._check_fields(value, path, errors, old)
        elif kind == "array" and self._item is not None:
            for at, (item, before) in enumerate(self._with_old(value, old)):
                self._item.check(item, (path, f"[{at}]"), errors, before)

    def _check_type(self, value: Any, kind: str, path: Path, errors: Errors) -> None:
        if not self._types or kind in self._types or (value is None and self._nullable):
            return
        if kind == "integer" and "number" in self._types:
            return
        if isinstance(value, float) and value.is_integer() and "integer" in self._types:
            return
        detail = f'{_in_body(path)} must be of type {",".join(self._types)}: "{kind}"'
        errors.append(field_error("FieldValueTypeInvalid", path, kind, detail))

    def _check_fields(self, value: Any, path: Path, errors: Errors, old: Any) -> None:
        before = old if isinstance(old, dict) else {}
        for name, child in value.items():
            sub = self._fields.get(name) or self._element
            if sub is not None:
                # Elements of maps print like fields, as in kube-apiserver.
                sub.check(child, (path, "." + name), errors, before.get(name, NO_OLD))
        for name in self._required:
            if name not in value:
                errors.append(required((path, "." + name)))

    def _with_old(self, items: list[Any], old: Any) -> Iterator[tuple[Any, Any]]:
        """Items with their old ones; only items of a list with keys can be told to be the same."""
        if not self._keys or not isinstance(old, list):
            return ((item, NO_OLD) for item in items)
        known = {_identity(item, self._keys): item for item in old}
        return ((item, known.get(_identity(item, self._keys), NO_OLD)) for item in items)


def _identity(item: Any, keys: list[str]) -> str:
    return go_json([item.get(k) for k in keys]) if isinstance(item, dict) else go_json(item)


def _types(schema: Schema) -> list[str]:
    if schema.get("x-kubernetes-int-or-string"):
        return ["integer", "string"]
    return [schema["type"]] if schema.get("type") else []


def _in_body(path: Path) -> str:
    return f"{dotted(path).removeprefix('.')} in body"


# --- checks of one type


def _string_checks(schema: Schema) -> Iterator[Check]:
    if "maxLength" in schema:
        yield _limit("FieldValueTooLong", len, schema["maxLength"], "byte")
    if "minLength" in schema:
        least = schema["minLength"]
        yield _when(lambda v: len(v) < least, f"should be at least {least} chars long")
    if pattern := schema.get("pattern"):
        matcher = compile_pattern(pattern)
        yield _when(lambda v: not matcher.search(v), f"should match '{pattern}'")


def _first_of(checks: list[Check]) -> Check:
    """Length and pattern are not both complained of."""

    def run(value: Any, path: Path, errors: Errors) -> None:
        before = len(errors)
        for check in checks:
            check(value, path, errors)
            if len(errors) > before:
                return

    return run


def _format_checks(schema: Schema) -> Iterator[Check]:
    check = format_check(schema.get("format", "")) if "string" in _types(schema) else None
    if check is not None:
        yield _format(schema["format"], check)


def _format(name: str, check: Callable[[str], bool]) -> Check:
    def run(value: Any, path: Path, errors: Errors) -> None:
        if not check(value):
            detail = f"{_in_body(path)} must be of type {name}: {go_json(value)}"
            errors.append(field_error("FieldValueTypeInvalid", path, value, detail))

    return run


def _number_checks(schema: Schema) -> Iterator[Check]:
    for bound, sign, words in (("maximum", 1, "less"), ("minimum", -1, "greater")):
        limit = schema.get(bound)
        if limit is None:
            continue
        exclusive = schema.get(f"exclusive{bound.capitalize()}", False)
        yield _bound(limit, sign, exclusive, f"should be {words} than")
    factor = schema.get("multipleOf")
    if factor:
        yield _when(lambda v: v % factor != 0, f"should be a multiple of {_number(factor)}")
    if schema.get("type") == "integer":
        yield _integer(schema.get("format", ""))


def _integer(name: str) -> Check:
    low, high = _INT_RANGES.get(name, _INT_RANGES["int64"])
    described = f"with format {name}" if name in _INT_RANGES else "(default format)"

    def run(value: Any, path: Path, errors: Errors) -> None:
        if not low <= value <= high or value != int(value):
            where = dotted(path).removeprefix(".")
            detail = f"Checked value must be of type integer {described} in {where}"
            errors.append(invalid(None, "", detail))

    return run


def _bound(limit: float, sign: int, exclusive: bool, words: str) -> Check:
    text = f"{words} {_number(limit)}" if exclusive else f"{words} or equal to {_number(limit)}"
    beyond = 0 if exclusive else None
    return _when(lambda v: sign * (v - limit) > 0 or (v - limit) == beyond, text)


def _number(value: float) -> str:
    return go_float(float(value))


def _array_checks(schema: Schema) -> Iterator[Check]:
    if "maxItems" in schema:
        yield _limit("FieldValueTooMany", len, schema["maxItems"], "item")
    if "minItems" in schema:
        least = schema["minItems"]
        yield _count_when(lambda n: n < least, f"should have at least {least} items")
    if schema.get("uniqueItems"):
        yield _unique


def _unique(value: Any, path: Path, errors: Errors) -> None:
    if any(same(a, b) for at, a in enumerate(value) for b in value[:at]):
        errors.append(invalid(path, "", f"{_in_body(path)} shouldn't contain duplicates"))


def _object_checks(schema: Schema) -> Iterator[Check]:
    if "maxProperties" in schema:
        yield _limit("FieldValueTooMany", len, schema["maxProperties"], "item")
    if "minProperties" in schema:
        least = schema["minProperties"]
        yield _count_when(lambda n: n < least, f"should have at least {least} properties")


def _limit(kind: str, size: Callable[[Any], int], most: int, unit: str) -> Check:
    units = unit if most == 1 else unit + "s"

    def run(value: Any, path: Path, errors: Errors) -> None:
        if size(value) > most:
            if kind == "FieldValueTooLong":
                errors.append(
                    field_error(kind, path, detail=f"may not be more than {most} {units}")
                )
            else:
                detail = f"must have at most {most} {units}"
                errors.append(field_error(kind, path, size(value), detail))

    return run


def _when(wrong: Callable[[Any], bool], text: str) -> Check:
    def run(value: Any, path: Path, errors: Errors) -> None:
        if wrong(value):
            errors.append(invalid(path, value, f"{_in_body(path)} {text}"))

    return run


def _count_when(wrong: Callable[[int], bool], text: str) -> Check:
    def run(value: Any, path: Path, errors: Errors) -> None:
        if wrong(len(value)):
            errors.append(invalid(path, len(value), f"{_in_body(path)} {text}"))

    return run


def _enum(schema: Schema) -> Iterator[Check]:
    values = schema.get("enum")
    if not values:
        return
    names = [v if isinstance(v, str) else go_json(v) for v in values]
    detail = "supported values: " + ", ".join(map(go_json, names))

    def run(value: Any, path: Path, errors: Errors) -> None:
        if not any(same(value, allowed) for allowed in values):
            errors.append(field_error("FieldValueNotSupported", path, value, detail))

    yield run


# --- logic


def _logic(schema: Schema) -> Iterator[Check]:
    if schema.get("anyOf") and not schema.get("x-kubernetes-int-or-string"):
        yield _any_of([Validator(s) for s in schema["anyOf"]])
    if schema.get("oneOf"):
        yield _one_of([Validator(s) for s in schema["oneOf"]])
    if schema.get("allOf"):
        yield _all_of([Validator(s) for s in schema["allOf"]])
    if schema.get("not"):
        yield _not(Validator(schema["not"]))


def _outcomes(validators: list[Validator], value: Any, path: Path) -> list[Errors]:
    outcomes = []
    for validator in validators:
        found: Errors = []
        validator.check(value, path, found)
        outcomes.append(found)
    return outcomes


def _fewest(outcomes: list[Errors]) -> Errors:
    return min(outcomes, key=len)


def _quoted(path: Path) -> str:
    return go_json(dotted(path).removeprefix("."))


def _any_of(validators: list[Validator]) -> Check:
    def run(value: Any, path: Path, errors: Errors) -> None:
        outcomes = _outcomes(validators, value, path)
        if all(outcomes):
            detail = f"{_quoted(path)} must validate at least one schema (anyOf)"
            errors.append(invalid(None, "", detail))
            errors += _fewest(outcomes)

    return run


def _one_of(validators: list[Validator]) -> Check:
    def run(value: Any, path: Path, errors: Errors) -> None:
        outcomes = _outcomes(validators, value, path)
        valid = sum(not outcome for outcome in outcomes)
        if valid == 1:
            return
        found = f"Found {valid} valid alternatives" if valid else "Found none valid"
        detail = f"{_quoted(path)} must validate one and only one schema (oneOf). {found}"
        errors.append(invalid(None, "", detail))
        if not valid:
            errors += _fewest(outcomes)

    return run


def _all_of(validators: list[Validator]) -> Check:
    def run(value: Any, path: Path, errors: Errors) -> None:
        outcomes = _outcomes(validators, value, path)
        if any(outcomes):
            none = ". None validated" if all(outcomes) else ""
            for outcome in outcomes:
                errors += outcome
            detail = f"{_quoted(path)} must validate all the schemas (allOf){none}"
            errors.append(invalid(None, "", detail))

    return run


def _not(validator: Validator) -> Check:
    def run(value: Any, path: Path, errors: Errors) -> None:
        if not _outcomes([validator], value, path)[0]:
            detail = f"{_quoted(path)} must not validate the schema (not)"
            errors.append(invalid(None, "", detail))

    return run
