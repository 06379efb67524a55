"""Typed reading of the fields of a YAML mapping that collects every fault with its line instead
of stopping at the first. Knows nothing of what the fields are for."""

from __future__ import annotations

import difflib
from typing import Any

from fairlead.api.durations import parse_duration
from fairlead.errors import InvalidInput
from fairlead.yamltext import Document

_MAX_TEXT = 1024 * 1024
_MAX_LABELS = 64
_MAX_KEY = 80


class Fields:
    """The fields of one mapping. Each getter returns None for a field that is absent or faulty;
    `faults` says which it was. Call `refuse_unknown` last."""

    def __init__(
        self,
        document: Document,
        path: tuple[str | int, ...],
        data: dict[str, Any],
        faults: list[InvalidInput],
    ) -> None:
        self._document = document
        self._path = path
        self._data = data
        self._known: set[str] = set()
        self.faults = faults

    def place(self, key: str = "") -> str:
        # A key that somebody made up may be anything, and a complaint is one line.
        shown = [key] if key and key.isprintable() and len(key) <= _MAX_KEY else []
        return self._document.place(*self._path, *shown)

    def fault(self, key: str, problem: str, remedy: str = "") -> None:
        self.faults.append(InvalidInput(self.place(key), problem, remedy))

    def expect(self, *keys: str) -> None:
        """These may stand here, whether somebody comes to read them or not."""
        self._known.update(keys)

    def given(self, key: str) -> bool:
        return self._take(key) is not None

    def text(self, key: str, limit: int = _MAX_TEXT) -> str | None:
        value = self._take(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self.fault(key, f"must be text, not {_kind(value)}", "put it in quotes")
            return None
        if not value.strip() or "\0" in value:
            self.fault(key, "is empty or not printable text", "give it a value or leave it out")
            return None
        if len(value) > limit:
            self.fault(key, f"is longer than {limit} characters", "shorten it")
            return None
        return value

    def whole(self, key: str, low: int, high: int) -> int | None:
        value = self._take(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.fault(key, f"must be a whole number from {low} to {high}", "correct it")
            return None
        return value

    def flag(self, key: str) -> bool | None:
        value = self._take(key)
        if value is not None and not isinstance(value, bool):
            self.fault(key, f"must be true or false, not {_kind(value)}", "correct it")
            return None
        return value

    def seconds(self, key: str, low: float, high: float) -> float | None:
        """A duration such as 30s; a bare number counts as seconds."""
        value = self._take(key)
        if value is None:
            return None
        remedy = f"write it like 30s, from {low:g}s to {high:g}s"
        try:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            seconds = float(value) if number else parse_duration(str(value))
        except (ValueError, OverflowError):
            self.fault(key, "is not a duration", remedy)
            return None
        if not low <= seconds <= high:
            self.fault(key, "is out of range", remedy)
            return None
        return seconds

    def one_of(self, key: str, *words: str) -> str | None:
        value = self.text(key)
        if value is not None and value not in words:
            self.fault(key, f"must be one of {', '.join(words)}", "correct it")
            return None
        return value

    def labels(self, key: str) -> dict[str, str]:
        section = self.section(key)
        if section is None:
            return {}
        if len(section._data) > _MAX_LABELS:
            self.fault(key, f"has more than {_MAX_LABELS} labels", "remove some")
            return {}
        texts = {name: section.text(name, limit=63) for name in section._data}
        return {name: text for name, text in texts.items() if text is not None}

    def section(self, key: str) -> Fields | None:
        value = self._take(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.fault(key, f"must be a mapping, not {_kind(value)}", "indent its fields below it")
            return None
        return Fields(self._document, (*self._path, key), value, self.faults)

    def sections(self, key: str) -> list[Fields]:
        """The mappings of a list."""
        items = self._list(key)
        sections = []
        for index, item in enumerate(items):
            path = (*self._path, key, index)
            if isinstance(item, dict):
                sections.append(Fields(self._document, path, item, self.faults))
            else:
                problem = f"must be a mapping, not {_kind(item)}"
                self.faults.append(InvalidInput(self._document.place(*path), problem))
        return sections

    def texts(self, key: str) -> list[str]:
        """The texts of a list."""
        items = self._list(key)
        for index, item in enumerate(items):
            if not isinstance(item, str):
                place = self._document.place(*self._path, key, index)
                self.faults.append(InvalidInput(place, f"must be text, not {_kind(item)}"))
        return [item for item in items if isinstance(item, str)]

    def names(self) -> list[str]:
        """The names of all fields, whatever they are."""
        return list(self._data)

    def _list(self, key: str) -> list[Any]:
        value = self._take(key)
        if value is None:
            return []
        if not isinstance(value, list):
            self.fault(key, f"must be a list, not {_kind(value)}", "begin each item with '- '")
            return []
        return value

    def refuse_unknown(self) -> None:
        """A field nobody reads is most likely a misspelt one."""
        for key in self._data:
            if key not in self._known:
                close = difflib.get_close_matches(key, sorted(self._known), n=1)
                remedy = f"did you mean {close[0]!r}?" if close else "remove it"
                self.fault(key, f"unknown field {key[:_MAX_KEY]!r}", remedy)

    def _take(self, key: str) -> Any:
        self._known.add(key)
        return self._data.get(key)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return "a number" if isinstance(value, int | float) else "text"
