"""One request to an API server as data: what to ask, how to word it on the wire, and what may be
done if the answer fails to come. Knows nothing of connections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import msgspec

from fairlead.backoff import Backoff
from fairlead.errors import Reason, Unreachable
from fairlead.kube.access import Presented
from fairlead.kube.errors import NoAnswer, Throttled
from fairlead.kube.resource import Resource

JSON = "application/json"
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
METADATA_ONLY_LIST = (
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)
APPLY = "application/apply-patch+yaml"


class Repeat(Enum):
    """What repeating this request after a failure could do."""

    READ = "read"
    """Changes nothing: repeat after any fault that may pass."""
    IDEMPOTENT = "idempotent"
    """A second execution is harmless: repeat if unsent or if the server said to come back."""
    ONCE = "once"
    """A second execution could do harm: repeat only if the first certainly did not happen."""


@dataclass(slots=True)
class Call:
    """One request. `target` is path and query as they stand on the wire."""

    method: str
    target: str
    resource: Resource | None = None
    namespace: str | None = None
    name: str | None = None
    body: bytes | None = field(default=None, repr=False)
    content_type: str | None = None
    accept: str = JSON
    repeat: Repeat = Repeat.READ
    presented: Presented | None = None
    """What the last attempt presented, for a server that refuses it."""
    sent: bool = False
    """Whether the last attempt came so far that the request may have left."""


class Answer(NamedTuple):
    """A complete HTTP answer, whatever its code."""

    code: int
    headers: Mapping[str, str]
    body: bytes

    def __repr__(self) -> str:
        return f"Answer(code={self.code}, {len(self.body)} bytes)"  # the body may be a Secret

    def json(self) -> Any:
        """The decoded body. Raises ValueError for anything but JSON."""
        return msgspec.json.decode(self.body)

    def text(self) -> str:
        return self.body.decode(errors="replace")


def target(path: str, query: Mapping[str, str] | None = None) -> str:
    """Path and query for a request line; `query` values are encoded here, the path is not."""
    return f"{path}?{urlencode(query, quote_via=quote)}" if query else path


_BACKOFF = Backoff(base=0.1, cap=5.0, jitter=0.5)
_FAULT_ATTEMPTS = 4
_THROTTLED_ATTEMPTS = 10


def pause_before_repeat(repeat: Repeat, error: Unreachable, failures: int) -> float | None:
    """Seconds to wait before asking again after the `failures`-th failure, or None: give up."""
    if isinstance(error, Throttled):
        # 429 means rejected unseen. A 503 may come from something behind which it did happen.
        rejected = error.reason is Reason.THROTTLED
        if failures >= _THROTTLED_ATTEMPTS or not (rejected or repeat is not Repeat.ONCE):
            return None
        wait = _BACKOFF.delay(failures)
        return wait if error.retry_after is None else error.retry_after + wait * 0.1
    if failures >= _FAULT_ATTEMPTS:
        return None
    passing = error.reason in {Reason.CONNECT, Reason.TIMEOUT, Reason.SERVER_ERROR}
    unsent = isinstance(error, NoAnswer) and not error.sent
    if passing and (unsent or repeat is Repeat.READ):
        return _BACKOFF.delay(failures)
    return None
