"""The table of built-in types, read once, and what its codes mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True)
class Shape:
    """One field: `base` is s(tring), i(nteger), b(oolean), f(loat), y (bytes), time, micro,
    duration, quantity, intstr, raw (embedded JSON), any (not described here), strings (a message
    around a list) or M (a message, named by `message`)."""

    name: str
    number: int
    base: str
    message: str = ""
    repeated: bool = False
    mapped: bool = False
    pointer: bool = False
    keeps_zero: bool = False

    @property
    def inline(self) -> bool:
        """Its own fields appear in the place of the field itself."""
        return self.name.startswith("+")


@dataclass(frozen=True, slots=True)
class Message:
    """The fields of one type, by number and (inlined ones resolved) by name."""

    name: str
    numbers: dict[int, Shape]
    names: dict[str, Shape]


@cache
def _table() -> dict[str, Any]:
    raw = files(__package__).joinpath("types.json").read_bytes()
    table: dict[str, Any] = msgspec.json.decode(raw)
    return table


def message_of(api_version: str, kind: str) -> Message | None:
    name = _table()["kinds"].get(f"{api_version}/{kind}")
    return message(name) if name else None


@cache
def message(name: str) -> Message:
    numbers: dict[int, Shape] = {}
    names: dict[str, Shape] = {}
    for field, (number, code) in _table()["types"].get(name, {}).items():
        shape = _shape(field, number, code)
        numbers[number] = shape
        if shape.inline:
            names |= message(shape.message).names
        else:
            names[field] = shape
    return Message(name, numbers, names)


def _shape(name: str, number: int, code: str) -> Shape:
    keeps_zero = code.startswith("!")
    code = code.removeprefix("!")
    pointer = code.startswith("*")
    code = code.removeprefix("*")
    repeated = code.startswith("[]") and code != "[]y"
    mapped = code.startswith("{}")
    code = code[2:] if repeated or mapped else code
    base, _, target = code.lstrip("*").partition(":")
    return Shape(name, number, base, target, repeated, mapped, pointer, keeps_zero)
