"""Measures what a local copy of a cluster's objects costs: time to list them all, processor time
to follow a change of each, and the memory it takes. Knows nothing of how the libraries work."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.figures import Report, Tally
from bench.processes import Child
from bench.sizes import Sizes

NAME = "reflector"
_SUBJECTS = {"fairlead": "Fairlead", "lightkube": "lightkube", "kopf": "kopf"}


async def measure(sizes: Sizes) -> Report:
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as folder:
        kubeconfig = str(Path(folder) / "kubeconfig")
        async with Child("sim_server", kubeconfig) as cluster:
            await cluster.ask(do="fill", objects=sizes.objects)
            generation = 0
            for _ in range(sizes.follower_rounds):
                for library in _SUBJECTS:
                    async with Child("followers", library, kubeconfig) as follower:
                        await _follow(follower, cluster, generation, sizes, library, tally)
                    generation += 1
    return Report(
        NAME,
        f"{sizes.objects:,} pods listed and watched into a local copy",
        "Each library in a fresh process, against one simulated cluster in another; memory is "
        "above the process with everything imported, settled means a few quiet seconds and a "
        "collection later. Changes are written as fast as the simulated cluster can, so their "
        "cost is told as processor time.",
        {"objects": sizes.objects, "rounds": sizes.follower_rounds},
        tally.figures(),
        [],
    )


async def _follow(
    follower: Child, cluster: Child, generation: int, sizes: Sizes, library: str, tally: Tally
) -> None:
    """The objects are of this generation when listed and of the next when followed."""
    subject, objects = _SUBJECTS[library], sizes.objects
    now, later = str(generation), str(generation + 1)
    settle = sizes.settle_seconds
    await follower.ask(do="begin")
    listed = await follower.ask(do="reach", generation=now, objects=objects, settle=settle)
    await follower.ask(do="begin")
    await cluster.ask(do="write", objects=objects, generation=later, rate=0, clump=50)
    followed = await follower.ask(do="reach", generation=later, objects=objects, settle=0)
    tally.add(subject, "list, time", "s", listed["seconds"])
    tally.add(subject, "list, processor", "s", listed["processor"])
    tally.add(subject, f"{objects:,} changes, processor", "s", followed["processor"])
    tally.add(subject, "memory, settled", "MB", listed["settled"])
    tally.add(subject, "memory, peak", "MB", followed["peak"])
