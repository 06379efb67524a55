"""Measures the engine with a reconciler that does nothing: how many keys it gets through, and how
long after an event the reconcile begins, for keys queued in the same process and for writes to a
cluster in another. Knows nothing of how the engine works."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from bench.figures import Report, Tally, at_most
from bench.processes import Child
from bench.sizes import Sizes

NAME = "engine"
_QUEUE = "queue alone"
_END_TO_END = {1: "watch to reconcile, one by one", 50: "watch to reconcile, clumps of 50"}
"""By how many events come at once. Smooth arrival alone would flatter: clumps are what real
clusters send, and what makes Python collect garbage."""
_P99 = "steady, p99"
_LIMIT_MS = 50.0


async def measure(sizes: Sizes) -> Report:
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as folder:
        kubeconfig = str(Path(folder) / "kubeconfig")
        for _ in range(sizes.engine_rounds):
            async with Child("sim_server", kubeconfig) as cluster:
                await cluster.ask(do="fill", objects=sizes.keys)
                async with Child("engine_runner", kubeconfig) as engine:
                    await _round(engine, cluster, sizes, tally)
    steady = f"{sizes.events_per_second:,} events/s for {sizes.steady_seconds:g} s"
    return Report(
        NAME,
        f"{sizes.keys:,} keys once, then {steady}",
        "The queue alone is fed in its own process. The other rows are the whole way: written in "
        "the process of a simulated cluster, sent over TLS, decoded, put into the cache, queued, "
        "reconcile begun; every event is of another pod, so none is merged with another. What "
        "makes an event late: garbage collections, and other processes having all the cores.",
        {
            "keys": sizes.keys,
            "events_per_second": sizes.events_per_second,
            "seconds": sizes.steady_seconds,
            "rounds": sizes.engine_rounds,
        },
        tally.figures(),
        [
            at_most(
                f"{subject}: p99 under 50 ms at {steady}, in the worst round",
                max(tally.values(subject, _P99)),
                _LIMIT_MS,
                "ms",
            )
            for subject in _END_TO_END.values()
        ],
    )


async def _round(engine: Child, cluster: Child, sizes: Sizes, tally: Tally) -> None:
    rate = sizes.events_per_second
    events = min(sizes.keys, int(rate * sizes.steady_seconds))
    once = await engine.ask(do="queue", keys=sizes.keys, rate=0)
    tally.add(_QUEUE, "keys once", "keys/s", sizes.keys / once["seconds"])
    steady = await engine.ask(do="queue", keys=events, rate=rate)
    _note(tally, _QUEUE, steady)
    tally.add(_QUEUE, "steady, rate", "/s", events / steady["seconds"])

    await engine.ask(do="expect", generation="0", objects=sizes.keys)
    await engine.ask(do="engage")
    once = await engine.ask(do="collect")
    tally.add(_END_TO_END[1], "keys once", "keys/s", sizes.keys / once["seconds"])
    for generation, (clump, subject) in enumerate(_END_TO_END.items(), start=1):
        order = {"generation": str(generation), "objects": events}
        await engine.ask(do="expect", **order)
        written = await cluster.ask(do="write", rate=rate, clump=clump, **order)
        _note(tally, subject, await engine.ask(do="collect"))
        tally.add(subject, "steady, rate", "/s", events / written["seconds"])


def _note(tally: Tally, subject: str, steady: dict[str, Any]) -> None:
    tally.add(subject, "steady, p50", "ms", steady["p50"])
    tally.add(subject, _P99, "ms", steady["p99"])
    tally.add(subject, "steady, most", "ms", steady["max"])
    tally.add(subject, "steady, processor", "s", steady["processor"])
    tally.add(subject, "steady, garbage collection", "ms", steady["collected"] * 1e3)
    tally.add(subject, "steady, without a core", "ms", steady["starved"] * 1e3)
