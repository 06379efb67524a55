"""The stage of the demo: three clusters in two regions, an agent for each, and a folder with the
kubeconfig and configuration for the person who watches. Owns their start and their end; nothing
is left behind, whatever happens."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from fairlead.api.crd import crd
from fairlead.api.kinds import kinds
from fairlead.app import Agent
from fairlead.demo.cluster import DemoCluster, ProcessCluster, SimulatedCluster, inline
from fairlead.kube.client import Client
from fairlead.kube.kubeconfig import parse_kubeconfig
from fairlead.kube.kubeconfig.writer import ContextEntry, merge_into, write_private
from fairlead.kube.resource import (
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    SECRETS,
    Object,
)
from fairlead.registry.entry import HealthCheck
from fairlead.registry.health import Health
from fairlead.registry.providers.custom_resource import CLUSTER_REGISTRIES
from fairlead.registry.settings import RegistrySettings
from fairlead.registry.snapshot import ClusterView
from fairlead.runtime.settings import RuntimeSettings
from fairlead.settings import ClusterRegistrySource, Home, Settings
from fairlead_sim.real.fleet import RealFleet

REGIONS: Mapping[str, str] = {"east": "europe", "west": "europe", "south": "asia"}
NAMESPACE = "fairlead-system"
REGISTRY = "fleet"
MANAGER = "fairlead-demo"
CHECKS = HealthCheck(interval=1.0, timeout=1.0, failure_threshold=2, success_threshold=2)


@dataclass(slots=True)
class Stage:
    """What chapters play on."""

    clusters: Mapping[str, DemoCluster]
    folder: Path
    clients: dict[str, Client] = field(default_factory=dict)
    agents: dict[str, Agent] = field(default_factory=dict)
    identities: dict[str, str] = field(default_factory=dict)

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    def view(self, observer: str, cluster: str) -> ClusterView | None:
        """A cluster as one of the agents sees it."""
        return self.agents[observer].registry.snapshot().clusters.get(cluster)

    def seen(self, cluster: str, health: Health, *, without: str | None = None) -> bool:
        """Whether every agent sees the cluster like this; the one on it may be left out."""
        observers = [name for name in self.agents if name != without]
        views = [self.view(observer, cluster) for observer in observers]
        return all(view is not None and view.health.health is health for view in views)

    async def install(self, cluster: str) -> None:
        """Bring the CRDs, the credentials of the fleet and its registry into a cluster."""
        client = self.clients[cluster]
        for kind in kinds():
            await client.apply(CUSTOM_RESOURCE_DEFINITIONS, crd(kind), manager=MANAGER)
        await client.apply(NAMESPACES, {"metadata": {"name": NAMESPACE}}, manager=MANAGER)
        for name in self.clusters:
            await self.publish_credential(name, into=cluster)
        await self._publish_registry(client)

    async def publish_credential(self, name: str, *, into: str) -> None:
        """Write the kubeconfig for `name` into its Secret in the cluster `into`."""
        text = yaml.safe_dump(self.clusters[name].agent_kubeconfig())
        secret: Object = {"metadata": {"name": f"{name}-kubeconfig"}, "data": inline(text)}
        await self.clients[into].apply(SECRETS, secret, NAMESPACE, manager=MANAGER, force=True)

    async def pin(self, cluster: str, identity: str) -> None:
        """Say in every cluster's registry which cluster is meant by a name."""
        self.identities[cluster] = identity
        for client in self.clients.values():
            await self._publish_registry(client)

    async def _publish_registry(self, client: Client) -> None:
        entries = [
            {"name": name, "region": REGIONS[name], "kubeconfigSecret": f"{name}-kubeconfig"}
            | ({"identity": self.identities[name]} if name in self.identities else {})
            for name in self.clusters
        ]
        registry: Object = {"metadata": {"name": REGISTRY}, "spec": {"clusters": entries}}
        await _when_served(client, registry)


async def _when_served(client: Client, registry: Object) -> None:
    """A new CRD is served a moment after it was accepted."""
    from fairlead.kube.errors import NotServed

    for _ in range(100):
        try:
            await client.apply(CLUSTER_REGISTRIES, registry, manager=MANAGER, force=True)
            return
        except NotServed:
            await asyncio.sleep(0.1)
    await client.apply(CLUSTER_REGISTRIES, registry, manager=MANAGER, force=True)


@asynccontextmanager
async def open_stage(*, real: bool) -> AsyncIterator[Stage]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fairlead-demo-")))
        clusters = await (_real if real else _simulated)(stack)
        stage = Stage(clusters, folder)
        for name, cluster in clusters.items():
            access = parse_kubeconfig(yaml.safe_dump(cluster.admin_kubeconfig()), name).access()
            client = Client(access, name=name)
            stage.clients[name] = await stack.enter_async_context(client)
            presented = await access.credentials.current()
            merge_into(stage.kubeconfig, [ContextEntry.of(name, access, presented)], name)
        _write_configuration(stage)
        await asyncio.gather(*(stage.install(name) for name in clusters))
        for name in clusters:
            agent = Agent(_agent_settings(stage, name))
            stage.agents[name] = agent
            running = asyncio.create_task(agent.run(), name=f"agent of {name}")
            stack.push_async_callback(_end, agent, running)
        yield stage


async def _simulated(stack: AsyncExitStack) -> dict[str, DemoCluster]:
    clusters: dict[str, DemoCluster] = {}
    for name in REGIONS:
        cluster = SimulatedCluster(name)
        await cluster.start()
        stack.push_async_callback(cluster.stop)
        clusters[name] = cluster
    return clusters


async def _real(stack: AsyncExitStack) -> dict[str, DemoCluster]:
    fleet = await stack.enter_async_context(RealFleet(list(REGIONS), controllers=False))
    return {name: ProcessCluster(cluster) for name, cluster in fleet.clusters.items()}


def _write_configuration(stage: Stage) -> None:
    """What the person who watches needs to use `fairlead` and `kubectl` on the fleet."""
    clusters = [
        {"name": name, "region": region, "kubeconfig": "kubeconfig", "context": name}
        for name, region in REGIONS.items()
    ]
    text = yaml.safe_dump({"clusters": clusters}, sort_keys=False)
    write_private(stage.folder / "clusters.yaml", text)


def _agent_settings(stage: Stage, name: str) -> Settings:
    return Settings(
        place="the demo",
        sources=(ClusterRegistrySource(NAMESPACE),),
        home=Home(stage.kubeconfig, name, name),
        registry=RegistrySettings(observer=name, health_check=CHECKS),
        runtime=RuntimeSettings(
            probe_host="127.0.0.1",
            probe_port=0,
            leader_election=True,
            lease_namespace=NAMESPACE,
            shutdown_grace=2.0,
        ),
    )


async def _end(agent: Agent, running: asyncio.Task[None]) -> None:
    agent.stop()
    done, _ = await asyncio.wait([running], timeout=10)
    if not done:
        running.cancel()
        await asyncio.wait([running])
