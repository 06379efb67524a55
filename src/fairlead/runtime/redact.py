"""Keeps secrets out of the log, whoever put them there. Owns what a secret looks like; knows
nothing of where it came from. The last processor before rendering, so that tracebacks and the
messages of libraries pass through it too."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from typing import Any

REDACTED = "[redacted]"

_SECRET_FIELD = re.compile(
    r"authorization|bearer|passw(or)?d|passphrase|token|api[-_.]?key|client[-_.]?key"
    r"|private[-_.]?key|key[-_.]?(data|pem)|secret[-_.]?(access[-_.]?)?key|cookie|credentials?$",
    re.IGNORECASE,
)
_HARMLESS_FIELD = re.compile(
    r"([-_.](file|path|name|kind|id|seconds|expir\w*|count|type)|expires?|at)$", re.IGNORECASE
)
_SECRET_TEXT = (
    (
        re.compile(
            r"-----BEGIN ([A-Z ]*)PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)",
            re.DOTALL,
        ),
        REDACTED,
    ),
    (re.compile(r"\b(bearer|basic)\s+[A-Za-z0-9._~+/=:-]{6,}", re.IGNORECASE), rf"\1 {REDACTED}"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}(\.[A-Za-z0-9_-]*)?"), REDACTED),
    (re.compile(r"(\w+://)[^/\s:@]*:[^/\s@]+@"), rf"\1{REDACTED}@"),
    (
        re.compile(
            r"(?P<field>(?:authorization|passw(?:or)?d)[\"']?\s*[:=]\s*[\"']?)(?!\[redacted)"
            r"(?:(?:bearer|basic)\s+)?[^\s\"',;)}\]]+",
            re.IGNORECASE,
        ),
        rf"\g<field>{REDACTED}",
    ),
    (
        # Shorter words after these are prose: "secrets/token: not found".
        re.compile(
            r"(?P<field>(?:token|client[-_]key(?:[-_]data)?|api[-_]?key)[\"']?\s*[:=]\s*[\"']?)"
            r"(?!\[redacted)[^\s\"',;)}\]]{8,}",
            re.IGNORECASE,
        ),
        rf"\g<field>{REDACTED}",
    ),
)
_DEEPEST = 8


def redact(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor."""
    for name, value in event.items():
        event[name] = _field(name, value, _DEEPEST)
    return event


def redact_text(text: str) -> str:
    for pattern, replacement in _SECRET_TEXT:
        text = pattern.sub(replacement, text)
    return text


def _field(name: object, value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    return REDACTED if _names_secret(name) else _value(value, depth)


def _names_secret(name: object) -> bool:
    text = str(name)
    return bool(_SECRET_FIELD.search(text)) and not _HARMLESS_FIELD.search(text)


def _value(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return redact_text(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth == 0:
        return REDACTED
    if isinstance(value, Mapping):
        return {name: _field(name, inner, depth - 1) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_value(inner, depth - 1) for inner in value]
    if isinstance(value, bytes):
        return REDACTED
    return redact_text(str(value))
