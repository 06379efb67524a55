"""Kubernetes Events about objects, for `kubectl describe`. Owns aggregation, rate and delivery in
the background: recording never waits and never fails a reconcile. Knows nothing of why something
is worth an Event; `conditions_changed` tells transitions from repetition."""

from __future__ import annotations

import asyncio
import socket
import uuid
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import structlog

from fairlead.errors import FairleadError, NotFound
from fairlead.kube.patches import MergePatch
from fairlead.kube.resource import EVENTS, Object, Resource
from fairlead.runtime.clock import Clock

log = structlog.get_logger(__name__)

EventType = Literal["Normal", "Warning"]

_MOST_MESSAGE = 1024  # the API server refuses longer ones
_MOST_PENDING = 1000
_MOST_REMEMBERED = 4096
_SAME_EVENT_SECONDS = 600.0
_BURST = 25
_REFILL_SECONDS = 300.0  # one more Event about an object every five minutes, as in client-go


class EventApi(Protocol):
    async def create(
        self, resource: Resource, obj: Object, namespace: str | None = None, /
    ) -> Object: ...
    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: MergePatch,
        namespace: str | None = None,
        /,
    ) -> Object: ...


class _Same(NamedTuple):
    """Events that differ in none of these are one Event that happened several times."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    type: str
    reason: str
    message: str

    @property
    def about(self) -> tuple[str, ...]:
        return self[:5]


@dataclass(slots=True)
class _Posted:
    name: str
    count: int
    last: float


@dataclass(slots=True)
class _Allowance:
    """A token bucket for the Events about one object."""

    left: float
    since: float

    def take(self, now: float) -> bool:
        self.left = min(_BURST, self.left + (now - self.since) / _REFILL_SECONDS)
        self.since = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


@dataclass(slots=True)
class EventRecorder:
    """Records Events in one cluster. `client` is asked for at every request; `on_result` hears
    what became of each Event: posted, counted, limited, dropped or failed."""

    client: Callable[[], EventApi]
    clock: Clock
    component: str = "fairlead"
    instance: str = field(default_factory=socket.gethostname)
    on_result: Callable[[str], None] = lambda result: None
    _pending: OrderedDict[_Same, int] = field(default_factory=OrderedDict, init=False)
    _posted: OrderedDict[_Same, _Posted] = field(default_factory=OrderedDict, init=False)
    _allowances: OrderedDict[tuple[str, ...], _Allowance] = field(
        default_factory=OrderedDict, init=False
    )
    _wake: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _delivered: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def __post_init__(self) -> None:
        self._delivered.set()

    def record(self, obj: Object, type: EventType, reason: str, message: str) -> None:
        """Takes note of an Event about `obj` and returns at once."""
        metadata = obj.get("metadata") or {}
        same = _Same(
            api_version=obj.get("apiVersion", ""),
            kind=obj.get("kind", ""),
            namespace=metadata.get("namespace") or "",
            name=metadata.get("name", ""),
            uid=metadata.get("uid", ""),
            type=type,
            reason=reason,
            message=_cut(message),
        )
        if same not in self._pending and not self._admit(same):
            return
        self._pending[same] = self._pending.get(same, 0) + 1
        self._delivered.clear()
        self._wake.set()

    async def run(self) -> None:
        """Delivers until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._pending:
                same, times = self._pending.popitem(last=False)
                try:
                    self.on_result(await self._deliver(same, times))
                except FairleadError as error:
                    self.on_result("failed")
                    log.debug("event was not delivered", reason=same.reason, error=str(error))
            self._delivered.set()

    async def delivered(self) -> None:
        """Returns once nothing waits to be delivered."""
        await self._delivered.wait()

    def _admit(self, same: _Same) -> bool:
        now = self.clock.monotonic()
        allowance = self._allowances.setdefault(same.about, _Allowance(_BURST, now))
        self._allowances.move_to_end(same.about)
        if len(self._allowances) > _MOST_REMEMBERED:
            self._allowances.popitem(last=False)
        if not allowance.take(now):
            self.on_result("limited")
            return False
        if len(self._pending) >= _MOST_PENDING:
            self.on_result("dropped")
            return False
        return True

    async def _deliver(self, same: _Same, times: int) -> str:
        now = self.clock.monotonic()
        posted = self._posted.get(same)
        if posted is not None and now - posted.last < _SAME_EVENT_SECONDS:
            posted.count += times
            posted.last = now
            try:
                await self._count(same, posted)
            except NotFound:
                self._posted.pop(same, None)  # Events expire; begin a new one
            else:
                return "counted"
        name = f"{same.name[:220]}.{uuid.uuid4().hex[:16]}"
        await self.client().create(EVENTS, self._event(same, name, times), _namespace(same))
        self._posted[same] = _Posted(name, times, now)
        self._posted.move_to_end(same)
        if len(self._posted) > _MOST_REMEMBERED:
            self._posted.popitem(last=False)
        return "posted"

    async def _count(self, same: _Same, posted: _Posted) -> None:
        change = MergePatch({"count": posted.count, "lastTimestamp": self._now()})
        await self.client().patch(EVENTS, posted.name, change, _namespace(same))

    def _event(self, same: _Same, name: str, times: int) -> Object:
        now = self._now()
        involved = {
            "apiVersion": same.api_version,
            "kind": same.kind,
            "namespace": same.namespace,
            "name": same.name,
            "uid": same.uid,
        }
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": name, "namespace": _namespace(same)},
            "involvedObject": {field: value for field, value in involved.items() if value},
            "type": same.type,
            "reason": same.reason,
            "message": same.message,
            "source": {"component": self.component, "host": self.instance},
            "reportingComponent": self.component,
            "reportingInstance": self.instance,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": times,
        }

    def _now(self) -> str:
        return self.clock.wall().strftime("%Y-%m-%dT%H:%M:%SZ")


def _namespace(same: _Same) -> str:
    return same.namespace or "default"  # where Events about cluster-scoped objects belong


def _cut(message: str) -> str:
    encoded = message.encode()
    if len(encoded) <= _MOST_MESSAGE:
        return message
    return encoded[: _MOST_MESSAGE - 3].decode(errors="ignore") + "…"


class ConditionChange(NamedTuple):
    type: EventType
    reason: str
    message: str


def conditions_changed(
    old: Sequence[Mapping[str, Any]] | None,
    new: Sequence[Mapping[str, Any]] | None,
    *,
    bad_when_true: Collection[str] = (),
) -> Iterator[ConditionChange]:
    """The conditions whose status or reason is another than before: what is worth an Event. A
    condition is bad when it is not True, those in `bad_when_true` when they are."""
    before = {condition["type"]: condition for condition in old or ()}
    for condition in new or ():
        was = before.get(condition["type"], {})
        if all(was.get(part) == condition.get(part) for part in ("status", "reason")):
            continue
        status = condition.get("status")
        good = status == ("False" if condition["type"] in bad_when_true else "True")
        yield ConditionChange(
            "Normal" if good else "Warning",
            condition.get("reason") or condition["type"],
            condition.get("message") or f"{condition['type']} is {status}",
        )
