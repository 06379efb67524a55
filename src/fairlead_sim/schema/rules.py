"""x-kubernetes-validations: the CEL rules of a schema, at any depth. Transition rules (those
that name oldSelf) run on updates only, and rules on parts that did not change are not judged
again. Knows nothing of other validation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from fairlead_sim.patch.json_values import go_json, same
from fairlead_sim.schema.cel import CelError, Expression, compile_expression
from fairlead_sim.schema.errors import (
    OMITTED,
    FieldError,
    Path,
    field_error,
    invalid,
)
from fairlead_sim.schema.validation import NO_OLD

Schema = dict[str, Any]

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Words that CEL keeps for itself; a field of that name is written __name__.
_RESERVED = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return"),
        *("var", "void", "while"),
    )
)
_ESCAPES = (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))


@dataclass(frozen=True, slots=True)
class Rule:
    """One compiled rule; `first_expression` is for values that have no old one."""

    expression: Expression
    first_expression: Expression
    described: str
    message: str
    message_expression: Expression | None
    field_path: str
    reason: str
    optional_old: bool
    transition: bool

    @staticmethod
    def of(rule: dict[str, Any]) -> Rule:
        """Raises CelError when the rule or its message cannot be compiled."""
        text, message = rule["rule"].strip(), rule.get("message", "").strip()
        optional = rule.get("optionalOldSelf", False)
        expression = first = compile_expression(text)
        transition = "oldSelf" in expression.names
        if optional and transition:
            expression = compile_expression(f"cel.bind(oldSelf, optional.of(oldSelf), {text})")
            first = compile_expression(f"cel.bind(oldSelf, optional.none(), {text})")
        words = rule.get("messageExpression")
        return Rule(
            expression=expression,
            first_expression=first,
            described=message or text,
            message=message or f"failed rule: {text}",
            message_expression=compile_expression(words) if words else None,
            field_path=rule.get("fieldPath", ""),
            reason=rule.get("reason", "FieldValueInvalid"),
            optional_old=optional,
            transition=transition,
        )


class Rules:
    """The rules of one schema node and below; branches without any cost nothing."""

    def __init__(self, schema: Schema) -> None:
        self._type = schema.get("type", "")
        self._rules = [Rule.of(rule) for rule in schema.get("x-kubernetes-validations", ())]
        self._convert = Converter(schema) if self._rules else None
        self._fields = {
            name: rules
            for name, sub in schema.get("properties", {}).items()
            if (rules := Rules(sub)).does_something()
        }
        self._element = _part(schema.get("additionalProperties"))
        self._item = _part(schema.get("items"))
        is_map = schema.get("x-kubernetes-list-type") == "map"
        self._keys: list[str] = schema.get("x-kubernetes-list-map-keys", []) if is_map else []

    def does_something(self) -> bool:
        """Is there any rule here or below?"""
        return bool(self._rules or self._fields or self._element or self._item)

    def check(self, value: Any, path: Path, errors: list[FieldError], old: Any = NO_OLD) -> None:
        """Append what the rules say; `old` is the value before, NO_OLD if there was none."""
        if value is None:
            return
        self._check_here(value, path, errors, old)
        if isinstance(value, dict) and (self._fields or self._element):
            before = old if isinstance(old, dict) else {}
            for name, child in value.items():
                rules = self._fields.get(name)
                step = "." + name
                if rules is None and self._element is not None:
                    rules, step = self._element, f"[{name}]"
                if rules is not None:
                    rules.check(child, (path, step), errors, before.get(name, NO_OLD))
        elif isinstance(value, list) and self._item is not None:
            known = self._known_items(old)
            for at, item in enumerate(value):
                before_item = known.get(self._identity(item), NO_OLD)
                self._item.check(item, (path, f"[{at}]"), errors, before_item)

    def _known_items(self, old: Any) -> dict[str, Any]:
        if not self._keys or not isinstance(old, list):
            return {}
        return {self._identity(item): item for item in old}

    def _identity(self, item: Any) -> str:
        return go_json([item.get(k) for k in self._keys]) if isinstance(item, dict) else ""

    def _check_here(self, value: Any, path: Path, errors: list[FieldError], old: Any) -> None:
        if self._convert is None:
            return
        has_old = old is not NO_OLD and old is not None
        variables = {"self": self._convert(value), "oldSelf": None}
        if has_old:
            variables["oldSelf"] = self._convert(old)
        unchanged = has_old and same(value, old)
        for rule in self._rules:
            if rule.transition and not has_old and not rule.optional_old:
                continue
            expression = rule.expression if has_old else rule.first_expression
            error = self._judge(rule, expression, value, variables, path)
            if error is not None and (rule.transition or not unchanged):
                errors.append(error)

    def _judge(
        self, rule: Rule, expression: Expression, value: Any, variables: Any, path: Path
    ) -> FieldError | None:
        try:
            if expression.evaluate(variables) is True:
                return None
        except CelError as failure:
            text = str(failure)
            if text == "no such overload":
                text = (
                    f"'{text}': call arguments did not match a supported operator, function or "
                    f"macro signature for rule: {rule.described}"
                )
            else:
                text = f"{text} evaluating rule: {rule.described}"
            return invalid(path, self._type, text)
        if rule.field_path:
            path = (path, rule.field_path)
        shown = OMITTED if self._type in ("object", "array") else value
        detail = _message(rule, variables)
        if rule.reason in ("FieldValueForbidden", "FieldValueRequired"):
            return field_error(rule.reason, path, detail=detail)
        if rule.reason == "FieldValueDuplicate":
            return field_error(rule.reason, path, shown)
        return invalid(path, shown, detail)


def _message(rule: Rule, variables: dict[str, Any]) -> str:
    if rule.message_expression is not None:
        try:
            text = rule.message_expression.evaluate(variables)
        except CelError:
            return rule.message
        if isinstance(text, str) and text.strip() and "\n" not in text.strip():
            return text.strip()
    return rule.message


def _part(schema: Any) -> Rules | None:
    if not isinstance(schema, dict):
        return None
    rules = Rules(schema)
    return rules if rules.does_something() else None


class Converter:
    """Turns JSON into what CEL sees: `number` is always a double, and fields whose names are no
    identifiers have a second, escaped name."""

    def __init__(self, schema: Schema) -> None:
        self._number = schema.get("type") == "number"
        properties = schema.get("properties", {})
        self._aliases = {n: alias for n in properties if (alias := escaped(n)) != n}
        self._fields = {n: c for n, s in properties.items() if (c := Converter(s)).does_something()}
        self._element = _converter(schema.get("additionalProperties"))
        self._item = _converter(schema.get("items"))

    def does_something(self) -> bool:
        """Would the value look different?"""
        return bool(self._number or self._aliases or self._fields or self._element or self._item)

    def __call__(self, value: Any) -> Any:
        if isinstance(value, dict) and (self._fields or self._element or self._aliases):
            out = {}
            for name, child in value.items():
                convert = self._fields.get(name, self._element)
                out[name] = convert(child) if convert is not None else child
                if name in self._aliases:
                    out[self._aliases[name]] = out[name]
            return out
        if isinstance(value, list) and self._item is not None:
            return [self._item(item) for item in value]
        if self._number and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        return value


def _converter(schema: Any) -> Converter | None:
    if not isinstance(schema, dict):
        return None
    converter = Converter(schema)
    return converter if converter.does_something() else None


def escaped(name: str) -> str:
    """The name of a field as CEL expressions write it."""
    if name in _RESERVED:
        return f"__{name}__"
    for plain, written in _ESCAPES:
        name = name.replace(plain, written)
    return name if _WORD.fullmatch(name) else ""
