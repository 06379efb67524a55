"""Writes ConfigMaps to a cluster and lists them, with Fairlead's client. Knows nothing of what
kind of cluster it is."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop

from bench.children.conversation import Answer, Order, converse
from fairlead.kube import CONFIG_MAPS, Client, MergePatch, Object, load_kubeconfig

_NAMESPACE = "default"


def _config_map(number: int, value: str) -> Object:
    return {
        "metadata": {
            "name": f"bench-{number:05d}",
            "namespace": _NAMESPACE,
            "labels": {"app": f"app-{number % 100}"},
        },
        "data": {"value": value, "text": "x" * 500},
    }


def verbs(client: Client) -> dict[str, Callable[[int], Awaitable[object]]]:
    """What can be done to the object of a number."""

    async def patch(number: int) -> object:
        change = MergePatch({"data": {"value": f"patched {time.monotonic_ns()}"}})
        return await client.patch(CONFIG_MAPS, f"bench-{number:05d}", change, _NAMESPACE)

    async def apply(number: int) -> object:
        desired = _config_map(number, f"applied {time.monotonic_ns()}")
        return await client.apply(CONFIG_MAPS, desired, force=True)

    return {
        "create": lambda number: client.create(CONFIG_MAPS, _config_map(number, "created")),
        "patch": patch,
        "apply": apply,
    }


async def main(kubeconfig: Path) -> None:
    async with Client(load_kubeconfig([kubeconfig]).access(), request_timeout=60.0) as client:
        known = verbs(client)

        async def answer(order: Order) -> Answer:
            began = time.perf_counter()
            if order["do"] == "list":
                listed = await client.list(CONFIG_MAPS, _NAMESPACE, chunk=order["chunk"])
                return {"seconds": time.perf_counter() - began, "objects": len(listed.items)}
            write = known[order["do"]]
            numbers = iter(range(order["first"], order["first"] + order["count"]))

            async def work() -> None:
                for number in numbers:
                    await write(number)

            async with asyncio.TaskGroup() as group:
                for _ in range(order["parallel"]):
                    group.create_task(work())
            return {"seconds": time.perf_counter() - began}

        await converse(answer)


if __name__ == "__main__":
    uvloop.run(main(Path(sys.argv[1])))
