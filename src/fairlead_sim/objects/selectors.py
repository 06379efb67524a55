"""Label and field selectors: parsed once, matched against plain objects. Knows nothing of lists,
watches or HTTP."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fairlead_sim.answers import bad_request
from fairlead_sim.kinds.catalogue import Kind, Object

Matches = Callable[[Object], bool]

_TOKEN = re.compile(r"\s*(==|!=|=|!|\(|\)|,|<|>|[A-Za-z0-9_./-]+)")
_NAME = re.compile(r"^([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?$")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One term of a label selector."""

    key: str
    operator: str  # exists, absent, in, notin, gt, lt
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "exists":
                return value is not None
            case "absent":
                return value is None
            case "in":
                return value in self.values
            case "notin":
                return value not in self.values
        return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        try:
            number, bound = int(value or ""), int(next(iter(self.values)))
        except ValueError:
            return False
        return number > bound if self.operator == "gt" else number < bound


class _LabelParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._split(text)
        self._at = 0

    def _split(self, text: str) -> list[str]:
        tokens, position = [], 0
        stripped = text.rstrip()
        while position < len(stripped):
            found = _TOKEN.match(stripped, position)
            if not found:
                raise self._error(f"unexpected text at {position}")
            tokens.append(found.group(1))
            position = found.end()
        return tokens

    def _error(self, why: str) -> Exception:
        return bad_request(f"unable to parse requirement: {why}")

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def parse(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while self._peek():
            requirements.append(self._requirement())
            separator = self._next()
            if separator not in ("", ","):
                raise self._error(f"found '{separator}', expected: ',' or 'end of string'")
            if separator == "," and not self._peek():
                raise self._error("found '', expected: identifier after ','")
        return requirements

    def _key(self) -> str:
        key = self._next()
        prefix, _, name = key.rpartition("/")
        if not name or len(name) > 63 or not _NAME.match(name) or "/" in prefix:
            raise self._error(f"found '{key}', expected: !, identifier, or 'end of string'")
        return key

    def _requirement(self) -> Requirement:
        if self._peek() == "!":
            self._next()
            return Requirement(self._key(), "absent")
        key = self._key()
        operator = self._peek()
        if operator in ("", ","):
            return Requirement(key, "exists")
        self._next()
        match operator:
            case "=" | "==":
                return Requirement(key, "in", frozenset([self._value()]))
            case "!=":
                return Requirement(key, "notin", frozenset([self._value()]))
            case "in" | "notin":
                return Requirement(key, operator, self._values())
            case "<" | ">":
                return Requirement(
                    key, "gt" if operator == ">" else "lt", frozenset([self._value()])
                )
        raise self._error(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")

    def _value(self) -> str:
        if self._peek() in ("", ","):
            return ""
        value = self._next()
        if not _NAME.match(value) or len(value) > 63:
            raise self._error(f"found '{value}', expected: identifier")
        return value

    def _values(self) -> frozenset[str]:
        if (found := self._next()) != "(":
            raise self._error(f"found '{found}' expected: '('")
        values = set()
        while True:
            if self._peek() in (",", ")"):
                values.add("")
            else:
                values.add(self._value())
            separator = self._next()
            if separator == ")":
                return frozenset(values)
            if separator != ",":
                raise self._error(f"found '{separator}', expected: ',' or ')'")


def parse_labels(text: str) -> list[Requirement]:
    """Equality-based and set-based terms; a text that cannot be parsed is a 400."""
    return _LabelParser(text).parse()


def match_labels(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """A LabelSelector object (`matchLabels`, `matchExpressions`); an empty one matches all."""
    if not selector:
        return True
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    operators = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "absent"}
    return all(
        Requirement(
            each["key"], operators.get(each["operator"], "in"), frozenset(each.get("values") or ())
        ).matches(labels)
        for each in selector.get("matchExpressions") or ()
    )


_EVENT_FIELDS = {
    "involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
    "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion",
    "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type",
}  # fmt: skip
_FIELDS: dict[tuple[str, str], set[str]] = {
    ("", "pods"): {
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
        "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName",
    },
    ("", "events"): _EVENT_FIELDS,
    ("", "secrets"): {"type"},
    ("", "namespaces"): {"status.phase"},
    ("", "nodes"): {"spec.unschedulable"},
    ("", "services"): {"spec.clusterIP", "spec.type"},
    ("apps", "replicasets"): {"status.replicas"},
    ("batch", "jobs"): {"status.successful"},
}  # fmt: skip


def parse_fields(text: str, kind: Kind) -> list[tuple[str, bool, str]]:
    """(path, equal, value) terms; a field that this kind cannot select by is a 400."""
    known = _FIELDS.get(kind.storage, set())
    terms = []
    for term in text.split(","):
        if not term.strip():
            continue
        path, operator, value = _field_term(term)
        if path not in known and path not in ("metadata.name", "metadata.namespace"):
            raise bad_request(_unknown_field(path, kind))
        terms.append((path, operator != "!=", value))
    return terms


def _field_term(term: str) -> tuple[str, str, str]:
    for operator in ("!=", "==", "="):
        path, found, value = term.partition(operator)
        if found:
            return path.strip(), operator, value.strip().replace("\\,", ",").replace("\\=", "=")
    raise bad_request(f"invalid selector: '{term}'; can't understand '{term}'")


def _unknown_field(path: str, kind: Kind) -> str:
    if kind.custom or kind.storage in _FIELDS:
        return f"field label not supported: {path}"
    return f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"'


def _field_value(obj: Object, path: str) -> str:
    value: Any = obj
    if path == "source":
        value = (obj.get("source") or {}).get("component") or obj.get("reportingComponent")
        return str(value or "")
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def compile_selector(kind: Kind, labels: str = "", fields: str = "") -> Matches | None:
    """One test for both selectors, or None when everything matches."""
    requirements = parse_labels(labels) if labels else []
    terms = parse_fields(fields, kind) if fields else []
    if not requirements and not terms:
        return None

    def matches(obj: Object) -> bool:
        if requirements:
            own = obj["metadata"].get("labels") or {}
            if not all(requirement.matches(own) for requirement in requirements):
                return False
        return all((_field_value(obj, path) == value) == equal for path, equal, value in terms)

    return matches
