"""The registry: which clusters there are, how to reach them and how they are, right now. Owns the
joining of providers, connections and listeners; every single part of it stands in a module of its
own."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import structlog

from fairlead.backoff import Backoff
from fairlead.errors import InvalidInput, Reason, Unreachable
from fairlead.kube.client import Client
from fairlead.registry.connections import ClusterConnection, Listener, Surroundings
from fairlead.registry.entry import ClusterEntry
from fairlead.registry.identities import Identities
from fairlead.registry.last_good import ProviderSnapshot
from fairlead.registry.problem import Problem
from fairlead.registry.providers import Provider
from fairlead.registry.settings import RegistrySettings
from fairlead.registry.snapshot import RegistrySnapshot, assemble, merge
from fairlead.runtime.clock import Clock, SystemClock
from fairlead.runtime.supervise import supervise

log = structlog.get_logger(__name__)

_RESTART = Backoff(base=1.0, cap=60.0)


def plain_client(entry: ClusterEntry) -> Client:
    return Client(entry.access, name=entry.name)


class Registry:
    """Follows its providers and all their clusters while `run` runs.

    `observe` is called after every check, whether it told something new or not, for metrics.
    """

    def __init__(
        self,
        providers: Sequence[Provider],
        *,
        settings: RegistrySettings | None = None,
        listeners: Sequence[Listener] = (),
        new_client: Callable[[ClusterEntry], Client] = plain_client,
        observe: Callable[[RegistrySnapshot], None] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._providers = tuple(providers)
        self._settings = settings or RegistrySettings()
        self._clock = clock or SystemClock()
        self._observe = observe
        self._identities = Identities(self._settings.known_identities, self._settings.identity_file)
        self._around = Surroundings(
            settings=self._settings,
            listeners=tuple(listeners),
            identities=self._identities,
            clock=self._clock,
            random=random.Random(),
            slots=asyncio.Semaphore(self._settings.concurrent_checks),
            new_client=new_client,
            changed=self._refresh,
        )
        self._readings: list[ProviderSnapshot | None] = [None] * len(self._providers)
        self._problems: list[Problem] = []
        self._connections: dict[str, ClusterConnection] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._snapshot = RegistrySnapshot()
        self._subscribers: list[Callable[[RegistrySnapshot], None]] = []
        self._news = asyncio.Event()
        self._published = asyncio.Event()
        self._loaded = asyncio.Event()

    # -- what others see

    def snapshot(self) -> RegistrySnapshot:
        """Everything as of now; frozen, so it can be kept."""
        return self._snapshot

    def subscribe(self, callback: Callable[[RegistrySnapshot], None]) -> Callable[[], None]:
        """Call back with each new generation. Returns the way to end that."""
        self._subscribers.append(callback)
        return partial(self._subscribers.remove, callback)

    @property
    def loaded(self) -> bool:
        """Whether every provider has said what it has, or why it cannot."""
        return self._loaded.is_set()

    async def wait_loaded(self) -> None:
        """Until every provider has said what it has, or why it cannot."""
        await self._loaded.wait()

    async def wait_checked(self) -> RegistrySnapshot:
        """Until every cluster in service has been checked at least once."""
        await self.wait_loaded()
        return await self.wait_for(
            lambda snapshot: all(
                view.health.checked_at is not None or not view.entry.available
                for view in snapshot.clusters.values()
            )
        )

    async def wait_for(self, condition: Callable[[RegistrySnapshot], bool]) -> RegistrySnapshot:
        """The first snapshot, from now on, that satisfies the condition."""
        while not condition(self._snapshot):
            await self._news.wait()
        return self._snapshot

    def client(self, name: str) -> Client:
        """The verified client of a cluster. Raises `Unreachable` if there is none right now."""
        connection = self._connections.get(name)
        if connection is None:
            known = ", ".join(sorted(self._connections)) or "none"
            raise InvalidInput("", f"there is no cluster {name!r}", f"known are: {known}")
        if connection.client is None:
            health = connection.view().health
            why = health.last_error or "it has not been checked yet"
            reason = health.reason or Reason.CONNECT
            raise Unreachable(reason, f"cluster {name!r} cannot be used: {why}")
        return connection.client

    def accept_identity(self, name: str) -> None:
        """Take the cluster that answers under this name now for the right one from now on."""
        connection = self._connections.get(name)
        if connection is None or connection.offered_identity is None:
            remedy = "wait until it has answered, see `fairlead clusters list`"
            raise InvalidInput("", f"the identity of cluster {name!r} is not known", remedy)
        self._identities.remember(name, connection.offered_identity)
        connection.check_now()

    def check_now(self) -> None:
        """Check every cluster without waiting for its time."""
        for connection in self._connections.values():
            connection.check_now()

    # -- how

    async def run(self) -> None:
        """Until cancelled; then every listener is let go and every client closed."""
        async with asyncio.TaskGroup() as group:
            for index, provider in enumerate(self._providers):
                what = f"provider {provider.description}"
                run = partial(provider.run, partial(self._publish, index))
                group.create_task(supervise(what, run, self._clock, _RESTART))
            try:
                while not all(reading is not None for reading in self._readings):
                    await self._wait_published()
                while True:
                    await self._follow(group)
                    await self._wait_published()
            finally:
                await self._leave(set(self._connections))

    def _publish(self, index: int, reading: ProviderSnapshot) -> None:
        self._readings[index] = reading
        self._published.set()

    async def _wait_published(self) -> None:
        await self._published.wait()
        self._published.clear()

    async def _follow(self, group: asyncio.TaskGroup) -> None:
        """Bring the connections in line with what the providers say."""
        entries, self._problems = merge([reading for reading in self._readings if reading])
        gone = self._connections.keys() - entries.keys()
        await self._leave(gone)
        for name in gone:
            # Removing and adding again is how somebody says that a name means another cluster.
            self._identities.forget(name)
        for name, entry in entries.items():
            if name in self._connections:
                self._connections[name].update(entry)
                continue
            connection = ClusterConnection(entry, self._around)
            self._connections[name] = connection
            what = f"connection to {name}"
            run = supervise(what, connection.run, self._clock, _RESTART)
            self._tasks[name] = group.create_task(run, name=what)
        self._loaded.set()
        self._refresh()

    async def _leave(self, names: set[str]) -> None:
        tasks = [self._tasks.pop(name) for name in names if name in self._tasks]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        leaving = [self._connections.pop(name) for name in names]
        await asyncio.gather(*(connection.stop() for connection in leaving))

    def _refresh(self) -> None:
        """A new picture. Subscribers hear of it only if it tells something new."""
        problems = list(self._problems)
        if self._identities.problem is not None:
            problems.append(self._identities.problem)
        views = [connection.view() for connection in self._connections.values()]
        snapshot = assemble(views, problems, self._settings, self._clock.wall())
        new = snapshot.facts != self._snapshot.facts
        self._report_problems(snapshot)
        generation = self._snapshot.generation + (1 if new else 0)
        self._snapshot = replace(snapshot, generation=generation)
        self._news.set()
        self._news.clear()
        if self._observe is not None:
            self._observe(self._snapshot)
        if new:
            for subscriber in tuple(self._subscribers):
                subscriber(self._snapshot)

    def _report_problems(self, snapshot: RegistrySnapshot) -> None:
        known = set(self._snapshot.problems)
        for problem in snapshot.problems:
            if problem not in known:
                log.warning("registry problem", cluster=problem.cluster, problem=str(problem))
