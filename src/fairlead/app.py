"""Wires the packages into programs: which providers the sources mean, which controllers an agent
runs. The only module that sees all packages; holds no logic of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec
import structlog

import fairlead
from fairlead.errors import InvalidInput, Unreachable
from fairlead.kube.access import Access
from fairlead.kube.client import Client
from fairlead.kube.kubeconfig import load_kubeconfig
from fairlead.kube.service_account import in_cluster, runs_in_cluster
from fairlead.registry.entry import ClusterEntry
from fairlead.registry.metrics import RegistryCollector
from fairlead.registry.providers import Provider
from fairlead.registry.providers.configmap import ConfigMapNames, ConfigMapProvider
from fairlead.registry.providers.custom_resource import CustomResourceProvider
from fairlead.registry.providers.file import FileProvider
from fairlead.registry.providers.kubeconfig import KubeconfigProvider
from fairlead.registry.registry import Registry
from fairlead.registry.reporting import reporting_controller
from fairlead.registry.snapshot import RegistrySnapshot
from fairlead.runtime.clock import SystemClock
from fairlead.runtime.collector import Collector
from fairlead.runtime.controller import Controller
from fairlead.runtime.engine import Engine
from fairlead.runtime.heartbeat import Heartbeat
from fairlead.runtime.metrics import Metrics
from fairlead.runtime.probes import ProbeServer
from fairlead.settings import (
    ClusterRegistrySource,
    ConfigMapSource,
    FileSource,
    Home,
    KubeconfigSource,
    Settings,
    Source,
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a capability may build its controller from."""

    settings: Settings
    registry: Registry
    engine: Engine


@dataclass(frozen=True, slots=True)
class Capability:
    """A controller that an agent can run. `by_default` decides when `controllers:` in the
    settings does not name it."""

    about: str
    build: Callable[[Parts], Controller]
    by_default: Callable[[Settings], bool]


def _reports(settings: Settings) -> bool:
    return any(isinstance(source, ClusterRegistrySource) for source in settings.sources)


def _reporting(parts: Parts) -> Controller:
    home = parts.settings.home.name
    if home is None:
        remedy = "add `home: {name: ...}` with the cluster's name in the registry"
        raise InvalidInput(parts.settings.place, "registry-status needs to know its home", remedy)
    return reporting_controller(
        parts.registry, parts.engine, parts.settings.registry.observer, home
    )


CAPABILITIES: Mapping[str, Capability] = {
    "registry-status": Capability(
        "reports the health of every cluster into the ClusterRegistry", _reporting, _reports
    ),
}


class Fleet:
    """The registry of some settings, with the client of the home cluster where sources need it.

    `async with Fleet(settings) as fleet` makes it; running it is the caller's choice.
    """

    def __init__(self, settings: Settings, *, metrics: Metrics | None = None) -> None:
        self._settings = settings
        self._metrics = metrics
        self._stack = AsyncExitStack()
        self._home: Client | None = None

    async def __aenter__(self) -> Fleet:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._stack.aclose()

    def registry(self, listeners: tuple[Engine, ...] = ()) -> Registry:
        providers = [self._provider(source) for source in self._settings.sources]
        return Registry(
            providers,
            settings=self._settings.registry,
            listeners=listeners,
            new_client=self._client,
        )

    def _client(self, entry: ClusterEntry) -> Client:
        return self._observed(entry.access, entry.name)

    def _observed(self, access: Access, name: str) -> Client:
        observe = self._metrics.observe_requests(name) if self._metrics else None
        return Client(access, name=name, user_agent=user_agent(), observe=observe)

    def _provider(self, source: Source) -> Provider:
        defaults = self._settings.registry.health_check
        match source:
            case FileSource(path):
                return FileProvider(path, defaults=defaults)
            case KubeconfigSource(path, contexts):
                paths = None if path is None else [path]
                return KubeconfigProvider(paths, contexts or None, defaults=defaults)
            case ConfigMapSource(namespace, name, secret):
                names = ConfigMapNames(namespace, name, secret)
                return ConfigMapProvider(self._home_client(), names, defaults=defaults)
            case ClusterRegistrySource(namespace):
                return CustomResourceProvider(
                    self._home_client(), secret_namespace=namespace, defaults=defaults
                )

    def _home_client(self) -> Client:
        if self._home is None:
            home = self._settings.home
            self._home = self._observed(home_access(home), home.name or "home")
            self._stack.push_async_callback(self._home.close)
        return self._home


