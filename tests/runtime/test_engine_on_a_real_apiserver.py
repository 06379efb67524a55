"""What only a real kube-apiserver can judge: the Leases and Events we write, and its watches."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator

import pytest

from fairlead.kube.client import Client
from fairlead.kube.kubeconfig import parse_kubeconfig
from fairlead.kube.resource import CONFIG_MAPS, EVENTS, LEASES, NAMESPACES, Object
from fairlead.runtime.controller import Controller, Watch
from fairlead.runtime.engine import Engine
from fairlead.runtime.outcome import Result
from fairlead.runtime.request import Request
from fairlead.runtime.settings import RuntimeSettings
from fairlead_sim.real import RealCluster

pytestmark = pytest.mark.real


@pytest.fixture
async def client(real_cluster: RealCluster) -> AsyncIterator[Client]:
    access = parse_kubeconfig(real_cluster.kubeconfig_text(), "real").access()
    async with Client(access, name="real") as client:
        yield client


@pytest.fixture
async def namespace(client: Client) -> AsyncIterator[str]:
    name = f"runtime-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    yield name
    await client.delete(NAMESPACES, name)


class Announcing:
    """Says twice that it saw something."""

    def __init__(self) -> None:
        self.engine: Engine | None = None
        self.seen: asyncio.Queue[tuple[str, Object | None]] = asyncio.Queue()

    async def reconcile(self, request: Request) -> Result | None:
        assert self.engine is not None
        cache = self.engine.cache("real", CONFIG_MAPS, namespace=request.namespace)
        found = cache.find(request.name, request.namespace)
        if found is not None:
            self.engine.events("real").record(found, "Normal", "Seen", "it is there")
        self.seen.put_nowait((request.name, found))
        return None


async def test_a_leading_engine_works_writes_events_and_gives_its_lease_back(
    client: Client, namespace: str
) -> None:
    announcing = Announcing()
    maps = Controller("maps", announcing, watches=[Watch(CONFIG_MAPS, namespace=namespace)])
    settings = RuntimeSettings(
        leader_election=True,
        identity="one",
        lease_namespace=namespace,
        lease_duration=4.0,
        renew_deadline=3.0,
        retry_period=0.2,
    )
    engine = announcing.engine = Engine([maps], settings=settings)
    run = asyncio.create_task(engine.run())
    async with asyncio.timeout(50):
        await engine.engage("real", client)
        await client.create(CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}}, namespace)
        await until_seen(announcing, "a", {"x": "1"})
        held = await client.get(LEASES, "fairlead-agent", namespace)
        assert held["spec"]["holderIdentity"] == "one"
        changed = {"metadata": {"name": "a"}, "data": {"x": "2"}}
        await client.apply(CONFIG_MAPS, changed, namespace, force=True)
        await until_seen(announcing, "a", {"x": "2"})
        await until_renewed(client, namespace, held["spec"]["renewTime"])
        await client.delete(CONFIG_MAPS, "a", namespace)
        await until_seen(announcing, "a", None)
        engine.stop()
        await run
    lease = await client.get(LEASES, "fairlead-agent", namespace)
    assert lease["spec"]["holderIdentity"] == ""
    assert lease["spec"]["leaseDurationSeconds"] == 1
    assert lease["spec"]["leaseTransitions"] == 0
    events = await client.list(EVENTS, namespace, fields="reason=Seen,involvedObject.name=a")
    assert [(event["count"], event["message"]) for event in events.items] == [(2, "it is there")]


async def until_seen(announcing: Announcing, name: str, data: dict[str, str] | None) -> None:
    while True:
        seen, found = await announcing.seen.get()
        if seen == name and (found["data"] if found else None) == data:
            return


async def until_renewed(client: Client, namespace: str, since: str) -> None:
    while True:
        lease = await client.get(LEASES, "fairlead-agent", namespace)
        if lease["spec"]["renewTime"] != since:
            assert lease["spec"]["holderIdentity"] == "one"
            return
        await asyncio.sleep(0.1)
