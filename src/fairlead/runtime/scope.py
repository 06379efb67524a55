"""One engaged cluster: everything the engine runs for it lives and dies together here. Owns the
order of things (caches first, then the lease, then work) and the exchange of the client; knows
nothing of other clusters."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog
from structlog.contextvars import bound_contextvars

from fairlead.backoff import Backoff
from fairlead.errors import Unreachable
from fairlead.kube.client import Client
from fairlead.kube.resource import Object
from fairlead.runtime.clock import Clock
from fairlead.runtime.controller import Controller, Selection, Watch
from fairlead.runtime.events import EventRecorder
from fairlead.runtime.informer import Informer
from fairlead.runtime.lane import Lane
from fairlead.runtime.leader import LeaderElection, LeaseTerms
from fairlead.runtime.metrics import Metrics
from fairlead.runtime.request import Request
from fairlead.runtime.settings import RuntimeSettings
from fairlead.runtime.supervise import stop_task, supervise

log = structlog.get_logger(__name__)

_RESTART = Backoff(base=1.0, cap=60.0)

Deliver = Callable[[str, Request], None]
"""Controller name and request, to whichever cluster the request names."""


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """How things stand in one cluster, for people."""

    name: str
    synced: bool
    leading: bool
    holder: str
    waiting: int
    failing: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every scope of an engine shares."""

    controllers: Mapping[str, Controller]
    settings: RuntimeSettings
    terms: LeaseTerms | None
    metrics: Metrics
    clock: Clock
    deliver: Deliver


