"""One contract, two kinds of cluster: every test here runs on the simulator and, marked `real`, on
three real kube-apiservers with their kube-controller-managers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairlead.errors import FairleadError
from fairlead.kube import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Client
from fairlead.kube.transport import Transport
from fairlead_sim import SimCluster
from tests.contract.targets import Raw, Target, Widgets, serve, unique, widget_definition
from tests.real.fixtures import NAMES

REAL = [
    pytest.param(name, marks=[pytest.mark.real, pytest.mark.xdist_group(f"real-{name}")])
    for name in NAMES
]


@pytest.fixture(params=["sim", *REAL])
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[Target]:
    if request.param != "sim":
        real = request.getfixturevalue("named_real_cluster")(request.param)
        yield Target(real.name, real.kubeconfig(), real.token("nobody"))
        return
    async with SimCluster("sim") as sim:
        yield Target(sim.name, sim.kubeconfig(), sim.add_token("nobody"))


@pytest.fixture
async def client(cluster: Target) -> AsyncIterator[Client]:
    """The administrator."""
    async with cluster.client() as client:
        yield client


@pytest.fixture
async def nobody(cluster: Target) -> AsyncIterator[Client]:
    """A user without any rights of its own."""
    async with cluster.client(cluster.nobody) as client:
        yield client


@pytest.fixture
async def raw(cluster: Target) -> AsyncIterator[Raw]:
    """The administrator's requests, whatever the answer."""
    transport = Transport(cluster.access, user_agent="fairlead", max_answer=64 << 20)
    yield Raw(transport)
    await transport.close()


@pytest.fixture
async def namespace(client: Client) -> AsyncIterator[str]:
    """A namespace of the test's own."""
    name = unique("contract")
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    yield name
    with contextlib.suppress(FairleadError):
        await client.delete(NAMESPACES, name)


@pytest.fixture
async def widgets(client: Client, namespace: str) -> AsyncIterator[Widgets]:
    """A custom resource of the test's own."""
    definition: dict[str, Any] = widget_definition(f"{namespace}.example.com")
    yield Widgets(await serve(client, definition), client, namespace)
    with contextlib.suppress(FairleadError):
        await client.delete(CUSTOM_RESOURCE_DEFINITIONS, definition["metadata"]["name"])
