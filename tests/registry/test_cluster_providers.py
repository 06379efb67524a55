"""Entries that stand in a cluster: ConfigMap with Secret, and ClusterRegistries with Secrets."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest
import yaml

from fairlead.api.cluster_registry import CLUSTER_REGISTRY
from fairlead.api.crd import crd
from fairlead.kube.access import Access
from fairlead.kube.client import Client
from fairlead.kube.kubeconfig import parse_kubeconfig
from fairlead.kube.patches import MergePatch
from fairlead.kube.resource import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, SECRETS
from fairlead.registry.problem import Severity
from fairlead.registry.providers.configmap import ConfigMapProvider, SecretCredentials
from fairlead.registry.providers.custom_resource import (
    CLUSTER_REGISTRIES,
    CustomResourceProvider,
)
from fairlead.registry.providers.follower import Seen
from fairlead_sim import SimCluster
from tests.registry.fleet import FAST, PATIENCE, running
from tests.registry.pki import authority, client_pair

Sims = tuple[SimCluster, SimCluster]


@pytest.fixture
async def sims() -> AsyncIterator[Sims]:
    async with SimCluster("east") as east, SimCluster("west") as west:
        yield east, west


@pytest.fixture
async def home() -> AsyncIterator[Client]:
    """The cluster in which the configuration stands."""
    async with SimCluster("home") as sim, Client(access(sim), name="home") as client:
        for name in ("mca-system", "ramen-system"):
            await client.create(NAMESPACES, {"metadata": {"name": name}})
        yield client


def access(sim: SimCluster) -> Access:
    return parse_kubeconfig(yaml.safe_dump(sim.kubeconfig()), "sim").access()


def entry(sim: SimCluster, **fields: Any) -> dict[str, Any]:
    return {"name": sim.name, "endpoint": sim.url} | fields


async def put_config(home: Client, *entries: dict[str, Any], text: str | None = None) -> None:
    await put(
        home,
        "ConfigMap",
        {
            "metadata": {"name": "mca-config", "namespace": "mca-system"},
            "data": {
                "clusters.yaml": yaml.safe_dump({"clusters": list(entries)})
                if text is None
                else text,
                "routing.yaml": "rules: []",
            },
        },
    )


async def put_secret(home: Client, name: str, namespace: str, **values: str | bytes | None) -> None:
    data = {
        key.replace("_", "-"): base64.b64encode(
            value if isinstance(value, bytes) else value.encode()
        ).decode()
        for key, value in values.items()
        if value is not None
    }
    await put(home, "Secret", {"metadata": {"name": name, "namespace": namespace}, "data": data})


async def put(home: Client, kind: str, obj: dict[str, Any]) -> None:
    resource = CONFIG_MAPS if kind == "ConfigMap" else SECRETS
    await home.apply(resource, obj, force=True)


async def credentials(home: Client, **values: str | bytes | None) -> None:
    await put_secret(home, "mca-cluster-credentials", "mca-system", **values)


def keys(sim: SimCluster) -> dict[str, str | bytes]:
    return {f"{sim.name}_token": sim.admin_token, f"{sim.name}_ca": sim.ca_pem}


async def test_a_configmap_and_its_secret_are_followed_while_they_change(
    home: Client, sims: Sims
) -> None:
    east, west = sims
    await put_config(home, entry(east, weight=3))
    await credentials(home, **keys(east))

    async with running([ConfigMapProvider(home, defaults=FAST)]) as run:
        snapshot = await run.until_health("east", "healthy")
        assert snapshot.problems == ()
        assert snapshot.clusters["east"].entry.weight == 3
        place = snapshot.clusters["east"].entry.source
        assert place == "ConfigMap mca-system/mca-config, clusters.yaml:2: clusters[0]"

        await put_config(home, entry(east), entry(west))
        problem = await run.until_problem("has no credential")
        assert "clusters[1]" in problem
        assert run.registry.snapshot().clusters["east"].engaged

        await credentials(home, **keys(east), **keys(west))
        await run.until_health("west", "healthy")
        await run.until_no_problem()

        token = west.add_token("next", ["system:masters"])
        before = run.listener.clients["west"]
        await credentials(home, **keys(east), **(keys(west) | {"west_token": token}))
        await run.until(lambda _: run.listener.clients["west"] is not before)

        await put_config(home, entry(west))
        await run.until(lambda s: set(s.clusters) == {"west"})


async def test_what_is_missing_in_the_cluster_is_named_and_changes_nothing(
    home: Client, sims: Sims
) -> None:
    east, _ = sims
    async with running([ConfigMapProvider(home, defaults=FAST)]) as run:
        await run.until_problem("ConfigMap mca-system/mca-config: does not exist; create it")

        await put_config(home, entry(east))
        problem = await run.until_problem("has no credential")
        assert "Secret mca-system/mca-cluster-credentials does not exist" in problem

        await credentials(home, **keys(east), typo_token="x")
        await run.until_health("east", "healthy")
        assert "'typo-token' belongs to no cluster" in await run.until_problem("typo")

        await home.delete(CONFIG_MAPS, "mca-config", "mca-system")
        await run.until_problem("does not exist")
        assert run.registry.snapshot().clusters["east"].engaged

        await put_config(home, text="clusters: [")
        await run.until_problem("not valid YAML")
        assert run.registry.snapshot().clusters["east"].engaged


async def test_a_configmap_may_not_name_files_and_should_not_hold_secrets(
    home: Client, sims: Sims
) -> None:
    east, west = sims
    await put_config(
        home,
        entry(east, token=east.admin_token, certificateAuthorityData=east.ca_pem.decode()),
        entry(west, tokenFile="/etc/passwd"),
        {"name": "third", "kubeconfig": "/etc/passwd"},
    )
    await credentials(home)

    async with running([ConfigMapProvider(home, defaults=FAST)]) as run:
        await run.until_health("east", "healthy")
        found = {p.cluster: p for p in run.registry.snapshot().problems}

        assert "tokenFile: names a file, which a ConfigMap may not do" in str(found["west"])
        assert "kubeconfig: names a file" in str(found["third"])
        assert found["east"].severity is Severity.WARNING
        assert "move it into Secret" in str(found["east"])
        assert set(run.registry.snapshot().clusters) == {"east"}


async def test_a_kubeconfig_in_the_secret_works_but_may_not_run_programs(
    home: Client, sims: Sims
) -> None:
    east, west = sims
    evil = west.kubeconfig()
    evil["users"][0]["user"] = {
        "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/true"}
    }
    await put_config(home, {"name": "east"}, {"name": "west"})
    await credentials(
        home,
        east_kubeconfig=yaml.safe_dump(east.kubeconfig()),
        west_kubeconfig=yaml.safe_dump(evil),
    )

    async with running([ConfigMapProvider(home, defaults=FAST)]) as run:
        await run.until_health("east", "healthy")
        assert "runs a program" in await run.until_problem("west-kubeconfig")


@pytest.mark.parametrize("with_key", [True, False])
def test_a_cert_of_the_secret_is_the_clients_with_a_key_and_the_authority_without(
    with_key: bool,
) -> None:
    certificate, key = client_pair()
    data = {
        "a-cert": certificate + key if with_key else authority(),
        "a-token": "t",
    }
    encoded = {name: base64.b64encode(text.encode()).decode() for name, text in data.items()}
    material = SecretCredentials("Secret s", Seen(({"data": encoded},), True, None))._material("a")

    assert material.get("ca") == (None if with_key else authority().encode())
    assert material.get("certificate") == (certificate.encode() if with_key else None)
    assert (material["key"] is not None) == with_key


# ---- ClusterRegistries


async def install(home: Client) -> None:
    await home.create(CUSTOM_RESOURCE_DEFINITIONS, crd(CLUSTER_REGISTRY))


async def put_registry(home: Client, name: str, *clusters: dict[str, Any]) -> None:
    obj = {"metadata": {"name": name}, "spec": {"clusters": list(clusters)}}
    async with asyncio.timeout(PATIENCE):
        await home.apply(CLUSTER_REGISTRIES, obj, force=True)


async def put_kubeconfig(home: Client, sim: SimCluster, token: str | None = None) -> None:
    text = yaml.safe_dump(sim.kubeconfig(token))
    await put_secret(home, f"{sim.name}-kubeconfig", "ramen-system", kubeconfig=text)


def listed(sim: SimCluster, **fields: Any) -> dict[str, Any]:
    return {"name": sim.name, "kubeconfigSecret": f"{sim.name}-kubeconfig"} | fields


async def test_cluster_registries_and_their_secrets_are_followed_while_they_change(
    home: Client, sims: Sims
) -> None:
    east, west = sims
    await install(home)
    await put_kubeconfig(home, east)
    await put_registry(home, "dr-clusters", listed(east, region="us-east-1", endpoint=east.url))

    async with running([CustomResourceProvider(home, defaults=FAST)]) as run:
        snapshot = await run.until_health("east", "healthy")
        found = snapshot.clusters["east"].entry
        assert (found.region, found.weight) == ("us-east-1", 100)
        assert found.source == "ClusterRegistry dr-clusters: spec.clusters[0]"
        assert snapshot.problems == ()

        await put_registry(home, "more", listed(west))
        problem = await run.until_problem("Secret ramen-system/west-kubeconfig: does not exist")
        assert problem.startswith("ClusterRegistry more: spec.clusters[0]")
        await put_kubeconfig(home, west)
        await run.until_health("west", "healthy")
        await run.until_no_problem()

        before = run.listener.clients["west"]
        await put_kubeconfig(home, west, west.add_token("next", ["system:masters"]))
        await run.until(lambda _: run.listener.clients["west"] is not before)

        await home.delete(SECRETS, "west-kubeconfig", "ramen-system")
        await run.until_problem("does not exist")
        assert run.registry.snapshot().clusters["west"].engaged

        await home.delete(CLUSTER_REGISTRIES, "more")
        await run.until(lambda s: set(s.clusters) == {"east"})


async def test_without_the_crd_the_remedy_is_named_and_then_it_works(
    home: Client, sims: Sims
) -> None:
    east, _ = sims
    async with running([CustomResourceProvider(home, defaults=FAST)]) as run:
        await run.until_problem("fairlead crds | kubectl apply")
        await install(home)
        await put_kubeconfig(home, east)
        await put_registry(home, "r", listed(east))
        await run.until_health("east", "healthy")
        await run.until_no_problem()


async def test_a_registry_may_not_send_the_credential_to_a_stranger(
    home: Client, sims: Sims
) -> None:
    east, west = sims
    await install(home)
    await put_registry(home, "r", listed(east, endpoint=west.url))
    kubeconfig = east.kubeconfig()
    del kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"]
    await put_secret(home, "east-kubeconfig", "ramen-system", kubeconfig=yaml.safe_dump(kubeconfig))

    async with running([CustomResourceProvider(home, defaults=FAST)]) as run:
        await run.until_problem("no certificate authority of its own")
        assert run.registry.snapshot().clusters == {}


async def test_fields_of_a_registry_reach_the_entry(home: Client, sims: Sims) -> None:
    east, _ = sims
    await install(home)
    await put_kubeconfig(home, east)
    check = {
        "slow": "3s",
        "interval": "2m",
        "timeout": "20s",
        "failureThreshold": 9,
        "successThreshold": 4,
    }
    fields: dict[str, Any] = {
        "status": "Unavailable",
        "identity": "x",
        "labels": {"a": "b"},
        "weight": 0,
        "namespace": "n",
        "healthCheck": check,
    }
    await put_registry(home, "r", listed(east, **fields))

    async with running([CustomResourceProvider(home)]) as run:
        found = (await run.until(lambda s: "east" in s.clusters)).clusters["east"].entry

    assert not found.available
    assert (found.identity, dict(found.labels), found.weight) == ("x", {"a": "b"}, 0)
    assert (found.health_check.interval, found.health_check.timeout) == (120.0, 20.0)
    assert found.health_check.slow == 3.0
    assert found.health_check.failure_threshold == 9
    assert found.health_check.success_threshold == 4


async def test_a_timeout_that_only_the_defaults_make_too_long_is_named(
    home: Client, sims: Sims
) -> None:
    east, _ = sims
    await install(home)
    await put_kubeconfig(home, east)
    await put_registry(home, "r", listed(east, healthCheck={"timeout": "2m"}))

    async with running([CustomResourceProvider(home)]) as run:
        problem = await run.until_problem("timeout (120s) is longer than interval (30s)")
        assert "spec.clusters[0].healthCheck" in problem


async def test_an_entry_that_the_schema_should_have_refused_hurts_only_itself(
    home: Client, sims: Sims
) -> None:
    """An older CRD may still be installed, and it lets more through."""
    east, _ = sims
    definition = crd(CLUSTER_REGISTRY)
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"] = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }
    await home.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
    await put_kubeconfig(home, east)
    bad = {"name": "west", "kubeconfigSecret": 7}
    await put_registry(home, "r", listed(east), bad)

    async with running([CustomResourceProvider(home, defaults=FAST)]) as run:
        await run.until_health("east", "healthy")
        problem = await run.until_problem("spec.clusters[1].kubeconfigSecret")
        assert "got `int`" in problem

        spec = MergePatch({"spec": {"clusters": "none"}})
        await home.patch(CLUSTER_REGISTRIES, "r", spec)
        await run.until_problem("is not a list")
        assert run.registry.snapshot().clusters["east"].engaged
