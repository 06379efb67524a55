"""The `Status` object in which an API server says no, decoded leniently: whatever is not one is
None. Knows nothing of what its reasons mean to us; `errors` does."""

from __future__ import annotations

import msgspec


class Cause(msgspec.Struct, frozen=True):
    """One of possibly many reasons within a Status, with the field it is about."""

    reason: str | None = None
    message: str | None = None
    field: str | None = None

    def __str__(self) -> str:
        return ": ".join(part for part in (self.field, self.message or self.reason) if part)


class Details(msgspec.Struct, frozen=True):
    """What a Status is about. `kind` holds the plural resource name on a real API server."""

    name: str | None = None
    group: str | None = None
    kind: str | None = None
    uid: str | None = None
    causes: list[Cause] | None = None
    retry_after_seconds: int | None = msgspec.field(name="retryAfterSeconds", default=None)


class Status(msgspec.Struct, frozen=True):
    """A `kind: Status` answer of an API server."""

    kind: str | None = None
    status: str | None = None
    message: str | None = None
    reason: str | None = None
    code: int | None = None
    details: Details | None = None

    @property
    def causes(self) -> tuple[Cause, ...]:
        return tuple((self.details and self.details.causes) or ())


_decoder = msgspec.json.Decoder(Status)


def parse_status(body: bytes) -> Status | None:
    """The Status in an answer's body, or None if the body is anything else."""
    try:
        status = _decoder.decode(body)
    except (ValueError, RecursionError):
        return None
    return status if status.kind == "Status" else None


def status_from(obj: object) -> Status | None:
    """The Status in an already decoded object (a watch's ERROR event), or None."""
    try:
        status = msgspec.convert(obj, Status)
    except (ValueError, RecursionError):
        return None
    return status if status.kind == "Status" else None
