"""An agent as a whole: its registry, engine, probes and metrics over real sockets."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
import yaml

from fairlead.app import Agent, enabled
from fairlead.errors import InvalidInput
from fairlead.registry.health import Health
from fairlead.registry.settings import RegistrySettings
from fairlead.runtime.settings import RuntimeSettings
from fairlead.settings import FileSource, Settings
from fairlead_sim.cluster import SimCluster


def settings_of(path: Path, **controllers: bool) -> Settings:
    return Settings(
        str(path),
        (FileSource(path),),
        controllers=controllers,
        registry=RegistrySettings(observer="here"),
        runtime=RuntimeSettings(probe_host="127.0.0.1", probe_port=0, shutdown_grace=1.0),
    )


@asynccontextmanager
async def agent_of(settings: Settings) -> AsyncIterator[Agent]:
    agent = Agent(settings)
    running = asyncio.create_task(agent.run())
    try:
        yield agent
    finally:
        agent.stop()
        await asyncio.wait_for(running, 10)


@asynccontextmanager
async def one_cluster(folder: Path) -> AsyncIterator[SimCluster]:
    async with SimCluster("east") as cluster:
        cluster.write_kubeconfig(folder / "east.kubeconfig")
        entry = {"name": "east", "region": "eu", "kubeconfig": "east.kubeconfig"}
        (folder / "clusters.yaml").write_text(yaml.safe_dump({"clusters": [entry]}))
        yield cluster


async def fetch(agent: Agent, path: str) -> tuple[int, str]:
    url = f"http://127.0.0.1:{agent.probes.port}{path}"
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, await response.text()


async def test_an_agent_serves_probes_metrics_and_its_view_of_the_fleet(tmp_path: Path) -> None:
    async with one_cluster(tmp_path) as cluster, agent_of(settings_of(tmp_path)) as agent:
        await agent.registry.wait_for(
            lambda snapshot: any(view.engaged for view in snapshot.clusters.values())
        )
        assert await fetch(agent, "/livez") == (200, "ok")
        assert await fetch(agent, "/readyz") == (200, "ok")
        _, metrics = await fetch(agent, "/metrics")
        assert 'fairlead_api_requests_total{cluster="east",code="200",method="GET"}' in metrics
        assert 'fairlead_cluster_engaged{cluster="east"} 1.0' in metrics
        _, page = await fetch(agent, "/fleet")
        (east,) = json.loads(page)["clusters"]
        assert (east["name"], east["health"]) == ("east", "healthy")
        assert cluster.admin_token not in metrics + page


async def test_the_health_of_every_cluster_is_a_metric(tmp_path: Path) -> None:
    async with one_cluster(tmp_path), agent_of(settings_of(tmp_path)) as agent:
        await agent.registry.wait_checked()
        _, metrics = await fetch(agent, "/metrics")
        assert 'fairlead_cluster_health{cluster="east",health="healthy"} 1.0' in metrics
        assert 'fairlead_cluster_health{cluster="east",health="unhealthy"} 0.0' in metrics


async def test_clusters_join_and_leave_a_running_agent(tmp_path: Path) -> None:
    async with one_cluster(tmp_path), agent_of(settings_of(tmp_path)) as agent:
        await agent.registry.wait_for(lambda snapshot: "east" in snapshot.clusters)
        (tmp_path / "clusters.yaml").write_text("clusters: []\n")
        async with asyncio.timeout(20):
            await agent.registry.wait_for(lambda snapshot: not snapshot.clusters)
        assert agent.engine.clusters == ()
        _, metrics = await fetch(agent, "/metrics")
        assert 'cluster="east"' not in metrics


async def test_an_agent_whose_only_cluster_is_away_stays_alive(tmp_path: Path) -> None:
    async with one_cluster(tmp_path) as cluster:
        await cluster.faults.partition()
        async with agent_of(settings_of(tmp_path)) as agent:
            await agent.registry.wait_checked()
            view = agent.registry.snapshot().clusters["east"]
            assert view.health.health is not Health.HEALTHY
            assert "connection refused" in (view.health.last_error or "")
            assert (await fetch(agent, "/livez"))[0] == 200


def test_an_unknown_controller_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no controller 'recovry'; known are: registry-status"):
        enabled(settings_of(tmp_path, recovry=True))


def test_reporting_needs_to_know_its_home(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="registry-status needs to know its home"):
        Agent(settings_of(tmp_path, **{"registry-status": True}))


@pytest.mark.timeout(60)
async def test_the_agent_command_ends_in_good_order_on_sigterm(tmp_path: Path) -> None:
    async with one_cluster(tmp_path):
        (tmp_path / "fairlead.yaml").write_text("agent: {host: 127.0.0.1, port: 0}\n")
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "fairlead", "agent", "run", "--config", str(tmp_path)),
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
        lines: list[dict[str, str]] = []
        try:
            assert program.stderr is not None
            async for line in program.stderr:
                lines.append(json.loads(line))
                if lines[-1]["message"] == "cluster engaged":
                    program.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(program.wait(), 20) == 0
        finally:
            if program.returncode is None:
                program.kill()
                await program.wait()
    messages = [line["message"] for line in lines]
    assert messages[0] == "agent started"
    assert messages[-1] == "agent stopped"
