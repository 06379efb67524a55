"""The libraries that keep a local copy of a cluster's pods, each as its own documentation has it
done: list everything, then follow the changes. Knows nothing of who changes them."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import uvloop

from bench.children.conversation import Answer, Order, converse
from bench.children.memory import peak_mb, processor_seconds, resident_mb
from bench.children.pods import GENERATION, NAMESPACE

Object = dict[str, Any]


class Seen:
    """Which objects the copy holds, by the wave of writes it has them from."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self._changed = asyncio.Event()

    def note(self, name: str, generation: str) -> None:
        if self._of.get(name) != generation:
            self._of[name] = generation
            self._counts[generation] += 1
            self._changed.set()

    async def all(self, generation: str, count: int) -> None:
        while self._counts[generation] < count:
            self._changed.clear()
            await self._changed.wait()


Follow = Callable[[str, Seen], Awaitable[None]]


async def fairlead(kubeconfig: str, seen: Seen) -> None:
    from fairlead.kube import PODS, Change, Client, Reflector, load_kubeconfig

    def changed(change: Change) -> None:
        metadata = change.object["metadata"]
        seen.note(metadata["name"], metadata["annotations"][GENERATION])

    async with Client(load_kubeconfig([Path(kubeconfig)]).access()) as client:
        await Reflector(client, PODS, on_change=changed).run()


async def lightkube(kubeconfig: str, seen: Seen) -> None:
    from lightkube import ALL_NS, AsyncClient, KubeConfig
    from lightkube.resources.core_v1 import Pod

    def note(pod: Pod) -> None:
        metadata = pod.metadata
        if metadata is not None and metadata.name and metadata.annotations:
            store[metadata.namespace, metadata.name] = pod
            seen.note(metadata.name, metadata.annotations[GENERATION])

    store: dict[tuple[str | None, str], Pod] = {}
    client = AsyncClient(KubeConfig.from_file(kubeconfig), trust_env=False)
    listed = client.list(Pod, namespace=ALL_NS, chunk_size=500)
    async for pod in listed:
        note(pod)
    version = listed.resourceVersion
    async for _, pod in client.watch(Pod, namespace=ALL_NS, resource_version=version):
        note(pod)


async def kopf(kubeconfig: str, seen: Seen) -> None:
    """An event handler rather than an index: filling an index takes kopf a time that grows with
    the square of the number of objects, minutes for ten thousand."""
    import kopf as framework

    os.environ["KUBECONFIG"] = kubeconfig
    registry = framework.OperatorRegistry()

    @framework.on.login(registry=registry)
    def login(**arguments: Any) -> framework.ConnectionInfo | None:
        return framework.login_with_kubeconfig(**arguments)

    @framework.on.event("", "v1", "pods", registry=registry)
    async def keep(name: str, body: framework.Body, **_: Any) -> None:
        store[name] = dict(body)
        seen.note(name, body["metadata"]["annotations"][GENERATION])

    store: dict[str, Object] = {}
    await framework.operator(registry=registry, standalone=True, namespaces=[NAMESPACE])


FOLLOWERS: dict[str, Follow] = {"fairlead": fairlead, "lightkube": lightkube, "kopf": kopf}
_IMPORTS = {
    "fairlead": ("fairlead.kube",),
    "lightkube": ("lightkube", "lightkube.resources.core_v1"),
    "kopf": ("kopf",),
}


class Follower:
    """One library at work. The baseline is the process with everything imported."""

    def __init__(self, library: str, kubeconfig: str) -> None:
        for module in _IMPORTS[library]:
            importlib.import_module(module)
        self._follow = FOLLOWERS[library]
        self._kubeconfig = kubeconfig
        self._seen = Seen()
        self._task: asyncio.Future[None] | None = None
        self._began, self._worked = 0.0, 0.0
        self._baseline = resident_mb()

    async def answer(self, order: Order) -> Answer:
        """`begin` starts the clocks, and the library if it does not run yet; `reach` waits until
        it has every object of a generation."""
        if order["do"] == "begin":
            self._began, self._worked = time.perf_counter(), processor_seconds()
            if self._task is None:
                self._task = asyncio.ensure_future(self._follow(self._kubeconfig, self._seen))
            return {}
        await self._all(order["generation"], order["objects"])
        answer = {
            "seconds": time.perf_counter() - self._began,
            "processor": processor_seconds() - self._worked,
        }
        await asyncio.sleep(order["settle"])
        return answer | {
            "settled": resident_mb() - self._baseline,
            "peak": peak_mb() - self._baseline,
        }

    async def _all(self, generation: str, objects: int) -> None:
        complete = asyncio.ensure_future(self._seen.all(generation, objects))
        working = [] if self._task is None else [self._task]
        await asyncio.wait([complete, *working], return_when=asyncio.FIRST_COMPLETED)
        if not complete.done():
            raise RuntimeError("the follower ended by itself") from working[0].exception()


async def main(library: str, kubeconfig: str) -> None:
    await converse(Follower(library, kubeconfig).answer)
    os._exit(0)  # the libraries have nothing to save, and kopf would take ten seconds to end


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    uvloop.run(main(sys.argv[1], sys.argv[2]))
