"""The one error tree. `str(error)` is a sentence a person can act on; adapters translate
foreign exceptions into these at the edge and always chain the cause. Knows nothing of HTTP,
Kubernetes or the command line."""

from __future__ import annotations

from enum import StrEnum


class FairleadError(Exception):
    """Anything Fairlead reports on purpose. Whatever is not one of these is a bug."""


class InvalidInput(FairleadError):
    """Something a person wrote cannot be used: where it stands, what is wrong, what to do."""

    def __init__(self, place: str, problem: str, remedy: str = "") -> None:
        self.place = place
        self.problem = problem
        self.remedy = remedy
        sentence = f"{place}: {problem}" if place else problem
        super().__init__(f"{sentence}; {remedy}" if remedy else sentence)


class Transient(FairleadError):
    """Trying again later may help."""


class Terminal(FairleadError):
    """Trying again cannot help until somebody changes the input.

    `reason` is a CamelCase word for a condition, the message is its sentence.
    """

    def __init__(self, message: str, reason: str = "Invalid") -> None:
        self.reason = reason
        super().__init__(message)


class Conflict(FairleadError):
    """Somebody else changed it first; read again, then decide again."""


class NotFound(FairleadError):
    """The authority itself said that the thing does not exist. Never a guess."""


class Reason(StrEnum):
    """Why a cluster could not be asked. Each one sends an operator to a different place."""

    CONNECT = "connect"
    TIMEOUT = "timeout"
    TLS = "tls"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    WRONG_CLUSTER = "wrong-cluster"
    THROTTLED = "throttled"
    NOT_SERVED = "not-served"
    SERVER_ERROR = "server-error"
    BAD_ANSWER = "bad-answer"


class Unreachable(Transient):
    """No authoritative answer: the state of what was asked for is unknown, not absent."""

    def __init__(self, reason: Reason, message: str) -> None:
        self.reason = reason
        super().__init__(message)
