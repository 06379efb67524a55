"""What the tests of this folder share: a registry that runs, and somebody who listens to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from fairlead.kube.client import Client
from fairlead.registry.entry import HealthCheck
from fairlead.registry.providers import Provider
from fairlead.registry.providers.file import FileProvider
from fairlead.registry.registry import Registry
from fairlead.registry.settings import RegistrySettings
from fairlead.registry.snapshot import RegistrySnapshot
from fairlead_sim import SimCluster

PATIENCE = 30.0
FAST = HealthCheck(interval=0.05, timeout=5.0, failure_threshold=3, success_threshold=2)


class Recorder:
    """A listener that remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.clients: dict[str, Client] = {}

    async def engage(self, name: str, client: Client) -> None:
        self.told.append(f"{name} {'exchanged' if name in self.clients else 'engaged'}")
        self.clients[name] = client

    async def disengage(self, name: str) -> None:
        self.told.append(f"{name} disengaged")
        self.clients.pop(name, None)


class Running:
    """A registry whose task runs."""

    def __init__(self, registry: Registry, listener: Recorder) -> None:
        self.registry = registry
        self.listener = listener
        self.seen: list[RegistrySnapshot] = []

    async def until(self, condition: Callable[[RegistrySnapshot], bool]) -> RegistrySnapshot:
        """The first snapshot for which this holds; says what is there if it never does."""
        try:
            async with asyncio.timeout(PATIENCE):
                return await self.registry.wait_for(condition)
        except TimeoutError as error:
            raise AssertionError(f"never happened; now: {self.registry.snapshot()}") from error

    async def until_health(self, name: str, health: str) -> RegistrySnapshot:
        return await self.until(
            lambda s: name in s.clusters and s.clusters[name].health.health == health
        )

    async def until_problem(self, words: str) -> str:
        found = await self.until(lambda s: any(words in str(p) for p in s.problems))
        return next(str(p) for p in found.problems if words in str(p))

    async def until_no_problem(self) -> RegistrySnapshot:
        return await self.until(lambda s: not s.problems)


@asynccontextmanager
async def running(
    providers: Path | Sequence[Provider], settings: RegistrySettings | None = None
) -> AsyncIterator[Running]:
    """A registry over these providers, or over a folder, checking fast."""
    if isinstance(providers, Path):
        providers = [FileProvider(providers, defaults=FAST, poll_seconds=0.02)]
    listener = Recorder()
    seen: list[RegistrySnapshot] = []
    registry = Registry(providers, settings=settings, listeners=[listener], observe=seen.append)
    run = Running(registry, listener)
    run.seen = seen
    task = asyncio.create_task(registry.run())
    try:
        async with asyncio.timeout(PATIENCE):
            await registry.wait_loaded()
        yield run
    finally:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error


def write(folder: Path, *clusters: SimCluster, **fields: Any) -> None:
    """One registry file per cluster, with inline credentials; `fields` go into every entry."""
    for cluster in clusters:
        entry = {
            "name": cluster.name,
            "endpoint": cluster.url,
            "certificateData": cluster.ca_pem.decode(),
            "token": cluster.admin_token,
        } | fields
        entry = {key: value for key, value in entry.items() if value is not None}
        temporary = folder / f".{cluster.name}.tmp"
        temporary.write_text(yaml.safe_dump({"clusters": [entry]}))
        temporary.replace(folder / f"{cluster.name}.yaml")
