"""How a reconcile can end: done, look again after a while, failed, or hopeless until somebody
changes the object. Owns that vocabulary and the reading of exceptions; knows nothing of queues."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from fairlead.errors import Conflict, FairleadError, Terminal


@dataclass(frozen=True, slots=True)
class Result:
    """A reconcile that went well. `after` asks for another look in that many seconds; `reason`
    is the one sentence that says how things stand."""

    after: float | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        if self.after is not None and not math.isfinite(self.after):
            raise ValueError(f"a look cannot be planned in {self.after} seconds")


class Ending(StrEnum):
    """The bounded set of words that metrics count reconciles by."""

    SUCCESS = "success"
    REQUEUE = "requeue"
    ERROR = "error"
    TERMINAL = "terminal"


@dataclass(frozen=True, slots=True)
class Failure:
    """What a raised exception means for the queue and for the log."""

    ending: Ending
    reason: str
    message: str
    expected: bool
    """False for a programming error, whose traceback belongs in the log."""
    contention: bool = False
    """True when somebody else was merely faster, which is no cause for concern."""


def failure_of(error: Exception) -> Failure:
    """Reads an exception, also one that a task group wrapped."""
    causes = _leaves(error)
    message = "; ".join(dict.fromkeys(str(cause) or type(cause).__name__ for cause in causes))
    first = causes[0]
    if isinstance(first, Terminal) and all(isinstance(cause, Terminal) for cause in causes):
        return Failure(Ending.TERMINAL, first.reason, message, expected=True)
    expected = all(isinstance(cause, FairleadError) for cause in causes)
    return Failure(
        Ending.ERROR,
        type(first).__name__,
        message,
        expected=expected,
        contention=all(isinstance(cause, Conflict) for cause in causes),
    )


def _leaves(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
