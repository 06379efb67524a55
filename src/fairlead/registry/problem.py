"""What is wrong with the registry, as data: one sentence with its place and remedy, and the
cluster it is about. Owns the words; knows nothing of who shows them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fairlead.errors import InvalidInput


class Severity(StrEnum):
    """ERROR: something that was asked for is not in force. WARNING: it is, but look at it."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """`str()` is the sentence."""

    place: str
    message: str
    remedy: str = ""
    cluster: str | None = None
    severity: Severity = Severity.ERROR

    @classmethod
    def of(cls, error: InvalidInput, cluster: str | None = None) -> Problem:
        return cls(error.place, error.problem, error.remedy, cluster)

    def __str__(self) -> str:
        sentence = f"{self.place}: {self.message}" if self.place else self.message
        return f"{sentence}; {self.remedy}" if self.remedy else sentence
