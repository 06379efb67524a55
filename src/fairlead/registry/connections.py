"""One cluster of the registry, from its entry to a verified client in the hands of listeners, and
back. Owns when a client is trusted, exchanged and dropped; what health means and which identity
is expected is decided elsewhere."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Protocol

import structlog

from fairlead.errors import Reason
from fairlead.kube.client import Client
from fairlead.registry.entry import ClusterEntry
from fairlead.registry.health import Check, HealthState, Verdict, advance
from fairlead.registry.identities import Identities
from fairlead.registry.prober import Probe, probe
from fairlead.registry.problem import Problem
from fairlead.registry.settings import RegistrySettings
from fairlead.registry.snapshot import ClusterView
from fairlead.runtime.clock import Clock

log = structlog.get_logger(__name__)

_FIRST_RETRY_SECONDS = 1.0
_NOT_BY_WAITING = frozenset({Reason.UNAUTHORIZED, Reason.TLS})
"""What is wrong with the entry rather than with the cluster."""


class Listener(Protocol):
    """Who wants to work with the clusters, such as the engine."""

    async def engage(self, name: str, client: Client) -> None:
        """The cluster is verified. Called again with another client to go on with that one; the
        client before is closed when this returns."""

    async def disengage(self, name: str) -> None:
        """The cluster is gone or not the right one. Its client is closed when this returns."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all connections of a registry share."""

    settings: RegistrySettings
    listeners: Sequence[Listener]
    identities: Identities
    clock: Clock
    random: random.Random
    slots: AbstractAsyncContextManager[object]
    """Entered for every check, so that not too many run at once."""
    new_client: Callable[[ClusterEntry], Client]
    changed: Callable[[], None]


@dataclass(frozen=True, slots=True)
class _InForce:
    client: Client
    entry: ClusterEntry


