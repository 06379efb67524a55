"""A simulated cluster in a process of its own: how long it takes to start, filling it, and waves of
writes at a chosen pace, each stamped with the moment it was written. Knows nothing of who
watches."""

from __future__ import annotations

import time

_BEGAN = time.perf_counter()

import asyncio  # noqa: E402 - what importing costs is part of a cold start
import gc  # noqa: E402
import ssl  # noqa: E402
import sys  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from contextlib import contextmanager  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import uvloop  # noqa: E402

from bench.children import pods  # noqa: E402
from bench.children.conversation import Answer, Order, converse  # noqa: E402
from fairlead_sim import SimCluster  # noqa: E402

_IMPORTED = time.perf_counter()
_PODS = ("", "pods")
_BATCH = 50
_HISTORY = 100_000


async def main(kubeconfig: Path) -> None:
    began = time.perf_counter()
    async with SimCluster("bench", history=_HISTORY) as cluster:
        await _first_answer(cluster)
        started = time.perf_counter() - began
        cluster.write_kubeconfig(kubeconfig)

        async def answer(order: Order) -> Answer:
            match order["do"]:
                case "start":
                    return {"import": _IMPORTED - _BEGAN, "start": started}
                case "fill":
                    return await _fill(cluster, order["objects"])
                case "write":
                    return await _write(cluster, order)
                case other:
                    raise ValueError(f"unknown order {other!r}")

        await converse(answer)


async def _first_answer(cluster: SimCluster) -> None:
    tls = ssl.create_default_context(cadata=cluster.ca_pem.decode())
    reader, writer = await asyncio.open_connection(cluster.host, cluster.port, ssl=tls)
    head = f"GET /readyz HTTP/1.1\r\nHost: {cluster.host}\r\nConnection: close\r\n"
    writer.write(f"{head}Authorization: Bearer {cluster.admin_token}\r\n\r\n".encode())
    status = await reader.readline()
    writer.close()
    if b" 200 " not in status:
        raise RuntimeError(f"the simulated cluster answered {status!r}")


async def _fill(cluster: SimCluster, objects: int) -> Answer:
    with _timed() as answer:
        for first in range(0, objects, _BATCH):
            last = min(first + _BATCH, objects)
            cluster.load(pods.pod(number) for number in range(first, last))
            await asyncio.sleep(0)
    # A collection that visits every object held would be measured as lateness of whoever watches.
    gc.collect()
    gc.freeze()
    return answer


async def _write(cluster: SimCluster, order: Order) -> Answer:
    """One write to each of the first objects: `rate` per second, in clumps of `clump` (a rate of
    0: as fast as it goes). The pace is kept by the clock, so a late clump is not a lost one."""
    count, rate, clump = order["objects"], order["rate"], order["clump"]
    loop = asyncio.get_running_loop()
    with _timed() as answer:
        began = loop.time()
        for first in range(0, count, clump):
            for number in range(first, min(first + clump, count)):
                _touch(cluster, number, order["generation"])
            ahead = began + (first + clump) / rate - loop.time() if rate else 0.0
            await asyncio.sleep(max(0.0, ahead))
    return answer


def _touch(cluster: SimCluster, number: int, generation: str) -> None:
    store = cluster.plane.store
    record = store.get(_PODS, (pods.NAMESPACE, pods.name(number)))
    if record is None:
        raise LookupError(f"there is no pod {pods.name(number)}")
    metadata = dict(record.object["metadata"])
    marks = {pods.GENERATION: generation, pods.WRITTEN: str(time.monotonic_ns())}
    metadata["annotations"] = metadata["annotations"] | marks
    store.put(_PODS, {**record.object, "metadata": metadata})


@contextmanager
def _timed() -> Iterator[dict[str, Any]]:
    answer: dict[str, Any] = {}
    began = time.perf_counter()
    yield answer
    answer["seconds"] = time.perf_counter() - began


if __name__ == "__main__":
    uvloop.run(main(Path(sys.argv[1])))
