"""Faults: each does what it says, ends when told, and repeats with the same seed."""

from __future__ import annotations

import asyncio
from random import Random

import aiohttp
import pytest

from fairlead_sim import SimCluster
from tests.sim.conftest import Api, Connect, config_map

MAPS = "/api/v1/namespaces/default/configmaps"


async def test_failures_hit_what_they_match_and_nothing_else(cluster: SimCluster, api: Api) -> None:
    fault = cluster.faults.fail(503, verbs="list", resources="configmaps")
    reply = await api.get(MAPS)
    assert (reply.status, reply.reason) == (503, "ServiceUnavailable")
    assert (await api.get(f"{MAPS}/kube-root-ca.crt")).status == 200
    assert (await api.get("/api/v1/secrets")).status == 200
    cluster.faults.clear(fault)
    assert (await api.get(MAPS)).status == 200


async def test_throttling_says_when_to_come_back(cluster: SimCluster, api: Api) -> None:
    cluster.faults.fail(429, retry_after=3, times=1)
    reply = await api.get(MAPS)
    assert (reply.status, reply.headers["Retry-After"]) == (429, "3")
    assert reply.body["details"]["retryAfterSeconds"] == 3
    assert (await api.get(MAPS)).status == 200


async def _codes(connect: Connect, seed: int) -> list[int]:
    async with SimCluster("random", random=Random(seed)) as cluster:
        cluster.faults.fail(500, rate=0.5, resources="configmaps")
        api = connect(cluster)
        return [(await api.get(MAPS)).status for _ in range(30)]


async def test_an_error_rate_is_random_but_repeatable(connect: Connect) -> None:
    first = await _codes(connect, 7)
    assert set(first) == {200, 500}
    assert await _codes(connect, 7) == first


async def test_a_delay_makes_the_client_wait(cluster: SimCluster, api: Api) -> None:
    cluster.faults.delay(0.2, resources="configmaps", times=1)
    loop = asyncio.get_running_loop()
    start = loop.time()
    await api.get(MAPS)
    assert loop.time() - start >= 0.2


async def test_cut_watches_break_off(cluster: SimCluster, api: Api) -> None:
    async with api.watch(f"{MAPS}?resourceVersion=0") as stream:
        await stream.next()
        assert cluster.faults.cut_watches() == 1
        with pytest.raises((aiohttp.ClientError, EOFError)):
            await stream.next()
    assert (await api.get(MAPS)).status == 200


async def test_the_next_watch_can_be_told_that_it_is_too_old(cluster: SimCluster, api: Api) -> None:
    version = (await api.get(MAPS)).body["metadata"]["resourceVersion"]
    cluster.faults.expire_watches()
    path = f"{MAPS}?resourceVersion={version}&timeoutSeconds=1"
    async with api.watch(path) as stream:
        assert (await stream.next())["object"]["code"] == 410
    async with api.watch(path) as stream:
        assert await stream.rest() == []


async def test_a_refusing_partition_breaks_and_refuses_connections(
    cluster: SimCluster, api: Api
) -> None:
    await api.create(MAPS, config_map("a"))
    async with api.watch(f"{MAPS}?resourceVersion=0") as stream:
        await stream.take(2)
        await cluster.faults.partition("refuse")
        with pytest.raises((aiohttp.ClientError, EOFError)):
            await stream.next()
    with pytest.raises(aiohttp.ClientConnectionError):
        await api.get(MAPS)
    await cluster.faults.heal()
    assert (await api.get(f"{MAPS}/a")).status == 200


async def test_a_hanging_partition_answers_nothing_until_it_heals(
    cluster: SimCluster, connect: Connect, api: Api
) -> None:
    await api.create(MAPS, config_map("a"))
    await cluster.faults.partition("hang")
    known = asyncio.create_task(api.get(MAPS))
    fresh = asyncio.create_task(connect(cluster).get(MAPS))
    done, _ = await asyncio.wait([known, fresh], timeout=0.3)
    assert done == set()
    await cluster.faults.heal()
    assert (await known).status == 200
    # The new connection never got further than TCP; the client has to try again.
    with pytest.raises(aiohttp.ClientError):
        await fresh


async def test_a_watch_stalls_during_a_hanging_partition_and_loses_nothing(
    cluster: SimCluster, api: Api
) -> None:
    async with api.watch(f"{MAPS}?fieldSelector=metadata.name%3Da") as stream:
        await cluster.faults.partition("hang")
        cluster.load([config_map("a", namespace="default")])
        waiting = asyncio.create_task(stream.next())
        done, _ = await asyncio.wait([waiting], timeout=0.2)
        assert done == set()
        await cluster.faults.heal()
        assert (await waiting)["type"] == "ADDED"


async def test_an_unknown_partition_is_refused(cluster: SimCluster) -> None:
    with pytest.raises(ValueError, match="neither 'refuse' nor 'hang'"):
        await cluster.faults.partition("sideways")


async def test_a_restart_keeps_port_data_and_credentials_but_no_history(
    cluster: SimCluster, api: Api
) -> None:
    before, identity = cluster.url, cluster.identity
    start = (await api.get(MAPS)).body["metadata"]["resourceVersion"]
    await api.create(MAPS, config_map("a"))
    await cluster.crash()
    with pytest.raises(aiohttp.ClientConnectionError):
        await api.get(MAPS)
    await cluster.restart()
    assert (cluster.url, cluster.identity) == (before, identity)
    assert (await api.get(f"{MAPS}/a")).status == 200
    async with api.watch(f"{MAPS}?resourceVersion={start}") as stream:
        assert (await stream.next())["object"]["code"] == 410


async def test_a_partition_outlives_a_restart(cluster: SimCluster, api: Api) -> None:
    await cluster.faults.partition("refuse")
    await cluster.restart()
    with pytest.raises(aiohttp.ClientConnectionError):
        await api.get(MAPS)
    await cluster.faults.heal()
    assert (await api.get(MAPS)).status == 200


async def test_a_restart_without_data_is_another_cluster_at_the_same_address(
    cluster: SimCluster, api: Api
) -> None:
    before, identity = cluster.url, cluster.identity
    await api.create(MAPS, config_map("a"))
    await cluster.restart(keep_data=False)
    assert cluster.url == before
    assert cluster.identity != identity
    assert (await api.get(f"{MAPS}/a")).status == 404
    found = (await api.get("/api/v1/namespaces/kube-system")).body["metadata"]["uid"]
    assert found == cluster.identity