class ClusterConnection:
    """`run` it as a task; `update` it when its entry changes; `stop` after the task has ended."""

    def __init__(self, entry: ClusterEntry, around: Surroundings) -> None:
        self._entry = entry
        self._around = around
        self._in_force: _InForce | None = None
        self._retired: list[Client] = []
        self._engaged: Client | None = None
        self._told = False
        self._health = HealthState(around.settings.observer)
        self._identity: str | None = None
        self._offered: str | None = None
        self._unverified = 0
        self._rotation: Problem | None = None
        self._poked = asyncio.Event()
        # A thousand clusters make a picture of the fleet several times a second: look only once.
        self._view: ClusterView | None = None

    @property
    def name(self) -> str:
        return self._entry.name

    @property
    def client(self) -> Client | None:
        """The verified client, if the cluster is engaged."""
        return self._engaged

    @property
    def offered_identity(self) -> str | None:
        """Which cluster answered last, the right one or not."""
        return self._offered

    def view(self) -> ClusterView:
        """How it was after the last check, or after the last change of its entry."""
        if self._view is None:
            self._view = self._new_view()
        return self._view

    def _new_view(self) -> ClusterView:
        entry = self._in_force_version(self._entry)
        credentials = entry.access.credentials
        return ClusterView(
            entry=entry,
            health=self._health,
            identity=self._identity,
            engaged=self._engaged is not None,
            credentials_expire_at=credentials.expires_at,
            credentials_renew_themselves=credentials.refreshable or entry.renewed_elsewhere,
            problems=self._problems(),
        )

    def update(self, entry: ClusterEntry) -> None:
        """Another version of the entry. The same version again changes nothing."""
        changed = entry.fingerprint != self._entry.fingerprint
        in_force = self._in_force
        if in_force is not None and in_force.entry.connection == entry.connection:
            # The same credential read again has not the state of the one in use.
            entry = self._in_force_version(entry)
        self._entry = entry
        self._view = None
        if changed:
            self.check_now()

    def check_now(self) -> None:
        self._poked.set()

    async def run(self) -> None:
        """Check for ever, one check at a time."""
        while True:
            self._poked.clear()
            await self._round()
            self._view = None
            self._around.changed()
            await self._pause()

    async def stop(self) -> None:
        """Let everybody go of the cluster."""
        await self._disengage()
        if self._in_force is not None:
            self._retired.append(self._in_force.client)
            self._in_force = None
        await self._close_retired()

    def _in_force_version(self, entry: ClusterEntry) -> ClusterEntry:
        """The entry with the access that is in force, if there is one."""
        if self._in_force is None or self._in_force.entry.access is entry.access:
            return entry
        old = self._in_force.entry
        return replace(entry, access=old.access, credential=old.credential)

    async def _round(self) -> None:
        entry, in_force = self._entry, self._in_force
        if not entry.available:
            await self._take_out(entry)
        elif in_force is not None and in_force.entry.connection == entry.connection:
            self._rotation = None
            await self._look(in_force.client, entry)
        elif not await self._adopt(entry) and in_force is not None:
            await self._look(in_force.client, entry)

    async def _take_out(self, entry: ClusterEntry) -> None:
        await self.stop()
        self._identity = self._offered = self._rotation = None
        self._health = HealthState(
            self._around.settings.observer,
            last_error=f"taken out of service at {entry.source} (status: Unavailable)",
        )

    async def _adopt(self, entry: ClusterEntry) -> bool:
        """Verify a new client, and only then let go of the old one."""
        client = self._around.new_client(entry)
        self._retired.append(client)
        found = await self._probe(client, entry)
        wrong = self._wrong(entry, found)
        if found.identity is None or wrong is not None:
            self._refuse(entry, found, wrong)
            await self._close_retired()
            return False
        self._retired.remove(client)
        if self._in_force is not None:
            log.info("cluster goes on with its new access", cluster=entry.name)
            self._retired.append(self._in_force.client)
        self._in_force = _InForce(client, entry)
        self._rotation = None
        self._unverified = 0
        self._record(entry, found, None)
        self._around.identities.remember(entry.name, found.identity)
        await self._engage(client)
        await self._close_retired()
        return True

    def _refuse(self, entry: ClusterEntry, found: Probe, wrong: str | None) -> None:
        if self._in_force is None:
            self._unverified += 1
            self._record(entry, found, wrong)
            return
        self._offered = found.identity or self._offered
        error = wrong or found.check.error or "it does not tell its identity"
        self._rotation = Problem(
            entry.source,
            f"the new access to cluster {entry.name!r} is not used, the old one stays: {error}",
            "it is tried again with every check",
            entry.name,
        )

    async def _look(self, client: Client, entry: ClusterEntry) -> None:
        """Check the client in force, and whether it still is the same cluster."""
        found = await self._probe(client, entry)
        wrong = self._wrong(entry, found)
        self._record(entry, found, wrong)
        if wrong is not None:
            await self._disengage()
        elif found.identity is not None:
            self._around.identities.remember(entry.name, found.identity)
            await self._engage(client)

    async def _probe(self, client: Client, entry: ClusterEntry) -> Probe:
        async with self._around.slots:
            return await probe(client, entry.health_check, self._around.clock)

    def _wrong(self, entry: ClusterEntry, found: Probe) -> str | None:
        if found.identity is None:
            return None
        return self._around.identities.mismatch(entry, found.identity)

    def _record(self, entry: ClusterEntry, found: Probe, wrong: str | None) -> None:
        check = found.check
        if wrong is not None:
            check = Check(Verdict.WRONG_CLUSTER, check.seconds, wrong, Reason.WRONG_CLUSTER)
        if found.identity is not None:
            self._identity = found.identity
            if self._rotation is None:
                self._offered = found.identity
        before = self._health.health
        now = self._around.clock.monotonic()
        self._health = advance(self._health, check, entry.health_check, now)
        if self._health.health is not before:
            log.info(
                "cluster health changed",
                cluster=entry.name,
                health=self._health.health.value,
                before=before.value,
                error=check.error,
            )

    async def _engage(self, client: Client) -> None:
        if self._engaged is client:
            return
        self._told = True
        for listener in self._around.listeners:
            await listener.engage(self.name, client)
        self._engaged = client

    async def _disengage(self) -> None:
        # Also when engaging was interrupted halfway: some listeners may have heard of it.
        if not self._told:
            return
        self._engaged = None
        for listener in self._around.listeners:
            await listener.disengage(self.name)
        self._told = False

    async def _close_retired(self) -> None:
        while self._retired:
            await self._retired[-1].close()
            self._retired.pop()

    def _problems(self) -> tuple[Problem, ...]:
        found = [self._rotation] if self._rotation is not None else []
        reason, error = self._health.reason, self._health.last_error or ""
        if reason is Reason.WRONG_CLUSTER:
            found.append(Problem("", error, cluster=self.name))
        elif self._engaged is None and reason is Reason.FORBIDDEN:
            message = f"cluster {self.name!r} does not tell its identity, so it is not used"
            remedy = "allow the credential to get the namespace kube-system"
            found.append(Problem(self._entry.source, message, remedy, self.name))
        elif self._engaged is None and reason in _NOT_BY_WAITING:
            message = f"cluster {self.name!r} is not used: {error}"
            found.append(Problem(self._entry.source, message, cluster=self.name))
        return tuple(found)

    async def _pause(self) -> None:
        seconds = self._entry.health_check.interval
        if self._in_force is None and self._entry.available:
            # Not known yet is worse than not fresh: come sooner, but not as a hammer.
            seconds = min(seconds, _FIRST_RETRY_SECONDS * 2.0 ** min(self._unverified, 10))
        spread = self._around.settings.jitter * (2 * self._around.random.random() - 1)
        sleep = asyncio.ensure_future(self._around.clock.sleep(seconds * (1 + spread)))
        poke = asyncio.ensure_future(self._poked.wait())
        try:
            await asyncio.wait({sleep, poke}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleep.cancel()
            poke.cancel()
