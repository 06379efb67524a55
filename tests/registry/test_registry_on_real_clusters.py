"""The registry against real kube-apiservers: what they say, and not what we think they say."""

from __future__ import annotations

import asyncio
import base64
import uuid
from pathlib import Path

import pytest

from fairlead.api.cluster_registry import CLUSTER_REGISTRY
from fairlead.api.crd import crd
from fairlead.errors import Reason
from fairlead.kube.client import Client
from fairlead.kube.errors import NotServed
from fairlead.kube.kubeconfig import parse_kubeconfig
from fairlead.kube.resource import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, SECRETS
from fairlead.registry.providers.custom_resource import (
    CLUSTER_REGISTRIES,
    CustomResourceProvider,
)
from fairlead.registry.providers.kubeconfig import KubeconfigProvider
from fairlead_sim.real import RealCluster, RealEtcd
from tests.registry.fleet import FAST, PATIENCE, running

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]


def client_of(cluster: RealCluster) -> Client:
    return Client(parse_kubeconfig(cluster.kubeconfig_text(), "test").access(), name=cluster.name)


@pytest.mark.parametrize("certificate", [False, True])
async def test_a_real_cluster_is_verified_by_token_and_by_certificate(
    real_cluster: RealCluster, tmp_path: Path, certificate: bool
) -> None:
    path = real_cluster.write_kubeconfig(tmp_path / "config", certificate=certificate)

    async with running([KubeconfigProvider([path], defaults=FAST)]) as run:
        snapshot = await run.until_health(real_cluster.name, "healthy")

        view = snapshot.clusters[real_cluster.name]
        assert view.engaged
        assert view.identity is not None
        assert (view.credentials_expire_at is not None) == certificate


async def test_a_user_without_rights_is_told_what_is_missing(
    real_cluster: RealCluster, tmp_path: Path
) -> None:
    path = real_cluster.write_kubeconfig(tmp_path / "config", "nobody")

    async with running([KubeconfigProvider([path], defaults=FAST)]) as run:
        snapshot = await run.until_health(real_cluster.name, "degraded")
        await run.until_problem("allow the credential to get the namespace kube-system")

        assert snapshot.clusters[real_cluster.name].health.reason is Reason.FORBIDDEN
        assert run.listener.told == []


async def test_a_real_cluster_that_crashes_and_comes_back_rebuilt_is_noticed(
    real_cluster: RealCluster, real_etcd: RealEtcd, tmp_path: Path
) -> None:
    name = f"rebuilt-{uuid.uuid4().hex[:8]}"
    cluster = RealCluster(name, real_etcd, tmp_path / "cluster", controllers=False)
    paths = [tmp_path / "one", tmp_path / "two"]
    real_cluster.write_kubeconfig(paths[0])
    cluster.write_kubeconfig(paths[1])
    try:
        await cluster.start()
        # One provider each: merged as kubectl does, both users would be the first one's `admin`.
        providers = [KubeconfigProvider([path], defaults=FAST) for path in paths]
        async with running(providers) as run:
            await run.until_health(real_cluster.name, "healthy")
            before = (await run.until_health(name, "healthy")).clusters[name].identity
            await cluster.crash()
            await run.until_health(name, "unhealthy")
            await cluster.start()
            await run.until_health(name, "healthy")

            await cluster.rebuild()
            problem = await run.until_problem("was rebuilt")
            assert f"from {before}" in problem
            assert f"{name} disengaged" in run.listener.told

            run.registry.accept_identity(name)
            await run.until_health(name, "healthy")
    finally:
        await cluster.stop()


async def test_a_cluster_registry_on_a_real_apiserver_is_followed(
    real_cluster: RealCluster,
) -> None:
    name = f"fleet-{uuid.uuid4().hex[:8]}"
    kubeconfig = base64.b64encode(real_cluster.kubeconfig_text().encode()).decode()
    async with client_of(real_cluster) as home:
        await home.apply(CUSTOM_RESOURCE_DEFINITIONS, crd(CLUSTER_REGISTRY), force=True)
        await home.apply(NAMESPACES, {"metadata": {"name": "ramen-system"}}, force=True)
        secret = {"metadata": {"name": name, "namespace": "ramen-system"}}
        await home.apply(SECRETS, secret | {"data": {"kubeconfig": kubeconfig}})
        info = {"name": name, "kubeconfigSecret": name, "endpoint": real_cluster.url}
        registry = {"metadata": {"name": name}, "spec": {"clusters": [info]}}
        await apply_once_served(home, registry)

        async with running([CustomResourceProvider(home, defaults=FAST)]) as run:
            await run.until_health(name, "healthy")
            await home.delete(CLUSTER_REGISTRIES, name)
            await run.until(lambda snapshot: name not in snapshot.clusters)


async def apply_once_served(home: Client, registry: dict[str, object]) -> None:
    """A kind is served a moment after its definition was accepted."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await home.apply(CLUSTER_REGISTRIES, registry)
                return
            except NotServed:
                await asyncio.sleep(0.1)
