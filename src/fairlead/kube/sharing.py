"""What many objects, or two versions of one, have in common is held once: short strings, and the
parts of an object that a change left as they were. That saves memory, and spares the garbage
collector from going through what was just decoded. Knows nothing of what the objects mean."""

from __future__ import annotations

from sys import intern
from typing import Any

_LONGEST = 32
"""Longer strings (UIDs, hashes, texts) hardly ever repeat."""


def share_strings(obj: dict[str, Any]) -> None:
    """Replace every short string value in decoded JSON by its one shared copy, in place."""
    pending: list[dict[str, Any] | list[Any]] = [obj]  # no recursion: depth is the sender's choice
    while pending:
        container = pending.pop()
        places: Any = container.items() if type(container) is dict else enumerate(container)
        for place, value in places:
            kind = type(value)
            if kind is str:
                if len(value) <= _LONGEST:
                    container[place] = intern(value)
            elif kind is dict or kind is list:
                pending.append(value)


_ABSENT = object()
_DEPTH = 2
"""A change seldom touches more than one of spec and status, and a few fields of metadata."""


def share_parts(old: dict[str, Any], new: dict[str, Any], depth: int = _DEPTH) -> bool:
    """Let `new` hold the very parts of `old` that are equal; True if everything is."""
    same = len(old) == len(new)
    for name, value in new.items():
        before = old.get(name, _ABSENT)
        if before == value:
            new[name] = before
            continue
        same = False
        if depth > 1 and type(value) is dict and type(before) is dict:
            share_parts(before, value, depth - 1)
    return same
