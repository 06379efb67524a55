"""The engine with its real client over TLS against simulated API servers."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import yaml

from fairlead.kube.caller import Observe
from fairlead.kube.client import Client
from fairlead.kube.kubeconfig import parse_kubeconfig
from fairlead.kube.resource import CONFIG_MAPS, EVENTS, LEASES, NAMESPACES, Object
from fairlead.runtime.controller import Controller, Watch
from fairlead.runtime.engine import Engine
from fairlead.runtime.metrics import Metrics
from fairlead.runtime.outcome import Result
from fairlead.runtime.request import Request
from fairlead.runtime.settings import RuntimeSettings
from fairlead_sim import SimCluster

SELECTOR = "app=cart"
QUICK_LEASE = {"lease_duration": 4.0, "renew_deadline": 2.5, "retry_period": 0.3}


@pytest.fixture
async def east() -> AsyncIterator[SimCluster]:
    async with SimCluster("east") as cluster:
        yield cluster


@pytest.fixture
async def west() -> AsyncIterator[SimCluster]:
    async with SimCluster("west") as cluster:
        yield cluster


def connect(
    cluster: SimCluster, token: str | None = None, observe: Observe | None = None
) -> Client:
    text = yaml.safe_dump(cluster.kubeconfig(token))
    access = parse_kubeconfig(text, "simulated").access()
    return Client(access, name=cluster.name, observe=observe)


def config_map(name: str, **data: str) -> Object:
    metadata = {"name": name, "namespace": "default", "labels": {"app": "cart"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


class Mirror:
    """Keeps what it reads from the cache at each reconcile, so tests can wait for the world to be
    seen as it is."""

    def __init__(self) -> None:
        self.engine: Engine | None = None
        self.seen: dict[tuple[str, str], dict[str, str] | None] = {}
        self.asked: list[Request] = []
        self._changed = asyncio.Condition()

    async def reconcile(self, request: Request) -> Result | None:
        assert self.engine is not None
        cache = self.engine.cache(request.cluster, CONFIG_MAPS, labels=SELECTOR)
        assert cache.synced
        found = cache.find(request.name, request.namespace)
        self.asked.append(request)
        self.seen[(request.cluster, request.name)] = (
            None if found is None else found.get("data", {})
        )
        async with self._changed:
            self._changed.notify_all()
        return None

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(30), self._changed:
            await self._changed.wait_for(condition)


@asynccontextmanager
async def mirrored(
    settings: RuntimeSettings | None = None,
) -> AsyncIterator[tuple[Engine, Mirror]]:
    mirror = Mirror()
    maps = Controller("mirror", mirror, watches=[Watch(CONFIG_MAPS, labels=SELECTOR)])
    engine = Engine([maps], settings=settings)
    mirror.engine = engine
    run = asyncio.create_task(engine.run())
    try:
        yield engine, mirror
    finally:
        engine.stop()
        await run


async def eventually(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """For facts nobody announces."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_a_reconcile_sees_every_change_in_each_of_two_clusters(
    east: SimCluster, west: SimCluster
) -> None:
    async with mirrored() as (engine, mirror), connect(east) as one, connect(west) as two:
        await one.create(CONFIG_MAPS, config_map("a", x="1"))
        await engine.engage("east", one)
        await engine.engage("west", two)
        await mirror.until(lambda: mirror.seen.get(("east", "a")) == {"x": "1"})
        await two.create(CONFIG_MAPS, config_map("b", y="1"))
        await mirror.until(lambda: mirror.seen.get(("west", "b")) == {"y": "1"})
        await one.apply(CONFIG_MAPS, config_map("a", x="2"), force=True)
        await mirror.until(lambda: mirror.seen[("east", "a")] == {"x": "2"})
        await one.delete(CONFIG_MAPS, "a", "default")
        await mirror.until(lambda: mirror.seen[("east", "a")] is None)
        assert {(request.cluster, request.name) for request in mirror.asked} == {
            ("east", "a"),
            ("west", "b"),
        }


async def test_what_the_selector_leaves_out_is_neither_cached_nor_reconciled(
    east: SimCluster,
) -> None:
    async with mirrored() as (engine, mirror), connect(east) as client:
        other = config_map("other", x="1")
        other["metadata"]["labels"] = {"app": "else"}
        await client.create(CONFIG_MAPS, other)
        await engine.engage("east", client)
        await client.create(CONFIG_MAPS, config_map("mine", x="1"))
        await mirror.until(lambda: ("east", "mine") in mirror.seen)
        assert ("east", "other") not in mirror.seen
        other = copy.deepcopy(other)
        other["metadata"]["labels"] = {"app": "cart"}
        await client.apply(CONFIG_MAPS, other, force=True)
        await mirror.until(lambda: mirror.seen.get(("east", "other")) == {"x": "1"})


