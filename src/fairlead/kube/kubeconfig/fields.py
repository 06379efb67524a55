"""Typed reading of the fields of one YAML mapping, with complaints that point at the line. Owns
that; knows nothing of which fields there are."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fairlead.errors import InvalidInput
from fairlead.yamltext import Document, FieldPath


@dataclass(frozen=True, slots=True, repr=False)
class Fields:
    """One mapping of a document. No complaint ever repeats a value: it may be a secret."""

    document: Document
    path: FieldPath
    data: dict[str, Any]

    def invalid(self, problem: str, *names: str | int, remedy: str = "") -> InvalidInput:
        return self.document.invalid(problem, *self.path, *names, remedy=remedy)

    def place(self, *names: str | int) -> str:
        return self.document.place(*self.path, *names)

    def text(self, name: str) -> str:
        return self._text(self.data.get(name), name)

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(self._text(item, name, i) for i, item in self._list(name))

    def flag(self, name: str) -> bool:
        value = self.data.get(name)
        if not isinstance(value, bool | None):
            remedy = "write it without quotes"
            raise self.invalid(f"must be true or false, not {kind_of(value)}", name, remedy=remedy)
        return bool(value)

    def decoded(self, name: str) -> bytes:
        """The bytes of a base64 field."""
        text = "".join(self.text(name).split())
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            # Not chained: the text may be a key.
            remedy = "encode the file with `base64`"
            raise self.invalid("is not valid base64", name, remedy=remedy) from None

    def child(self, name: str) -> Fields | None:
        value = self.data.get(name)
        return None if value is None else self._fields(value, name)

    def children(self, name: str) -> list[Fields]:
        return [self._fields(item, name, i) for i, item in self._list(name)]

    def _text(self, value: Any, *names: str | int) -> str:
        if value is None:
            return ""
        if not isinstance(value, str):
            remedy = "put it in quotes" if isinstance(value, int | float) else "write plain text"
            raise self.invalid(f"must be text, not {kind_of(value)}", *names, remedy=remedy)
        if "\x00" in value:
            raise self.invalid("holds a null character", *names, remedy="remove it")
        return value

    def _list(self, name: str) -> Iterable[tuple[int, Any]]:
        value = self.data.get(name)
        if not isinstance(value, list | None):
            remedy = "start each entry with a dash"
            raise self.invalid(f"must be a list, not {kind_of(value)}", name, remedy=remedy)
        return enumerate(value or ())

    def _fields(self, value: Any, *names: str | int) -> Fields:
        if not isinstance(value, dict):
            remedy = "write fields below it as `name: value`"
            raise self.invalid(f"must be a mapping, not {kind_of(value)}", *names, remedy=remedy)
        return Fields(self.document, (*self.path, *names), value)


def kind_of(value: Any) -> str:
    match value:
        case None:
            return "empty"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "a mapping"
