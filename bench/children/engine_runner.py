"""The engine at work with a reconciler that only notes when it was called: on keys put into the
queue by hand, and on the pods of a cluster as their watch events arrive. Knows nothing of who
writes the pods."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvloop

from bench.children.conversation import Answer, Order, converse
from bench.children.memory import Collections, processor_seconds, seconds_without_a_core
from bench.children.pods import GENERATION, WRITTEN
from fairlead.kube import PODS, Client, load_kubeconfig
from fairlead.runtime import (
    FLEET,
    Collector,
    Controller,
    Engine,
    Metrics,
    Request,
    SystemClock,
    Watch,
    configure_logging,
)

_NAME = "bench"
_TICK = 0.001  # uvloop rounds anything less to nothing and would spin
_collections = Collections()


class Notes:
    """How long each expected reconcile began after its cause; complete once all have."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._began = time.perf_counter()
        self._worked = processor_seconds()
        self._starved = seconds_without_a_core()
        self._collected = _collections.seconds
        self.late: list[float] = []
        self.complete = asyncio.Event()

    def note(self, caused_ns: int) -> None:
        self.late.append((time.monotonic_ns() - caused_ns) / 1e6)
        if len(self.late) == self._count:
            self.complete.set()

    async def answer(self) -> Answer:
        await self.complete.wait()
        seconds = time.perf_counter() - self._began
        worked = processor_seconds() - self._worked
        late = sorted(self.late)
        return {
            "seconds": seconds,
            "processor": worked,
            "starved": seconds_without_a_core() - self._starved,
            "collected": _collections.seconds - self._collected,
            "p50": late[len(late) // 2],
            "p99": late[len(late) * 99 // 100],
            "max": late[-1],
        }


class QueuedKeys:
    """Keys put into the engine's queue in this process."""

    def __init__(self) -> None:
        self.notes = Notes(0)
        self.queued: dict[Request, int] = {}

    async def reconcile(self, request: Request) -> None:
        self.notes.note(self.queued[request])

    async def at_once(self, engine: Engine, count: int) -> Answer:
        self.notes = Notes(count)
        for number in range(count):
            self._queue(engine, number)
        return await self.notes.answer()

    async def steadily(self, engine: Engine, count: int, rate: float) -> Answer:
        self.notes = Notes(count)
        began = time.monotonic()
        queued = 0
        while queued < count:
            due = min(int((time.monotonic() - began) * rate), count)
            for number in range(queued, due):
                self._queue(engine, number)
            queued = max(queued, due)
            await asyncio.sleep(_TICK)
        return await self.notes.answer()

    def _queue(self, engine: Engine, number: int) -> None:
        request = Request(FLEET, "default", f"key-{number}")
        self.queued[request] = time.monotonic_ns()
        engine.enqueue(_NAME, request)


class WatchedPods:
    """Keys that come from the watch of a cluster in another process."""

    def __init__(self) -> None:
        self.engine: Engine | None = None
        self.notes = Notes(0)
        self._generation = ""
        self._engaged_ns = 0

    async def reconcile(self, request: Request) -> None:
        if self.engine is None:
            return
        pod = self.engine.cache(request.cluster, PODS).find(request.name, request.namespace)
        if pod is None:
            return
        marks = pod["metadata"]["annotations"]
        if marks[GENERATION] == self._generation:
            self.notes.note(int(marks[WRITTEN]) or self._engaged_ns)

    def expect(self, generation: str, count: int) -> None:
        self._generation, self.notes = generation, Notes(count)
        self._engaged_ns = time.monotonic_ns()


@asynccontextmanager
async def running(engine: Engine) -> AsyncIterator[Engine]:
    task = asyncio.create_task(engine.run())
    await asyncio.sleep(0)
    try:
        yield engine
    finally:
        engine.stop()
        await task


async def queue(order: Order) -> Answer:
    keys = QueuedKeys()
    async with running(Engine([Controller(_NAME, keys)])) as engine:
        if order["rate"]:
            return await keys.steadily(engine, order["keys"], order["rate"])
        return await keys.at_once(engine, order["keys"])


async def main(kubeconfig: Path) -> None:
    """`queue` works on an engine of its own. `expect` says which writes will come, before they
    do; `collect` waits until all of them were reconciled."""
    configure_logging(level="info", format="json")
    pods = WatchedPods()
    metrics = Metrics()
    pods.engine = engine = Engine([Controller(_NAME, pods, [Watch(PODS)])], metrics=metrics)
    access = load_kubeconfig([kubeconfig]).access()
    client = Client(access, observe=metrics.observe_requests(_NAME))

    async def answer(order: Order) -> Answer:
        match order["do"]:
            case "queue":
                return await queue(order)
            case "expect":
                pods.expect(order["generation"], order["objects"])
                return {}
            case "engage":
                await engine.engage(_NAME, client)
                return {}
            case "collect":
                return await pods.notes.answer()
            case other:
                raise ValueError(f"unknown order {other!r}")

    async with client, running(engine):
        # As in an agent: the whole program is measured, not the engine in a vacuum.
        collecting = asyncio.create_task(Collector(SystemClock()).run())
        await converse(answer)
        collecting.cancel()


if __name__ == "__main__":
    uvloop.run(main(Path(sys.argv[1])))
