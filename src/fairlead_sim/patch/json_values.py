"""Equality and printing of JSON values as Go sees them: true is not 1, 1 is 1.0. Knows nothing
of Kubernetes."""

from __future__ import annotations

import json
from typing import Any


def same(left: Any, right: Any) -> bool:
    """Deep equality that tells booleans from numbers."""
    if left is right:
        return True
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and len(left) == len(right)
            and all(k in right and same(v, right[k]) for k, v in left.items())
        )
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    return bool(left == right)


def copied(value: Any) -> Any:
    """A deep copy; much cheaper than copy.deepcopy because JSON has no cycles."""
    if isinstance(value, dict):
        return {k: copied(v) for k, v in value.items()}
    if isinstance(value, list):
        return [copied(v) for v in value]
    return value


_HTML = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def go_json(value: Any) -> str:
    """Compact JSON with sorted keys and the escapes of Go's encoder."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        value = int(value)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.translate(_HTML)


def go_struct(fields: dict[str, Any]) -> str:
    """The same with keys in the given order, as Go prints a struct."""
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    return text.translate(_HTML)


def go_print(value: Any) -> str:
    """`%v` of Go: `map[a:1 b:[x y]]`."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{k}:{go_print(v)}' for k, v in sorted(value.items()))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_print, value))}]"
    if value is None:
        return "<nil>"
    return value if isinstance(value, str) else go_json(value)


def go_quoted(text: str) -> str:
    """`%q` of Go, for the characters that occur in names."""
    return json.dumps(text, ensure_ascii=False)
