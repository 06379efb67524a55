"""Measures the simulated cluster beside a real kube-apiserver: time until it can be used, writes
per second, and listing of everything it holds. Knows nothing of how either works."""

from __future__ import annotations

import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median

from bench.figures import Report, Tally, at_most
from bench.processes import BenchFailed, Child
from bench.sizes import Sizes
from fairlead_sim.real import RealFleet

NAME = "clusters"
_SIMULATED = "simulated"
_REAL = "real kube-apiserver and etcd"
_START = "start"
_LIMIT_MS = 300.0
_CHUNK = 500
_REAL_NAME = "bench"


async def measure(sizes: Sizes) -> Report:
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as folder:
        for _ in range(sizes.cluster_rounds):
            await _simulated_start(Path(folder) / "start", tally)
        async with AsyncExitStack() as stack:
            simulated = Path(folder) / "simulated"
            cluster = await stack.enter_async_context(Child("sim_server", str(simulated)))
            await cluster.ask(do="start")
            kubeconfigs = {_SIMULATED: simulated}
            if sizes.real:
                kubeconfigs[_REAL] = Path(folder) / "real"
                await _real_start(kubeconfigs[_REAL], sizes, stack, tally)
            writers = {
                subject: await stack.enter_async_context(Child("writer", str(kubeconfig)))
                for subject, kubeconfig in kubeconfigs.items()
            }
            await _writes(writers, sizes, tally)
            await _lists(writers, sizes, tally)
    start = median(tally.values(_SIMULATED, _START))
    return Report(
        NAME,
        "The simulated cluster beside a real one",
        f"Start: until the first answer over TLS, in a process with everything imported; cold "
        f"start adds the interpreter and the imports. Writes: ConfigMaps of 0.7 KB over TLS from "
        f"another process with {sizes.parallel} requests in parallel. Lists: all "
        f"{sizes.objects:,} objects, decoded.",
        {
            "writes": sizes.writes,
            "parallel": sizes.parallel,
            "objects": sizes.objects,
            "rounds": sizes.cluster_rounds,
        },
        tally.figures(),
        [at_most("A simulated cluster starts in under 300 ms", start, _LIMIT_MS, "ms")],
    )


async def _simulated_start(kubeconfig: Path, tally: Tally) -> None:
    began = time.perf_counter()
    async with Child("sim_server", str(kubeconfig)) as cluster:
        answer = await cluster.ask(do="start")
        cold = time.perf_counter() - began
    tally.add(_SIMULATED, _START, "ms", answer["start"] * 1e3)
    tally.add(_SIMULATED, "cold start", "ms", cold * 1e3)


async def _real_start(kubeconfig: Path, sizes: Sizes, stack: AsyncExitStack, tally: Tally) -> None:
    """Start and stop real clusters, and leave the last one running."""
    for number in range(sizes.cluster_rounds):
        fleet = RealFleet([_REAL_NAME], controllers=False)
        try:
            began = time.perf_counter()
            await fleet.start()
            tally.add(_REAL, "cold start", "ms", (time.perf_counter() - began) * 1e3)
        except BaseException:
            await fleet.stop()
            raise
        if number < sizes.cluster_rounds - 1:
            await fleet.stop()
            continue
        stack.push_async_callback(fleet.stop)
        fleet.clusters[_REAL_NAME].write_kubeconfig(kubeconfig)


async def _writes(writers: dict[str, Child], sizes: Sizes, tally: Tally) -> None:
    for number in range(sizes.cluster_rounds):
        for verb in ("create", "patch", "apply"):
            for subject, writer in writers.items():
                seconds = await _write(writer, verb, number * sizes.writes, sizes.writes, sizes)
                tally.add(subject, verb, "/s", sizes.writes / seconds)
    done = sizes.cluster_rounds * sizes.writes
    for writer in writers.values():
        await _write(writer, "create", done, max(0, sizes.objects - done), sizes)


async def _write(writer: Child, verb: str, first: int, count: int, sizes: Sizes) -> float:
    answer = await writer.ask(do=verb, first=first, count=count, parallel=sizes.parallel)
    return float(answer["seconds"])


async def _lists(writers: dict[str, Child], sizes: Sizes, tally: Tally) -> None:
    for _ in range(sizes.cluster_rounds):
        for chunk, measure_name in ((_CHUNK, f"list by {_CHUNK}"), (0, "list in one piece")):
            for subject, writer in writers.items():
                answer = await writer.ask(do="list", chunk=chunk)
                if answer["objects"] < sizes.objects:
                    raise BenchFailed(f"{subject}: only {answer['objects']} objects are listed.")
                tally.add(subject, measure_name, "ms", answer["seconds"] * 1e3)