async def test_a_disengaged_cluster_is_asked_nothing_more(
    east: SimCluster, west: SimCluster
) -> None:
    async with mirrored() as (engine, mirror), connect(east) as one, connect(west) as two:
        await engine.engage("east", one)
        await engine.engage("west", two)
        await one.create(CONFIG_MAPS, config_map("a"))
        await mirror.until(lambda: ("east", "a") in mirror.seen)
        await engine.disengage("east")
        await eventually(lambda: east.faults.cut_watches() == 0)
        await one.create(CONFIG_MAPS, config_map("late"))
        await two.create(CONFIG_MAPS, config_map("b"))
        await mirror.until(lambda: ("west", "b") in mirror.seen)
        assert ("east", "late") not in mirror.seen
        await engine.engage("east", one)
        await mirror.until(lambda: ("east", "late") in mirror.seen)


async def test_every_request_of_the_engine_is_counted_by_cluster_and_code(
    east: SimCluster,
) -> None:
    metrics = Metrics()
    observe = metrics.observe_requests("east")
    async with mirrored() as (engine, mirror), connect(east, observe=observe) as client:
        await engine.engage("east", client)
        await client.create(CONFIG_MAPS, config_map("a"))
        await mirror.until(lambda: ("east", "a") in mirror.seen)
        counted = metrics.registry.get_sample_value(
            "fairlead_api_requests_total", {"cluster": "east", "method": "GET", "code": "200"}
        )
        assert counted == 2  # one list, one watch


@pytest.mark.parametrize("trouble", ["cut", "expired", "compacted", "restarted"])
async def test_no_change_is_lost_when_a_watch_breaks(east: SimCluster, trouble: str) -> None:
    async with mirrored() as (engine, mirror), connect(east) as client:
        for name in ("goes", "stays"):
            await client.create(CONFIG_MAPS, config_map(name, x="1"))
        await engine.engage("east", client)
        await mirror.until(lambda: len(mirror.seen) == 2)
        if trouble == "restarted":
            await east.restart()
        elif trouble == "compacted":
            east.faults.compact()
            east.faults.cut_watches()
        else:
            if trouble == "expired":
                east.faults.expire_watches()
            east.faults.cut_watches()
        await client.delete(CONFIG_MAPS, "goes", "default")
        await client.create(CONFIG_MAPS, config_map("comes", x="1"))
        await mirror.until(
            lambda: (
                mirror.seen.get(("east", "comes")) == {"x": "1"}
                and mirror.seen[("east", "goes")] is None
            )
        )
        assert [request.name for request in mirror.asked].count("stays") == 1
        samples = {
            sample.labels["reason"]
            for metric in engine.metrics.registry.collect()
            for sample in metric.samples
            if sample.name == "fairlead_watch_restarts_total"
        }
        assert samples


@pytest.mark.parametrize("mode", ["refuse", "hang"])
async def test_a_partitioned_cluster_catches_up_and_the_other_never_waits(
    east: SimCluster, west: SimCluster, mode: str
) -> None:
    async with mirrored() as (engine, mirror), connect(east) as one, connect(west) as two:
        await one.create(CONFIG_MAPS, config_map("a", x="1"))
        await engine.engage("east", one)
        await engine.engage("west", two)
        await mirror.until(lambda: ("east", "a") in mirror.seen)
        await east.faults.partition(mode)
        await two.create(CONFIG_MAPS, config_map("b", x="1"))
        await mirror.until(lambda: ("west", "b") in mirror.seen)
        assert engine.cache("east", CONFIG_MAPS, labels=SELECTOR).find("a", "default")
        await east.faults.heal()
        await one.apply(CONFIG_MAPS, config_map("a", x="2"), force=True)
        await mirror.until(lambda: mirror.seen[("east", "a")] == {"x": "2"})


