"""The clients whose GETs are compared, each as its own documentation has it used, with the same
kubeconfig and the same event loop. Knows nothing of the server."""

from __future__ import annotations

import asyncio
import base64
import ssl
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import uvloop
import yaml

from bench.children.conversation import Answer, Order, converse
from bench.children.memory import processor_seconds

Get = Callable[[str], Awaitable[object]]


@asynccontextmanager
async def bare(kubeconfig: str) -> AsyncIterator[Get]:
    """aiohttp and msgspec with nothing around them: the floor."""
    config = _parsed(kubeconfig)
    cluster = config["clusters"][0]["cluster"]
    base = f"{cluster['server']}/api/v1/namespaces/default/configmaps/"
    headers = {"Authorization": f"Bearer {config['users'][0]['user']['token']}"}
    tls: ssl.SSLContext | bool = True
    if authority := cluster.get("certificate-authority-data"):
        tls = ssl.create_default_context(cadata=_pem(authority))
    connector = aiohttp.TCPConnector(ssl=tls)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def get(name: str) -> object:
            async with session.get(base + name) as response:
                return msgspec.json.decode(await response.read())

        yield get


@asynccontextmanager
async def fairlead(kubeconfig: str) -> AsyncIterator[Get]:
    from fairlead.kube import CONFIG_MAPS, Client, load_kubeconfig

    async with Client(load_kubeconfig([Path(kubeconfig)]).access()) as client:
        yield lambda name: client.get(CONFIG_MAPS, name, "default")


@asynccontextmanager
async def fairlead_observed(kubeconfig: str) -> AsyncIterator[Get]:
    """As an agent runs it: every request is counted for Prometheus."""
    from fairlead.kube import CONFIG_MAPS, Client, load_kubeconfig
    from fairlead.runtime import Metrics

    access = load_kubeconfig([Path(kubeconfig)]).access()
    async with Client(access, observe=Metrics().observe_requests("bench")) as client:
        yield lambda name: client.get(CONFIG_MAPS, name, "default")


@asynccontextmanager
async def lightkube(kubeconfig: str) -> AsyncIterator[Get]:
    from lightkube import AsyncClient, KubeConfig
    from lightkube.resources.core_v1 import ConfigMap

    client = AsyncClient(KubeConfig.from_file(kubeconfig), trust_env=False)
    try:
        yield lambda name: client.get(ConfigMap, name, namespace="default")
    finally:
        await client.close()


@asynccontextmanager
async def kubernetes_asyncio(kubeconfig: str) -> AsyncIterator[Get]:
    from kubernetes_asyncio import client, config

    settings = client.Configuration()
    await config.load_kube_config(kubeconfig, client_configuration=settings)
    async with client.ApiClient(settings) as api:
        core = client.CoreV1Api(api)
        yield lambda name: core.read_namespaced_config_map(name, "default")


CONTENDERS = {
    "bare": bare,
    "fairlead": fairlead,
    "fairlead-observed": fairlead_observed,
    "lightkube": lightkube,
    "kubernetes_asyncio": kubernetes_asyncio,
}


async def main(contender: str) -> None:
    """One client per kubeconfig, kept from the first order that names it to the end."""
    clients: dict[str, Get] = {}
    async with AsyncExitStack() as stack:

        async def answer(order: Order) -> Answer:
            kubeconfig = order["kubeconfig"]
            if kubeconfig not in clients:
                client = CONTENDERS[contender](kubeconfig)
                clients[kubeconfig] = await stack.enter_async_context(client)
            return await ask(clients[kubeconfig], order["requests"], order["parallel"])

        await converse(answer)


async def ask(get: Get, requests: int, parallel: int) -> Answer:
    names = iter([f"object-{number}" for number in range(requests)])

    async def ask_in_turn() -> None:
        for name in names:
            await get(name)

    began, worked = time.perf_counter(), processor_seconds()
    async with asyncio.TaskGroup() as group:
        for _ in range(parallel):
            group.create_task(ask_in_turn())
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "processor": processor_seconds() - worked}


def _parsed(kubeconfig: str) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load(Path(kubeconfig).read_text(encoding="utf-8"))
    return config


def _pem(encoded: str) -> str:
    return base64.b64decode(encoded).decode()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1]))
