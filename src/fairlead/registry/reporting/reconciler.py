"""Joins observe, plan and apply for one ClusterRegistry, and wakes up when the resource or the
registry changes. Knows nothing of how health is found."""

from __future__ import annotations

import asyncio

from fairlead.api.cluster_registry import ClusterRegistryStatus
from fairlead.api.meta import encode
from fairlead.kube.resource import Object
from fairlead.registry.health import Health
from fairlead.registry.providers.custom_resource import CLUSTER_REGISTRIES
from fairlead.registry.registry import Registry
from fairlead.registry.reporting.observe import observe
from fairlead.registry.reporting.plan import HealthChange, plan
from fairlead.runtime.clock import Clock, SystemClock
from fairlead.runtime.controller import Controller, Enqueue, Watch
from fairlead.runtime.engine import Engine
from fairlead.runtime.outcome import Result
from fairlead.runtime.request import Request

NAME = "registry-status"


class ReportingReconciler:
    def __init__(
        self,
        registry: Registry,
        engine: Engine,
        observer: str,
        clock: Clock | None = None,
    ) -> None:
        self._registry = registry
        self._engine = engine
        self._observer = observer
        self._clock = clock or SystemClock()

    async def reconcile(self, request: Request) -> Result | None:
        obj = self._engine.cache(request.cluster, CLUSTER_REGISTRIES).find(request.name)
        if obj is None:
            return None
        observed = observe(obj, self._registry.snapshot(), self._observer)
        planned = plan(observed, self._clock.wall())
        if planned.status is not None:
            await self._apply(request, planned.status)
        for change in planned.changes:
            self._tell(request, obj, change)
        return Result(reason=planned.reason)

    async def _apply(self, request: Request, status: ClusterRegistryStatus) -> None:
        """Only this observer's part, so that several may report into one resource."""
        await self._engine.client(request.cluster).apply(
            CLUSTER_REGISTRIES,
            {"metadata": {"name": request.name}, "status": encode(status)},
            manager=f"fairlead-{self._observer}"[:128],
            subresource="status",
            force=True,
        )

    def _tell(self, request: Request, obj: Object, change: HealthChange) -> None:
        good = change.after == Health.HEALTHY
        self._engine.events(request.cluster).record(
            obj,
            "Normal" if good else "Warning",
            f"Cluster{change.after.capitalize()}",
            f"cluster {change.cluster} went from {change.before} to {change.after}: "
            f"{change.message}",
        )


class RegistryChanges:
    """Wakes the controller for every known resource when the registry has news."""

    name = "registry changes"

    def __init__(self, registry: Registry, engine: Engine, home: str) -> None:
        self._registry = registry
        self._engine = engine
        self._home = home

    async def run(self, enqueue: Enqueue) -> None:
        news = asyncio.Event()
        unsubscribe = self._registry.subscribe(lambda snapshot: news.set())
        try:
            while True:
                await news.wait()
                news.clear()
                if self._home in self._engine.clusters:
                    for _, name in self._engine.cache(self._home, CLUSTER_REGISTRIES):
                        enqueue(Request(self._home, None, name))
        finally:
            unsubscribe()


def reporting_controller(
    registry: Registry, engine: Engine, observer: str, home: str
) -> Controller:
    """Reports into the resources of the cluster named `home`."""
    return Controller(
        name=NAME,
        reconciler=ReportingReconciler(registry, engine, observer),
        watches=(Watch(CLUSTER_REGISTRIES, clusters=lambda name: name == home),),
        sources=(RegistryChanges(registry, engine, home),),
        clusters=lambda name: name == home,
        workers=1,
    )
