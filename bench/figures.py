"""The words a measurement is reported in: figures with all their repetitions, bars they must keep,
and the report of one measurement. Knows nothing of how anything is measured, printed or stored."""

from __future__ import annotations

from statistics import median
from typing import Any

import msgspec


class Figure(msgspec.Struct, frozen=True):
    """One thing about one subject, once per repetition."""

    subject: str
    measure: str
    unit: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.values)


class Bar(msgspec.Struct, frozen=True):
    """A promise: the value is at most the limit."""

    claim: str
    value: float
    limit: float
    unit: str
    met: bool


class Report(msgspec.Struct, frozen=True):
    """One measurement. `sizes` are the numbers it was made with."""

    name: str
    title: str
    about: str
    sizes: dict[str, float]
    figures: list[Figure]
    bars: list[Bar]


class Tally:
    """Collects values by subject and measure over the repetitions, in order of appearance."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str, str], list[float]] = {}

    def add(self, subject: str, measure: str, unit: str, value: Any) -> None:
        self._values.setdefault((subject, measure, unit), []).append(float(value))

    def values(self, subject: str, measure: str) -> list[float]:
        for (of, what, _), values in self._values.items():
            if (of, what) == (subject, measure):
                return values
        return []

    def figures(self) -> list[Figure]:
        return [Figure(*key, tuple(values)) for key, values in self._values.items()]


def at_most(claim: str, value: float, limit: float, unit: str) -> Bar:
    return Bar(claim, value, limit, unit, value <= limit)
