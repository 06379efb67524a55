"""Leader election among replicas by a Lease, with client-go's semantics: a holder is believed for
as long as the Lease *changes*, measured on the observer's own clock; the times written in it are
never compared with anything. Owns winning, keeping, losing and handing over; knows nothing of
what leaders do."""

from __future__ import annotations

import asyncio
import random
import socket
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import structlog

from fairlead.errors import Conflict, FairleadError, NotFound
from fairlead.kube.resource import LEASES, Object
from fairlead.runtime.clock import Clock
from fairlead.runtime.lease import (
    LeaseApi,
    LeaseRecord,
    changed_lease,
    new_lease,
    stamp,
    whole_seconds,
)
from fairlead.runtime.settings import RuntimeSettings

log = structlog.get_logger(__name__)
T = TypeVar("T")

_ACQUIRE_JITTER = 1.2  # client-go's: challengers that saw the same expiry must not collide forever
_LONGEST_NAP = 0.5  # sleeping does not count suspended time, so the deadline is looked at often


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """Which Lease, under which name, on which terms."""

    namespace: str
    name: str
    identity: str
    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    @classmethod
    def from_settings(cls, settings: RuntimeSettings) -> LeaseTerms:
        return cls(
            namespace=settings.lease_namespace,
            name=settings.lease_name,
            identity=settings.identity or f"{socket.gethostname()}_{uuid.uuid4()}",
            duration=settings.lease_duration,
            renew_deadline=settings.renew_deadline,
            retry_period=settings.retry_period,
        )


