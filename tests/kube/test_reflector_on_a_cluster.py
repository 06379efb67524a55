"""Client and reflector over TLS against a simulated cluster that crashes, hangs and forgets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import yaml

from fairlead.errors import Reason, Unreachable
from fairlead.kube import (
    CONFIG_MAPS,
    Backoff,
    Change,
    Client,
    Reflector,
    ReflectorSettings,
    parse_kubeconfig,
    verify_identity,
)
from fairlead_sim import SimCluster

FAST = ReflectorSettings(
    backoff=Backoff(base=0.01, cap=0.05), idle_seconds=1.0, watch_seconds=(60.0, 60.0)
)


def client_of(sim: SimCluster, *, request_timeout: float = 2.0) -> Client:
    text = yaml.safe_dump(sim.kubeconfig())
    access = parse_kubeconfig(text, "simulated").access()
    return Client(access, name=sim.name, request_timeout=request_timeout)


class Following:
    """A reflector on a cluster, and what it has told."""

    def __init__(self, client: Client) -> None:
        self.reasons: list[str] = []
        self.names: dict[str, str] = {}
        self._told = asyncio.Event()
        self.reflector = Reflector(
            client,
            CONFIG_MAPS,
            "default",
            on_change=self._changed,
            on_restart=self._restarted,
            labels="mine",
            settings=FAST,
        )

    def _changed(self, change: Change) -> None:
        if change.kind == "set":
            self.names[change.key[1]] = change.object["data"]["x"]
        else:
            del self.names[change.key[1]]
        self._told.set()

    def _restarted(self, reason: str) -> None:
        self.reasons.append(reason)
        self._told.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not condition():
                self._told.clear()
                await self._told.wait()


@asynccontextmanager
async def following(sim: SimCluster) -> AsyncIterator[tuple[Following, Client]]:
    async with client_of(sim) as client:
        await put(client, "a", "1")
        followed = Following(client)
        task = asyncio.create_task(followed.reflector.run())
        try:
            await followed.until(lambda: followed.names == {"a": "1"})
            yield followed, client
            assert not task.done()
        finally:
            task.cancel()
            await asyncio.wait([task])


async def put(client: Client, name: str, value: str) -> None:
    wish = {"metadata": {"name": name, "labels": {"mine": "yes"}}, "data": {"x": value}}
    await client.apply(CONFIG_MAPS, wish, "default")


async def cut(sim: SimCluster) -> None:
    sim.faults.cut_watches()


async def compact_and_cut(sim: SimCluster) -> None:
    sim.faults.compact()
    sim.faults.cut_watches()


async def refuse_for_a_while(sim: SimCluster) -> None:
    await sim.faults.partition("refuse")
    await sim.faults.heal()


async def restart(sim: SimCluster) -> None:
    await sim.restart(keep_data=True)


@pytest.mark.parametrize("trouble", [cut, compact_and_cut, refuse_for_a_while, restart])
async def test_it_goes_on_after_every_kind_of_trouble(
    trouble: Callable[[SimCluster], Awaitable[None]],
) -> None:
    async with SimCluster("west") as sim, following(sim) as (followed, client):
        await trouble(sim)
        await followed.until(lambda: bool(followed.reasons))
        await put(client, "a", "2")
        await put(client, "b", "1")
        await followed.until(lambda: followed.names == {"a": "2", "b": "1"})


async def test_a_cluster_that_hangs_is_noticed_and_followed_again_when_it_heals() -> None:
    async with SimCluster("west") as sim, following(sim) as (followed, client):
        await sim.faults.partition("hang")
        await followed.until(lambda: "stalled" in followed.reasons)
        assert followed.names == {"a": "1"}
        assert followed.reflector.last_error is not None
        await sim.faults.heal()
        await put(client, "a", "2")
        await followed.until(lambda: followed.names == {"a": "2"})


async def test_objects_deleted_while_away_are_told_as_gone() -> None:
    async with SimCluster("west") as sim, following(sim) as (followed, client):
        sim.faults.fail(500, verbs=("watch",))
        sim.faults.cut_watches()
        await followed.until(lambda: bool(followed.reasons))
        await client.delete(CONFIG_MAPS, "a", "default")
        sim.faults.clear()
        await followed.until(lambda: followed.names == {})


async def test_a_rebuilt_cluster_under_the_old_address_is_another_one() -> None:
    async with SimCluster("west") as sim, following(sim) as (followed, client):
        known = sim.identity
        await verify_identity(client, known)
        await sim.restart(keep_data=False)
        await followed.until(lambda: followed.names == {})
        with pytest.raises(Unreachable) as raised:
            await verify_identity(client, known)
        assert raised.value.reason is Reason.WRONG_CLUSTER


async def test_a_cluster_that_is_down_is_a_connect_fault() -> None:
    async with SimCluster("west") as sim:
        client = client_of(sim)
        await client.version()
        await sim.crash()
        async with client:
            with pytest.raises(Unreachable) as raised:
                await client.get(CONFIG_MAPS, "a", "default")
    assert raised.value.reason is Reason.CONNECT


async def test_throttling_is_waited_out() -> None:
    async with SimCluster("west") as sim, client_of(sim, request_timeout=20) as client:
        sim.faults.fail(429, times=2, retry_after=1)
        await put(client, "a", "1")
        sim.faults.fail(500, times=2)
        assert await client.get(CONFIG_MAPS, "a", "default")