async def test_a_cluster_out_of_reach_at_first_is_served_once_it_answers(
    east: SimCluster, west: SimCluster
) -> None:
    async with mirrored() as (engine, mirror), connect(east) as one, connect(west) as two:
        await one.create(CONFIG_MAPS, config_map("a"))
        await two.create(CONFIG_MAPS, config_map("b"))
        await east.faults.partition("refuse")
        await engine.engage("east", one)
        await engine.engage("west", two)
        await mirror.until(lambda: ("west", "b") in mirror.seen)
        assert ("east", "a") not in mirror.seen
        await eventually(lambda: engine.ready() is None)
        await east.faults.heal()
        await mirror.until(lambda: ("east", "a") in mirror.seen)


async def test_revoked_credentials_are_exchanged_without_reconciling_everything_again(
    east: SimCluster,
) -> None:
    token = east.add_token("agent", ("system:masters",))
    async with mirrored() as (engine, mirror), connect(east) as new:
        async with connect(east, token) as old:
            await new.create(CONFIG_MAPS, config_map("a", x="1"))
            await engine.engage("east", old)
            await mirror.until(lambda: ("east", "a") in mirror.seen)
            east.revoke_token(token)
            await engine.engage("east", new)
        assert engine.client("east") is new
        await new.create(CONFIG_MAPS, config_map("b", x="1"))
        await mirror.until(lambda: ("east", "b") in mirror.seen)
        assert [request.name for request in mirror.asked] == ["a", "b"]


def lease_settings(identity: str) -> RuntimeSettings:
    return RuntimeSettings(
        leader_election=True,
        identity=identity,
        lease_namespace="default",
        shutdown_grace=1.0,
        **QUICK_LEASE,  # type: ignore[arg-type]
    )


@pytest.fixture
def two_replicas() -> tuple[RuntimeSettings, RuntimeSettings]:
    return lease_settings("one"), lease_settings("two")


async def test_when_the_leader_leaves_the_other_replica_takes_over(
    east: SimCluster, two_replicas: tuple[RuntimeSettings, RuntimeSettings]
) -> None:
    first, second = two_replicas
    async with connect(east) as client, mirrored(second) as (standby, after):
        async with mirrored(first) as (leader, before):
            await client.create(CONFIG_MAPS, config_map("a", x="1"))
            await leader.engage("east", client)
            await before.until(lambda: ("east", "a") in before.seen)
            await standby.engage("east", client)
            await eventually(lambda: standby.cache("east", CONFIG_MAPS, labels=SELECTOR).synced)
            lease = await client.get(LEASES, "fairlead-agent", "default")
            assert lease["spec"]["holderIdentity"] == "one"
            assert after.seen == {}
        await after.until(lambda: after.seen.get(("east", "a")) == {"x": "1"})
        lease = await client.get(LEASES, "fairlead-agent", "default")
        assert lease["spec"]["holderIdentity"] == "two"
        assert lease["spec"]["leaseTransitions"] == 1


@pytest.mark.slow
async def test_when_the_leader_is_cut_off_it_stops_before_the_other_begins(
    east: SimCluster, two_replicas: tuple[RuntimeSettings, RuntimeSettings]
) -> None:
    first, second = two_replicas
    lonely = east.add_token("lonely", ("system:masters",))
    async with (
        connect(east) as client,
        connect(east, lonely) as doomed,
        mirrored(second) as (standby, after),
        mirrored(first) as (leader, before),
    ):
        await client.create(CONFIG_MAPS, config_map("a", x="1"))
        await leader.engage("east", doomed)
        await before.until(lambda: ("east", "a") in before.seen)
        await standby.engage("east", client)
        east.revoke_token(lonely)
        both = False

        def handed_over() -> bool:
            nonlocal both
            both = both or (leader.leading("east") and standby.leading("east"))
            return standby.leading("east")

        await eventually(handed_over)
        assert not both
        assert not leader.leading("east")
        await after.until(lambda: ("east", "a") in after.seen)


async def test_an_event_about_a_namespace_is_accepted_and_counted(east: SimCluster) -> None:
    async with mirrored() as (engine, _), connect(east) as client:
        await engine.engage("east", client)
        about = await client.get(NAMESPACES, "default")
        engine.events("east").record(about, "Normal", "Seen", "hello")
        posted = "fairlead_events_total"

        def result(word: str) -> bool:
            labels = {"cluster": "east", "result": word}
            return engine.metrics.registry.get_sample_value(posted, labels) == 1

        await eventually(lambda: result("posted"))
        engine.events("east").record(about, "Normal", "Seen", "hello")
        await eventually(lambda: result("counted"))
        events = await client.list(EVENTS, "default", fields="reason=Seen")
        assert [(event["count"], event["message"]) for event in events.items] == [(2, "hello")]
