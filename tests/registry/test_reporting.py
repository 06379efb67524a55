"""What an agent reports into the ClusterRegistry of its home: the plan as tables, the whole on a
simulated cluster."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from fairlead.api.cluster_registry import CLUSTER_REGISTRY, ClusterRegistryStatus
from fairlead.api.crd import crd
from fairlead.api.meta import decode, encode
from fairlead.app import Agent
from fairlead.errors import Reason, Terminal
from fairlead.kube import EVENTS, Client, Object, parse_kubeconfig
from fairlead.kube.access import Access, TlsSettings
from fairlead.kube.credentials import StaticCredentials
from fairlead.registry.entry import ClusterEntry, HealthCheck
from fairlead.registry.health import Health, HealthState
from fairlead.registry.problem import Problem
from fairlead.registry.providers.custom_resource import CLUSTER_REGISTRIES
from fairlead.registry.reporting.observe import observe
from fairlead.registry.reporting.plan import Plan, plan
from fairlead.registry.settings import RegistrySettings
from fairlead.registry.snapshot import ClusterView, RegistrySnapshot
from fairlead.runtime.settings import RuntimeSettings
from fairlead.settings import ClusterRegistrySource, Home, Settings
from fairlead_sim.cluster import SimCluster

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def view(name: str, health: Health, error: str | None = None) -> ClusterView:
    access = Access(
        server="https://x", tls=TlsSettings(), credentials=StaticCredentials(), description="x"
    )
    state = HealthState("here", health, response_time=0.25, last_error=error)
    if error:
        state = replace(state, reason=Reason.CONNECT)
    entry = ClusterEntry(name=name, access=access, credential="c", source="s")
    return ClusterView(entry, state, identity=f"uid-{name}")


def registry(*names: str, status: Object | None = None) -> Object:
    clusters = [{"name": name, "kubeconfigSecret": f"{name}-kubeconfig"} for name in names]
    obj: Object = {"metadata": {"name": "fleet"}, "spec": {"clusters": clusters}}
    return obj | ({"status": status} if status else {})


def planned(obj: Object, *views: ClusterView, problems: tuple[Problem, ...] = ()) -> Plan:
    snapshot = RegistrySnapshot(1, {seen.name: seen for seen in views}, problems)
    return plan(observe(obj, snapshot, "here"), NOW)


def conditions(status: ClusterRegistryStatus | None) -> dict[str, str]:
    assert status is not None
    return {str(c.type): str(c.status) for c in status.conditions or ()}


@pytest.mark.parametrize(
    "healths,summary,ready",
    [
        ({}, "no clusters", "True"),
        ({"a": Health.HEALTHY, "b": Health.HEALTHY}, "2 healthy", "True"),
        ({"a": Health.HEALTHY, "b": Health.UNHEALTHY}, "1 unhealthy, 1 healthy", "False"),
        ({"a": Health.UNKNOWN, "b": Health.HEALTHY}, "1 unknown, 1 healthy", "Unknown"),
        ({"a": Health.UNKNOWN, "b": Health.DEGRADED}, "1 degraded, 1 unknown", "False"),
    ],
)
def test_the_summary_and_ready_follow_the_worst(
    healths: dict[str, Health], summary: str, ready: str
) -> None:
    result = planned(registry(*healths), *(view(n, h) for n, h in healths.items()))
    assert result.reason == summary
    assert conditions(result.status)["Ready"] == ready


def test_a_listed_cluster_that_the_registry_does_not_know_is_unknown_not_absent() -> None:
    result = planned(registry("a", "b"), view("a", Health.HEALTHY))
    assert result.status is not None
    entries = {entry.name: entry.health for entry in result.status.clusters or ()}
    assert entries == {"a": "healthy", "b": "unknown"}
    assert conditions(result.status)["Ready"] == "Unknown"


def test_a_problem_makes_the_resource_invalid_with_its_sentence() -> None:
    problem = Problem("ClusterRegistry fleet", "Secret missing", "create it", "a")
    result = planned(registry("a"), view("a", Health.HEALTHY), problems=(problem,))
    assert result.status is not None
    valid = next(c for c in result.status.conditions or () if c.type == "Valid")
    assert (valid.status, valid.message) == (
        "False",
        "ClusterRegistry fleet: Secret missing; create it",
    )


def test_what_stands_there_already_is_not_written_again() -> None:
    first = planned(registry("a"), view("a", Health.HEALTHY))
    assert first.status is not None
    standing = registry("a", status=encode(first.status))
    slower = view("a", Health.HEALTHY)
    slower = replace(slower, health=replace(slower.health, response_time=0.5))
    assert planned(standing, slower).status is None
    worse = planned(standing, view("a", Health.UNHEALTHY, "gone"))
    assert worse.status is not None
    (change,) = worse.changes
    assert (change.before, change.after, change.message) == ("healthy", "unhealthy", "gone")


def test_other_observers_entries_are_left_alone() -> None:
    other = {"name": "a", "observer": "there", "health": "unhealthy"}
    status = planned(registry("a", status={"clusters": [other]}), view("a", Health.HEALTHY)).status
    assert status is not None
    assert {entry.observer for entry in status.clusters or ()} == {"here"}


def test_an_object_of_another_shape_is_terminal() -> None:
    broken = {"metadata": {"name": "fleet"}, "spec": {"clusters": "all"}}
    with pytest.raises(Terminal, match=r"ClusterRegistry fleet: spec\.clusters"):
        observe(broken, RegistrySnapshot(), "here")


@pytest.mark.timeout(60)
async def test_an_agent_reports_health_and_its_changes_into_its_home(tmp_path: Path) -> None:
    async with SimCluster("home") as home, SimCluster("away") as away:
        home.load([crd(CLUSTER_REGISTRY)])
        kubeconfig = home.write_kubeconfig(tmp_path / "home")
        access = parse_kubeconfig(yaml.safe_dump(home.kubeconfig()), "home").access()
        async with Client(access, name="home") as client:
            await _install(home, away, client)
            agent = Agent(
                Settings(
                    "test",
                    (ClusterRegistrySource("ramen-system"),),
                    home=Home(kubeconfig, "home", "home"),
                    registry=RegistrySettings(
                        observer="home",
                        health_check=HealthCheck(interval=0.1, timeout=2.0, failure_threshold=2),
                    ),
                    runtime=RuntimeSettings(probe_host="127.0.0.1", probe_port=0),
                )
            )
            running = asyncio.create_task(agent.run())
            try:
                assert "2 healthy" in await _summary(client, "2 healthy")
                await away.faults.partition()
                assert await _summary(client, "1 unhealthy, 1 healthy")
                assert "ClusterUnhealthy" in await _event(client, "ClusterUnhealthy")
                await away.faults.heal()
                assert await _summary(client, "2 healthy")
            finally:
                agent.stop()
                await asyncio.wait_for(running, 10)


async def _install(home: SimCluster, away: SimCluster, client: Client) -> None:
    home.load([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ramen-system"}}])
    for cluster in (home, away):
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": f"{cluster.name}-kubeconfig", "namespace": "ramen-system"},
            "stringData": {"kubeconfig": yaml.safe_dump(cluster.kubeconfig())},
        }
        home.load([secret])
    await client.apply(CLUSTER_REGISTRIES, registry("home", "away"))


async def _summary(client: Client, wanted: str) -> str:
    async with asyncio.timeout(20):
        while True:
            obj = await client.get(CLUSTER_REGISTRIES, "fleet")
            status = decode(obj.get("status", {}), ClusterRegistryStatus)
            if status.summary == wanted:
                return wanted
            await asyncio.sleep(0.05)


async def _event(client: Client, reason: str) -> set[str]:
    async with asyncio.timeout(20):
        while True:
            reasons = {event["reason"] for event in (await client.list(EVENTS)).items}
            if reason in reasons:
                return reasons
            await asyncio.sleep(0.05)