class ClusterScope:
    def __init__(self, name: str, client: Client, around: Surroundings) -> None:
        self.name = name
        self.client = client
        self._around = around
        self._served = [c for c in around.controllers.values() if c.serves(name)]
        self.lanes = {
            controller.name: Lane(
                controller,
                name,
                settings=around.settings,
                metrics=around.metrics,
                clock=around.clock,
            )
            for controller in self._served
        }
        self.informers: dict[Selection, Informer] = {}
        for controller in around.controllers.values():
            for watch in controller.watches:
                if watch.applies_to(name):
                    self._informer(watch.selection).listen(self._listener(controller, watch))
        self.events = EventRecorder(
            lambda: self.client,
            clock=around.clock,
            on_result=lambda result: around.metrics.event(name, result),
        )
        self.election = self._election()
        self._watching: asyncio.Task[None] | None = None
        self._working: asyncio.Task[None] | None = None

    @property
    def synced(self) -> bool:
        return all(informer.synced.is_set() for informer in self.informers.values())

    def start(self) -> None:
        self._around.metrics.engaged(self.name)
        self._watching = self._task(self._watch(), "watches")
        self._working = self._task(self._work(), "work")

    async def exchange(self, client: Client) -> None:
        """Goes on with another client; the old one is no longer used when this returns, except
        by reconciles that are running. Queues, caches and the lease stay."""
        if self._watching is not None:
            await stop_task(self._watching, self._around.settings.cancel_grace)
        self.client = client
        self._watching = self._task(self._watch(), "watches")

    async def stop(self) -> None:
        """Ends everything: reconciles are cancelled, the lease is given back, keys forgotten."""
        for lane in self.lanes.values():
            lane.queue.close()
        grace = self._around.settings.cancel_grace
        for task in (self._working, self._watching):  # a lease is released after work ended
            if task is not None:
                await stop_task(task, grace)

    def unready(self) -> str | None:
        """Which caches are still empty, and why. An unreachable cluster is no reason: whoever
        waits for it would wait with it."""
        missing = [i for i in self.informers.values() if not i.synced.is_set()]
        waiting = [i for i in missing if not isinstance(i.last_error, Unreachable)]
        if not waiting:
            return None
        names = ", ".join(str(informer.selection) for informer in waiting[:5])
        more = f" and {len(waiting) - 5} more" if len(waiting) > 5 else ""
        return f"cluster {self.name}: not yet read: {names}{more}"

    def dead(self) -> str | None:
        """What broke although all of it is supervised."""
        for task in (self._working, self._watching):
            if task is not None and task.done() and not task.cancelled() and task.exception():
                return f"{task.get_name()} broke: {task.exception()}"
        return None

    def status(self) -> ClusterStatus:
        return ClusterStatus(
            name=self.name,
            synced=self.synced,
            leading=self.election is None or self.election.leading,
            holder=self.election.holder if self.election else "",
            waiting=sum(len(lane.queue) for lane in self.lanes.values()),
            failing=sum(len(lane.failing) for lane in self.lanes.values()),
            problems=tuple(self._problems()),
        )

    def _problems(self) -> Iterator[str]:
        for informer in self.informers.values():
            if informer.last_error is not None:
                yield f"{informer.selection}: {informer.last_error}"
        if self.election is not None and self.election.last_error:
            yield f"leader election: {self.election.last_error}"

    def _task(self, work: Coroutine[Any, Any, None], what: str) -> asyncio.Task[None]:
        with bound_contextvars(cluster=self.name):
            return asyncio.create_task(work, name=f"{what} of cluster {self.name}")

    def _informer(self, selection: Selection) -> Informer:
        if selection not in self.informers:
            resource = str(selection.resource)
            self.informers[selection] = Informer(
                selection,
                on_restart=lambda reason: self._around.metrics.watch_restarted(
                    self.name, resource, reason
                ),
            )
        return self.informers[selection]

    def _listener(
        self, controller: Controller, watch: Watch
    ) -> Callable[[Object | None, Object | None], None]:
        def on_change(old: Object | None, new: Object | None) -> None:
            if watch.predicate is not None and not watch.predicate(old, new):
                return
            for obj in (old, new):
                if obj is not None:
                    for request in watch.map(self.name, obj):
                        self._around.deliver(controller.name, request)

        return on_change

    def _election(self) -> LeaderElection | None:
        terms = self._around.terms
        if terms is None or not any(c.leader_elected for c in self._served):
            return None
        return LeaderElection(
            lambda: self.client,
            terms,
            clock=self._around.clock,
            on_change=lambda leading: self._around.metrics.leading(self.name, leading),
        )

    async def _watch(self) -> None:
        client = self.client
        async with asyncio.TaskGroup() as group:
            for informer in self.informers.values():
                group.create_task(
                    self._supervise(f"watch of {informer.selection}", partial(informer.run, client))
                )

    async def _work(self) -> None:
        election = self.election
        elected = [c for c in self._served if election is not None and c.leader_elected]
        async with asyncio.TaskGroup() as group:
            group.create_task(self._report_synced())
            group.create_task(self._supervise("events", self.events.run))
            for controller in self._served:
                if controller not in elected:
                    serve = partial(self._serve, controller, lambda: True)
                    group.create_task(self._supervise(controller.name, serve))
            if election is not None:
                lead = partial(self._lead, election, elected)
                campaign = partial(election.run, lead)
                group.create_task(self._supervise("leader election", campaign))

    async def _supervise(self, what: str, run: Callable[[], Awaitable[None]]) -> None:
        await supervise(what, run, self._around.clock, _RESTART)

    async def _report_synced(self) -> None:
        for informer in self.informers.values():
            await informer.synced.wait()
        self._around.metrics.synced(self.name)
        log.info("all caches of the cluster are filled", caches=len(self.informers))

    async def _lead(self, election: LeaderElection, controllers: Iterable[Controller]) -> None:
        async with asyncio.TaskGroup() as group:
            for controller in controllers:
                group.create_task(self._serve(controller, lambda: election.leading))

    async def _serve(self, controller: Controller, may_work: Callable[[], bool]) -> None:
        """Waits for what the controller reads here, then works; whoever begins to work looks at
        everything once, since a predecessor may have left anything half done."""
        watches = [watch for watch in controller.watches if watch.applies_to(self.name)]
        for watch in watches:
            await self.informers[watch.selection].synced.wait()
        for watch in watches:
            self.informers[watch.selection].replay(self._listener(controller, watch))
        await self.lanes[controller.name].serve(may_work)
