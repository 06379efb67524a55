"""The part of JSONPath that printer columns use: fields, indexes, wildcards and `[?(@.a=="b")]`
filters. Pure; a path that cannot be followed finds nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

Step = Callable[[Any], list[Any]]

_TOKEN = re.compile(
    r"""\.?\[\?\(\s*@\.?(?P<left>[^=!<>\s)]*)\s*(?P<op>==|!=)?\s*(?P<right>"[^"]*"|'[^']*'|[^)\s]*)\s*\)\]
      |\.?\[(?P<index>-?\d+)\]
      |\.?\[(?P<quoted>'[^']*'|"[^"]*")\]
      |\.?\[(?P<all>\*)\]
      |\.(?P<every>\*)
      |\.(?P<name>(?:\\.|[^.\[\\])+)
    """,
    re.VERBOSE,
)


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[Step, ...] | None:
    steps: list[Step] = []
    text = path.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    text = text.removeprefix("$")
    if text and text[0] not in ".[":
        text = f".{text}"
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if not found or found.end() == position:
            return None
        steps.append(_step(found))
        position = found.end()
    return tuple(steps)


def _step(found: re.Match[str]) -> Step:
    if found["name"] is not None:
        return _field(re.sub(r"\\(.)", r"\1", found["name"]))
    if found["quoted"] is not None:
        return _field(found["quoted"][1:-1])
    if found["index"] is not None:
        return _index(int(found["index"]))
    if found["all"] or found["every"]:
        return _children
    return _filter(found["left"], found["op"], found["right"])


def _field(name: str) -> Step:
    return lambda value: [value[name]] if isinstance(value, dict) and name in value else []


def _index(number: int) -> Step:
    def step(value: Any) -> list[Any]:
        if isinstance(value, list) and -len(value) <= number < len(value):
            return [value[number]]
        return []

    return step


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _filter(left: str, operator: str | None, right: str) -> Step:
    wanted = right[1:-1] if right[:1] in ("'", '"') else right

    def keep(item: Any) -> bool:
        found = find(item, f".{left}") if left else [item]
        if operator is None:
            return bool(found)
        texts = [_text(value) for value in found]
        return wanted in texts if operator == "==" else bool(texts) and wanted not in texts

    return lambda value: [item for item in _children(value) if keep(item)]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def find(value: Any, path: str) -> list[Any]:
    """Everything the path leads to."""
    steps = _steps(path)
    if steps is None:
        return []
    values = [value]
    for step in steps:
        values = [found for each in values for found in step(each)]
    return values
