"""The engine: controllers over a changing set of clusters. Owns which clusters are engaged and
where a request goes, the start and the orderly end of everything; knows nothing of what is being
reconciled or where clusters come from."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial

import structlog

from fairlead.backoff import Backoff
from fairlead.errors import Transient
from fairlead.kube.client import Client
from fairlead.kube.resource import Resource
from fairlead.runtime.clock import Clock, SystemClock
from fairlead.runtime.controller import Controller, Selection
from fairlead.runtime.events import EventRecorder
from fairlead.runtime.informer import Cache
from fairlead.runtime.lane import Failing, Lane
from fairlead.runtime.leader import LeaseTerms
from fairlead.runtime.metrics import Metrics, QueueReading
from fairlead.runtime.request import FLEET, Request
from fairlead.runtime.scope import ClusterScope, ClusterStatus, Surroundings
from fairlead.runtime.settings import RuntimeSettings
from fairlead.runtime.supervise import supervise

log = structlog.get_logger(__name__)

_RESTART = Backoff(base=1.0, cap=60.0)
_LAST_EVENTS = 2.0  # what the last reconciles had to say is worth a moment, not more


class NotEngaged(Transient):
    """The cluster is not (or no longer) one the engine works with."""


class Engine:
    def __init__(
        self,
        controllers: Sequence[Controller] = (),
        *,
        settings: RuntimeSettings | None = None,
        metrics: Metrics | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.controllers: dict[str, Controller] = {}
        self.settings = settings or RuntimeSettings()
        self.metrics = metrics or Metrics()
        self._clock = clock or SystemClock()
        self._around = Surroundings(
            controllers=self.controllers,
            settings=self.settings,
            terms=LeaseTerms.from_settings(self.settings)
            if self.settings.leader_election
            else None,
            metrics=self.metrics,
            clock=self._clock,
            deliver=self.enqueue,
        )
        self._scopes: dict[str, ClusterScope] = {}
        self._fleet: dict[str, Lane] = {}
        self._held: dict[str, set[tuple[str, Request]]] = defaultdict(set)
        self._changing: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._stopping = asyncio.Event()
        self._group: asyncio.TaskGroup | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.metrics.watch_queues(self._queues)
        for controller in controllers:
            self.add(controller)

    def add(self, controller: Controller) -> None:
        """One more controller, before the first cluster is engaged: reconcilers that need the
        engine itself can only be made after it."""
        if controller.name in self.controllers:
            raise ValueError(f"two controllers have the same name: {controller.name!r}")
        if self._group is not None or self._scopes:
            raise RuntimeError("the engine is already at work")
        self.controllers[controller.name] = controller

    async def run(self) -> None:
        """Until `stop` or cancellation; both end in good order. Clusters may be engaged before,
        their keys are worked off at once; sources start here."""
        if self._group is not None or self._stopping.is_set():
            raise RuntimeError("an engine runs once")
        async with asyncio.TaskGroup() as group:
            self._group = group
            for lane in self._fleet.values():
                self._start_fleet_lane(lane)
            for controller in self.controllers.values():
                for source in controller.sources:
                    self._start(
                        f"source {source.name} of {controller.name}",
                        partial(source.run, partial(self.enqueue, controller.name)),
                    )
            try:
                await self._stopping.wait()
            finally:
                self._stopping.set()
                try:
                    await self._drain()
                finally:
                    await self._end()

    def stop(self) -> None:
        """Asks `run` to come to its end."""
        self._stopping.set()

    async def engage(self, name: str, client: Client) -> None:
        """Begins to work with a cluster, or goes on with another client if it is engaged already:
        queues, caches and leadership outlive the exchange. The client stays the caller's."""
        if name == FLEET:
            raise ValueError(f"{FLEET!r} is no name for a cluster")
        async with self._changing[name]:
            scope = self._scopes.get(name)
            if self._stopping.is_set() or (scope is not None and scope.client is client):
                return
            if scope is not None:
                log.info("cluster goes on with new credentials", cluster=name)
                await scope.exchange(client)
                return
            log.info("cluster engaged", cluster=name)
            self._scopes[name] = scope = ClusterScope(name, client, self._around)
            scope.start()
            for controller, request in self._held.pop(name, ()):
                self.enqueue(controller, request)

    async def disengage(self, name: str) -> None:
        """Cancels everything that runs for a cluster and forgets its keys; the client is unused
        when this returns."""
        async with self._changing[name]:
            scope = self._scopes.pop(name, None)
            self._held.pop(name, None)
            if scope is None:
                return
            await scope.stop()
            self.metrics.forget_cluster(name)
            log.info("cluster disengaged", cluster=name)

    def enqueue(self, controller: str, request: Request, after: float = 0.0) -> None:
        """Lets a controller look at something. A request for a cluster that is not engaged waits
        until it is; one that the controller does not serve is dropped."""
        if controller not in self.controllers:
            raise ValueError(f"there is no controller {controller!r}")
        if request.cluster == FLEET:
            self._fleet_lane(controller).queue.add_after(request, after)
        elif (scope := self._scopes.get(request.cluster)) is not None:
            if (lane := scope.lanes.get(controller)) is not None:
                lane.queue.add_after(request, after)
        elif not self._stopping.is_set() and self.controllers[controller].serves(request.cluster):
            self._held[request.cluster].add((controller, request))

    @property
    def clusters(self) -> tuple[str, ...]:
        """The names of the engaged clusters."""
        return tuple(self._scopes)

    def client(self, cluster: str) -> Client:
        return self._scope(cluster).client

    def events(self, cluster: str) -> EventRecorder:
        return self._scope(cluster).events

    def leading(self, cluster: str) -> bool:
        """Whether this process is the one that works in the cluster."""
        scope = self._scopes.get(cluster)
        return scope is not None and (scope.election is None or scope.election.leading)

    def cache(
        self,
        cluster: str,
        resource: Resource,
        *,
        namespace: str | None = None,
        labels: str | None = None,
        fields: str | None = None,
    ) -> Cache:
        """What a watch with exactly this selection has seen."""
        selection = Selection(resource, namespace, labels, fields)
        informer = self._scope(cluster).informers.get(selection)
        if informer is None:
            raise LookupError(f"no controller watches {selection}")
        return informer.cache

    def failing(self) -> list[Failing]:
        """Every key whose last reconcile did not go well."""
        return [failing for lane in self._lanes() for failing in lane.failing.values()]

    def status(self) -> list[ClusterStatus]:
        return [scope.status() for scope in self._scopes.values()]

    def ready(self) -> str | None:
        """Why the engine is not ready, or None."""
        if self._group is None or self._stopping.is_set():
            return "the engine is not running"
        reasons = [scope.unready() for scope in self._scopes.values()]
        return "; ".join(reason for reason in reasons if reason) or None

    def live(self) -> str | None:
        """What only a restart can heal, or None."""
        stuck = [lane.stuck() for lane in self._lanes()]
        dead = [scope.dead() for scope in self._scopes.values()]
        return "; ".join(reason for reason in (*stuck, *dead) if reason) or None

    def _scope(self, cluster: str) -> ClusterScope:
        scope = self._scopes.get(cluster)
        if scope is None:
            raise NotEngaged(f"cluster {cluster} is not engaged")
        return scope

    def _lanes(self) -> Iterator[Lane]:
        yield from self._fleet.values()
        for scope in self._scopes.values():
            yield from scope.lanes.values()

    def _queues(self) -> Iterator[QueueReading]:
        for lane in self._lanes():
            queue = lane.queue
            yield QueueReading(
                controller=lane.controller.name,
                cluster=lane.cluster,
                depth=len(queue),
                delayed=queue.delayed,
                oldest_age=queue.oldest_age(),
                adds=queue.adds,
                retries=queue.retries,
            )

    def _fleet_lane(self, controller: str) -> Lane:
        """Made with the first request of its kind: most controllers have none."""
        lane = self._fleet.get(controller)
        if lane is None:
            lane = Lane(
                self.controllers[controller],
                FLEET,
                settings=self.settings,
                metrics=self.metrics,
                clock=self._clock,
            )
            self._fleet[controller] = lane
            self._start_fleet_lane(lane)
        return lane

    def _start_fleet_lane(self, lane: Lane) -> None:
        if self._group is not None and not self._stopping.is_set():
            self._start(lane.controller.name, partial(lane.serve, lambda: True))

    def _start(self, what: str, run: Callable[[], Awaitable[None]]) -> None:
        if self._group is not None:
            task = self._group.create_task(supervise(what, run, self._clock, _RESTART), name=what)
            self._tasks.append(task)

    async def _drain(self) -> None:
        """No new keys; what is running may come to its end."""
        lanes = list(self._lanes())
        running = sum(lane.queue.processing for lane in lanes)
        log.info("engine stops", running=running, grace=self.settings.shutdown_grace)
        for lane in lanes:
            lane.queue.close()
        try:
            async with asyncio.timeout(self.settings.shutdown_grace):
                for lane in lanes:
                    await lane.queue.idle()
        except TimeoutError:
            running = sum(lane.queue.processing for lane in lanes)
            log.warning("reconciles are cancelled after the grace period", running=running)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_EVENTS):
                for scope in list(self._scopes.values()):
                    await scope.events.delivered()

    async def _end(self) -> None:
        for task in self._tasks:
            task.cancel()
        async with asyncio.TaskGroup() as group:
            for name in list(self._scopes):
                group.create_task(self.disengage(name))
