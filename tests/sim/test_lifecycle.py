"""Starting, stopping, kubeconfigs, several clusters at once."""

from __future__ import annotations

import logging
import os
import ssl
import stat
import time
from pathlib import Path

import aiohttp
import pytest
import uvloop
import yaml

from fairlead_sim import SimCluster
from tests.sim.conftest import Connect, config_map

MAPS = "/api/v1/namespaces/default/configmaps"


async def test_a_cluster_starts_fast() -> None:
    # The fastest of three, because other work on the machine only ever makes it slower.
    times = []
    for number in range(3):
        start = time.perf_counter()
        async with SimCluster(f"c{number}"):
            times.append(time.perf_counter() - start)
    assert min(times) < 0.3


async def test_the_kubeconfig_is_complete_and_private(cluster: SimCluster, tmp_path: Path) -> None:
    path = cluster.write_kubeconfig(tmp_path / "config")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["config"]
    config = yaml.safe_load(path.read_text())
    assert config == cluster.kubeconfig()
    assert config["current-context"] == "east"
    assert config["clusters"][0]["cluster"]["server"] == cluster.url
    other = cluster.kubeconfig("another-token", namespace="work")
    assert other["users"][0]["user"] == {"token": "another-token"}
    assert other["contexts"][0]["context"]["namespace"] == "work"


async def test_clusters_in_one_process_know_nothing_of_each_other(connect: Connect) -> None:
    async with SimCluster("a") as first, SimCluster("b") as second:
        assert first.identity != second.identity
        await connect(first).create(MAPS, config_map("mine"))
        assert (await connect(second).get(f"{MAPS}/mine")).status == 404
        assert (await connect(second, first.admin_token).get(MAPS)).status == 401


async def test_a_base_path_is_served_below_itself_only(connect: Connect) -> None:
    async with SimCluster("kcp", base_path="/clusters/root:org") as cluster:
        assert cluster.url.endswith("/clusters/root:org")
        api = connect(cluster)
        assert (await api.get("/version")).status == 200
        await api.create(MAPS, config_map("a"))
        outside = await api.get("/../../version")
        assert outside.status == 404


async def test_a_stopped_cluster_says_so() -> None:
    cluster = SimCluster("gone")
    with pytest.raises(RuntimeError, match="the simulated cluster gone is not started"):
        _ = cluster.url
    await cluster.start()
    with pytest.raises(RuntimeError, match="already started"):
        await cluster.start()
    await cluster.stop()
    await cluster.stop()


async def test_no_credential_appears_in_a_repr_or_a_log(
    cluster: SimCluster, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token = cluster.add_token("jane", token="jane-has-a-secret-token")
    await connect(cluster, token).get(MAPS)
    await connect(cluster).get(MAPS)
    shown = caplog.text + repr(cluster) + repr(vars(cluster))
    assert token not in shown
    assert cluster.admin_token not in caplog.text + repr(cluster)


async def test_the_same_port_can_be_asked_for() -> None:
    async with SimCluster("first") as first:
        port = first.port
    second = SimCluster("second")
    await second.start(port=port)
    assert second.port == port
    await second.stop()


def test_everything_also_works_on_uvloop() -> None:
    async def scenario() -> None:
        async with SimCluster("uv") as cluster:
            context = ssl.create_default_context(cadata=cluster.ca_pem.decode())
            connector = aiohttp.TCPConnector(ssl=context)
            headers = {"Authorization": f"Bearer {cluster.admin_token}"}
            async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
                url = cluster.url + MAPS
                async with session.get(f"{url}?watch=true") as watch:
                    assert await watch.content.readline()
                    assert cluster.faults.cut_watches() == 1
                    with pytest.raises(aiohttp.ClientError):
                        await watch.content.read()
                await cluster.faults.partition("refuse")
                with pytest.raises(aiohttp.ClientConnectionError):
                    await session.get(url)
                await cluster.faults.heal()
                await cluster.restart(keep_data=False)
                async with session.get(url) as response:
                    assert response.status == 200

    uvloop.run(scenario())