class LeaderElection:
    """Campaigns for one Lease. `client` is asked for at every request, so credentials may be
    exchanged while leading."""

    def __init__(
        self,
        client: Callable[[], LeaseApi],
        terms: LeaseTerms,
        *,
        clock: Clock,
        on_change: Callable[[bool], None] = lambda leading: None,
        chance: random.Random | None = None,
    ) -> None:
        self._client = client
        self._terms = terms
        self._clock = clock
        self._on_change = on_change
        self._chance = chance or random.Random()
        self._lease: Object | None = None
        self._record: LeaseRecord | None = None
        self._observed_at = 0.0
        self._deadline: float | None = None
        self._last_error = ""

    @property
    def leading(self) -> bool:
        """Whether work may begin now. Looks at the clock: after a pause of the whole process this
        says no before any task of the election had a chance to run."""
        return self._deadline is not None and self._clock.monotonic() < self._deadline

    @property
    def holder(self) -> str:
        """The identity last seen in the Lease, "" for nobody."""
        return self._record.holder if self._record else ""

    @property
    def last_error(self) -> str:
        """Why the last attempt brought no answer, "" if it did."""
        return self._last_error

    async def run(self, lead: Callable[[], Coroutine[Any, Any, None]]) -> NoReturn:
        """Until cancelled: waits for the Lease, runs `lead` while it is held, cancels `lead` and
        waits for its end when it is lost. On cancellation the Lease is given back at once."""
        while True:
            await self._acquire()
            self._announce(True)
            work = asyncio.create_task(lead(), name=f"lead {self._terms.name}")
            try:
                await self._keep(work)
            finally:
                await self._stop(work)
                self._announce(False)
                await self._bounded(self._release(), self._terms.retry_period)

    def _announce(self, leading: bool) -> None:
        log.info("leading" if leading else "no longer leading", lease=self._terms.name)
        self._on_change(leading)

    async def _acquire(self) -> None:
        while True:
            began = self._clock.monotonic()
            if await self._attempt(until=began + self._terms.renew_deadline) and self.leading:
                return
            pause = self._terms.retry_period * (1.0 + _ACQUIRE_JITTER * self._chance.random())
            await self._clock.sleep(pause)

    async def _keep(self, work: asyncio.Task[None]) -> None:
        """Renews until it is too late or somebody else holds the Lease. Work that ends by itself
        changes nothing; work that breaks ends the lead."""
        while (deadline := self._deadline) is not None:
            wake = min(self._clock.monotonic() + self._terms.retry_period, deadline)
            await self._sleep_until(wake)
            if work.done() and not work.cancelled() and (error := work.exception()) is not None:
                raise error
            if not self.leading:
                log.warning("lease was not renewed in time", lease=self._terms.name)
                return
            renewed = await self._attempt(until=deadline)
            if not renewed and self.holder != self._terms.identity:
                log.warning("lease is held by another", lease=self._terms.name, holder=self.holder)
                return
            if self._clock.monotonic() >= deadline:
                # The answer came after the moment up to which the lead was certain.
                log.warning("lease was renewed too late", lease=self._terms.name)
                return

    async def _stop(self, work: asyncio.Task[None]) -> None:
        self._deadline = None
        work.cancel()
        while not work.done():
            # Nobody may lead twice: however long the old work takes to end, it is waited for.
            await asyncio.wait({work}, timeout=self._terms.duration - self._terms.renew_deadline)
            if not work.done():
                log.error("work goes on although the lead is over", lease=self._terms.name)

    async def _sleep_until(self, moment: float) -> None:
        while (remaining := moment - self._clock.monotonic()) > 0:
            await self._clock.sleep(min(remaining, _LONGEST_NAP))

    async def _attempt(self, until: float) -> bool:
        """One attempt to get or renew the Lease, given up at `until`."""
        # Half of the deadline, as client-go does: one dead connection must leave time for another.
        seconds = min(until - self._clock.monotonic(), self._terms.renew_deadline / 2)
        return await self._bounded(self._try_once(), seconds) or False

    async def _bounded(self, request: Coroutine[Any, Any, T], seconds: float) -> T | None:
        """None if no answer came in time, on the clock that also counts suspended time."""
        attempt = asyncio.create_task(request)
        timer = asyncio.create_task(self._sleep_until(self._clock.monotonic() + seconds))
        try:
            await asyncio.wait({attempt, timer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            attempt.cancel()
            await asyncio.wait({attempt, timer})
        try:
            return attempt.result()
        except asyncio.CancelledError:
            self._complain("no answer in time")
        except FairleadError as error:
            self._complain(str(error))
        return None

    def _complain(self, error: str) -> None:
        if error != self._last_error:
            log.warning("lease could not be written", lease=self._terms.name, error=error)
        self._last_error = error

    async def _try_once(self) -> bool:
        client, terms = self._client(), self._terms
        if self.leading and self._lease is not None:
            try:
                return await self._write(client)
            except (Conflict, NotFound):
                self._lease = None  # look again before judging
        try:
            lease = await client.get(LEASES, terms.name, terms.namespace)
        except NotFound:
            return await self._create(client)
        self._observe(lease)
        if self._believed_held_by_another():
            return False
        try:
            return await self._write(client)
        except (Conflict, NotFound):
            self._last_error = ""
            return False

    async def _create(self, client: LeaseApi) -> bool:
        now = stamp(self._clock.wall(), other_than="")
        record = LeaseRecord(
            self._terms.identity, whole_seconds(self._terms.duration), now, now, transitions=0
        )
        lease = new_lease(self._terms.namespace, self._terms.name, record)
        sent = self._clock.monotonic()
        try:
            written = await client.create(LEASES, lease, self._terms.namespace)
        except Conflict:
            return False  # another was faster; the next attempt sees who
        return self._won(written, sent)

    async def _write(self, client: LeaseApi) -> bool:
        lease, old = self._lease, self._record
        if lease is None or old is None:
            return False
        mine = old.holder == self._terms.identity
        now = stamp(self._clock.wall(), other_than=old.renewed)
        record = LeaseRecord(
            holder=self._terms.identity,
            duration=whole_seconds(self._terms.duration),
            acquired=old.acquired if mine else now,
            renewed=now,
            transitions=old.transitions if mine else old.transitions + 1,
        )
        sent = self._clock.monotonic()
        written = await client.replace(LEASES, changed_lease(lease, record), self._terms.namespace)
        return self._won(written, sent)

    def _won(self, lease: Object, sent: float) -> bool:
        """Others count from when they see the write, which is after it was sent: a deadline
        counted from then is over on this side first."""
        self._observe(lease)
        self._deadline = sent + self._terms.renew_deadline
        self._last_error = ""
        return True

    def _observe(self, lease: Object) -> None:
        record = LeaseRecord.of(lease)
        self._lease = lease
        self._last_error = ""
        if record != self._record:
            self._record = record
            self._observed_at = self._clock.monotonic()

    def _believed_held_by_another(self) -> bool:
        record = self._record
        if record is None or record.holder in ("", self._terms.identity):
            return False
        duration = record.duration or self._terms.duration
        return self._clock.monotonic() < self._observed_at + duration

    async def _release(self) -> None:
        """Hands over at once. A failure costs the others only the rest of the duration."""
        client, terms = self._client(), self._terms
        if self.holder != terms.identity:
            return
        lease = await client.get(LEASES, terms.name, terms.namespace)
        self._observe(lease)
        old = LeaseRecord.of(lease)
        if old.holder != terms.identity:
            return
        now = stamp(self._clock.wall(), other_than=old.renewed)
        record = LeaseRecord("", 1, now, now, old.transitions)
        self._observe(await client.replace(LEASES, changed_lease(lease, record), terms.namespace))
