"""An agent with the rights of deploy/agent/rbac.yaml, and no others, does all of its work."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest
import yaml

from fairlead.api.cluster_registry import CLUSTER_REGISTRY
from fairlead.api.crd import crd
from fairlead.app import Agent
from fairlead.errors import Reason, Unreachable
from fairlead.kube import (
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    LEASES,
    NAMESPACES,
    SECRETS,
    Client,
    NotServed,
    Object,
)
from fairlead.kube.kubeconfig import ContextEntry, dump
from fairlead.registry.entry import HealthCheck
from fairlead.registry.providers.custom_resource import CLUSTER_REGISTRIES
from fairlead.registry.settings import RegistrySettings
from fairlead.runtime.settings import RuntimeSettings
from fairlead.settings import ClusterRegistrySource, Home, Settings
from tests.contract.targets import Target, eventually

MANIFEST = Path(__file__).parents[2] / "deploy/agent/rbac.yaml"
SYSTEM = "fairlead-system"


async def install(client: Client) -> None:
    """May be done again: the tests here share a real cluster."""
    await client.apply(CUSTOM_RESOURCE_DEFINITIONS, crd(CLUSTER_REGISTRY), force=True)
    await eventually(partial(served, client))
    for obj in yaml.safe_load_all(MANIFEST.read_text(encoding="utf-8")):
        resource = await client.discovery.find(obj["kind"], obj["apiVersion"])
        await client.apply(resource, obj, force=True)


async def served(client: Client) -> bool:
    try:
        await client.list(CLUSTER_REGISTRIES)
    except NotServed:
        return False
    return True


async def token(client: Client) -> str:
    path = f"/api/v1/namespaces/{SYSTEM}/serviceaccounts/fairlead-agent/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await client.request("POST", path, body=request)
    return str(answer.json()["status"]["token"])


async def kubeconfig_of(client: Client) -> str:
    access = client.access
    return dump([ContextEntry.of("home", access, await access.credentials.current())], "home")


def settings_of(kubeconfig: Path) -> Settings:
    return Settings(
        "test",
        (ClusterRegistrySource(SYSTEM),),
        home=Home(kubeconfig, "home", "home"),
        registry=RegistrySettings(observer="home", health_check=HealthCheck(interval=1.0)),
        runtime=RuntimeSettings(
            probe_host="127.0.0.1", probe_port=0, leader_election=True, lease_namespace=SYSTEM
        ),
    )


@pytest.mark.timeout(120)
async def test_an_agent_needs_no_more_than_its_manifest_grants(
    cluster: Target, client: Client, tmp_path: Path
) -> None:
    await install(client)
    async with cluster.client(await token(client)) as limited:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.touch(mode=0o600)
        kubeconfig.write_text(text := await kubeconfig_of(limited))
    secret: Object = {"metadata": {"name": "home-kubeconfig"}, "stringData": {"kubeconfig": text}}
    await client.apply(SECRETS, secret, SYSTEM)
    entry = {"name": "home", "kubeconfigSecret": "home-kubeconfig"}
    registry: Object = {"metadata": {"name": "fleet"}, "spec": {"clusters": [entry]}}
    await client.apply(CLUSTER_REGISTRIES, registry)
    agent = Agent(settings_of(kubeconfig))
    running = asyncio.create_task(agent.run())
    try:
        reported = await eventually(
            lambda: client.get(CLUSTER_REGISTRIES, "fleet"),
            lambda obj: obj.get("status", {}).get("summary") == "1 healthy",
        )
        assert reported["status"]["clusters"][0]["observer"] == "home"
        lease = await client.get(LEASES, "fairlead-agent", SYSTEM)
        assert lease["spec"]["holderIdentity"]
        events = await eventually(
            lambda: client.list(EVENTS, "default"),
            lambda found: any(event["reason"] == "ClusterHealthy" for event in found.items),
        )
        assert events.items
    finally:
        agent.stop()
        await asyncio.wait_for(running, 20)
        await client.delete(CLUSTER_REGISTRIES, "fleet")


async def test_an_agent_may_do_nothing_else(cluster: Target, client: Client) -> None:
    await install(client)
    async with cluster.client(await token(client)) as limited:
        await limited.get(NAMESPACES, "kube-system")
        for attempt in (
            limited.get(NAMESPACES, "default"),
            limited.list(SECRETS, "kube-system"),
            limited.list(SECRETS),
            limited.create(SECRETS, {"metadata": {"name": "x"}}, SYSTEM),
            limited.apply(CLUSTER_REGISTRIES, {"metadata": {"name": "x"}, "spec": {}}),
        ):
            with pytest.raises(Unreachable) as caught:
                await attempt
            assert caught.value.reason is Reason.FORBIDDEN