async def look_once(
    settings: Settings, *, check: bool = True, accept: Collection[str] = ()
) -> tuple[RegistrySnapshot, dict[str, str]]:
    """The fleet as it is now, and the version of every cluster that tells it.

    One failed check counts: a command cannot wait for the hysteresis of an agent. The clusters
    in `accept` are taken for the right ones, whoever answered under their names before.
    """
    once = replace(settings.registry.health_check, failure_threshold=1, success_threshold=1)
    settings = replace(settings, registry=replace(settings.registry, health_check=once))
    async with Fleet(settings) as fleet:
        registry = fleet.registry()
        running = asyncio.create_task(registry.run())
        try:
            if not check:
                await registry.wait_loaded()
                return registry.snapshot(), {}
            snapshot = await registry.wait_checked()
            for name in accept:
                registry.accept_identity(name)
            if accept:
                # Each is checked once more; one that went away meanwhile is shown as it is.
                with suppress(TimeoutError):
                    async with asyncio.timeout(2 * once.timeout):
                        await registry.wait_for(
                            lambda now: all(now.clusters[name].engaged for name in accept)
                        )
                snapshot = registry.snapshot()
            reachable = [view.name for view in snapshot.clusters.values() if view.engaged]
            versions = await asyncio.gather(*(_version(registry.client(n)) for n in reachable))
            return snapshot, dict(zip(reachable, versions, strict=True))
        finally:
            running.cancel()
            await asyncio.wait([running])


async def _version(client: Client) -> str:
    try:
        return str((await client.version())["gitVersion"])
    except Unreachable:
        # The health check has said what there is to say; the column stays empty.
        return ""


def home_access(home: Home) -> Access:
    """How to reach the cluster the agent runs on."""
    if home.kubeconfig is None and home.context is None and runs_in_cluster():
        return in_cluster()
    paths = None if home.kubeconfig is None else [home.kubeconfig]
    return load_kubeconfig(paths).access(home.context)


def user_agent() -> str:
    return f"fairlead/{fairlead.__version__}"


class Agent:
    """One observer with its enabled controllers: registry, engine, probes and metrics."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.metrics = Metrics(fairlead.__version__)
        self._fleet = Fleet(settings, metrics=self.metrics)
        self.engine = Engine(settings=settings.runtime, metrics=self.metrics)
        self.registry = self._fleet.registry((self.engine,))
        self.metrics.registry.register(RegistryCollector(self.registry.snapshot))
        parts = Parts(settings, self.registry, self.engine)
        for name in enabled(settings):
            self.engine.add(CAPABILITIES[name].build(parts))
        clock = SystemClock()
        self._heartbeat = Heartbeat(
            clock, settings.runtime.heartbeat_limit, self.metrics.loop_lag.set
        )
        self._collector = Collector(clock)
        self.probes = ProbeServer(
            self.metrics, host=settings.runtime.probe_host, port=settings.runtime.probe_port
        )
        self.probes.add_live("event loop", self._heartbeat.check)
        self.probes.add_live("engine", self.engine.live)
        self.probes.add_ready("registry", self._registry_loaded)
        self.probes.add_ready("engine", self.engine.ready)
        self.probes.add_page("/fleet", partial(fleet_page, self.registry))

    async def run(self) -> None:
        """Until cancelled or `stop`; running reconciles may finish, leases are released."""
        async with self._fleet, self.probes, asyncio.TaskGroup() as group:
            log.info(
                "agent started",
                version=fairlead.__version__,
                observer=self.settings.registry.observer,
                config=self.settings.place,
                controllers=sorted(self.engine.controllers),
                port=self.probes.port,
            )
            background = [
                group.create_task(self._heartbeat.run(), name="heartbeat"),
                group.create_task(self._collector.run(), name="collector"),
                group.create_task(self.registry.run(), name="registry"),
            ]
            try:
                await self.engine.run()
            finally:
                for task in background:
                    task.cancel()
        log.info("agent stopped")

    def stop(self) -> None:
        """Asks `run` to come to its end in good order."""
        self.engine.stop()

    def _registry_loaded(self) -> str | None:
        return None if self.registry.loaded else "the clusters have not been read yet"


def enabled(settings: Settings) -> list[str]:
    """The names of the controllers to run; an unknown one is the user's mistake."""
    for name in settings.controllers:
        if name not in CAPABILITIES:
            known = ", ".join(sorted(CAPABILITIES))
            problem = f"there is no controller {name!r}"
            raise InvalidInput(f"{settings.place}: controllers", problem, f"known are: {known}")
    return [
        name
        for name, capability in CAPABILITIES.items()
        if settings.controllers.get(name, capability.by_default(settings))
    ]


def fleet_page(registry: Registry) -> dict[str, Any]:
    """The fleet as this observer sees it, for `/fleet` and the live view. No secrets."""
    snapshot = registry.snapshot()
    return {
        "generation": snapshot.generation,
        "clusters": [
            {
                "name": view.name,
                "region": view.entry.region,
                "endpoint": view.entry.endpoint,
                "labels": dict(view.entry.labels),
                "health": view.health.health.value,
                "reason": view.health.reason.value if view.health.reason else None,
                "lastError": view.health.last_error,
                "responseTime": view.health.response_time,
                "identity": view.identity,
                "engaged": view.engaged,
            }
            for view in snapshot.clusters.values()
        ],
        "problems": [msgspec.to_builtins(problem) for problem in snapshot.problems],
    }
