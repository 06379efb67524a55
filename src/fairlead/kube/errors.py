"""The errors of asking a cluster: subclasses of the one tree in `fairlead.errors`, and what their
sentences are made of. Which answer becomes which error is decided in `refusals` and `faults`."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.errors import (
    Conflict,
    NotFound,
    Reason,
    Terminal,
    Transient,
    Unreachable,
)
from fairlead.kube.resource import Resource
from fairlead.kube.status import Cause, Status


class ObjectNotFound(NotFound):
    """The API server itself said that this object (or the namespace for it) does not exist."""

    def __init__(self, message: str, status: Status) -> None:
        self.status = status
        super().__init__(message)


class AlreadyExists(Conflict):
    """A create met an object of the same name."""


class StaleResource(Conflict):
    """The resourceVersion or UID the write was based on is not the current one."""


class ApplyConflict(Conflict):
    """Server-side apply without force met fields that other managers own: see `causes`."""

    def __init__(self, message: str, causes: tuple[Cause, ...]) -> None:
        self.causes = causes
        super().__init__(message)


class Invalid(Terminal):
    """The API server judged the request itself wrong: see `causes` for the fields."""

    def __init__(self, message: str, reason: str, causes: tuple[Cause, ...] = ()) -> None:
        self.causes = causes
        super().__init__(message, reason)


class Denied(Transient):
    """Allowed to ask, but admission said no: quota, policy, or a namespace that is terminating.

    Trying again helps once the quota, the policy or the namespace has changed.
    """

    def __init__(self, message: str, causes: tuple[Cause, ...] = ()) -> None:
        self.causes = causes
        super().__init__(message)

    @property
    def namespace_terminating(self) -> bool:
        return any(cause.reason == "NamespaceTerminating" for cause in self.causes)


class Gone(Transient):
    """410: the resourceVersion or continue token is too old; list again from the beginning."""


class NotServed(Unreachable):
    """The cluster does not serve this API (yet, or any more): a CRD is missing or its version
    is off. Says nothing about objects, so it is never `NotFound`."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.NOT_SERVED, message)


class Throttled(Unreachable):
    """The server asked to come back later (429, or 503 with Retry-After)."""

    def __init__(self, reason: Reason, message: str, retry_after: float | None) -> None:
        self.retry_after = retry_after
        super().__init__(reason, message)


class NoAnswer(Unreachable):
    """The connection failed. `sent` is False only if the request certainly never left."""

    def __init__(self, reason: Reason, message: str, *, sent: bool) -> None:
        self.sent = sent
        super().__init__(reason, message)


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of whom, for sentences and to check that an answer is about it."""

    cluster: str
    host: str
    method: str
    path: str
    resource: Resource | None = None
    namespace: str | None = None
    name: str | None = None

    def sentence(self, problem: str, remedy: str = "") -> str:
        text = f"{self.cluster}: {self.method} {self.path}: {problem}"
        return f"{text}; {remedy}" if remedy else text
