"""Chapter: the fleet comes together, and one client reaches all of it."""

from __future__ import annotations

import asyncio
import time
from functools import partial

from fairlead.demo.narrator import Narrator
from fairlead.demo.stage import MANAGER, Stage
from fairlead.demo.story import Chapter
from fairlead.demo.view import fleet_table
from fairlead.kube.resource import CONFIG_MAPS, Object
from fairlead.registry.health import Health
from fairlead.registry.providers.custom_resource import CLUSTER_REGISTRIES


async def play(stage: Stage, tell: Narrator) -> None:
    for name in stage.clusters:
        claim = f"all {len(stage.agents)} agents see {name} healthy"
        await tell.until(claim, partial(stage.seen, name, Health.HEALTHY))
    tell.show(fleet_table(stage))
    await _apply_everywhere(stage, tell)
    await _reported(stage, tell)


async def _apply_everywhere(stage: Stage, tell: Narrator) -> None:
    greeting: Object = {"metadata": {"name": "greeting"}, "data": {"text": "hello, fleet"}}
    started = time.monotonic()
    await asyncio.gather(
        *(
            client.apply(CONFIG_MAPS, greeting, "default", manager=MANAGER)
            for client in stage.clients.values()
        )
    )
    count = len(stage.clients)
    tell.done(f"one ConfigMap applied to {count} clusters", time.monotonic() - started)
    tell.command(f"kubectl --kubeconfig {stage.kubeconfig} --context west get configmap greeting")


async def _reported(stage: Stage, tell: Narrator) -> None:
    """Each agent reports what it sees into the ClusterRegistry of its own cluster."""
    home = next(iter(stage.clients))

    def summary() -> str:
        cache = stage.agents[home].engine.cache(home, CLUSTER_REGISTRIES)
        registry = next(iter(cache.values()), {})
        return str(registry.get("status", {}).get("summary", ""))

    claim = f"the ClusterRegistry in {home} says so too"
    await tell.until(claim, lambda: summary() == f"{len(stage.clusters)} healthy")
    tell.command(f"kubectl --kubeconfig {stage.kubeconfig} get clusterregistries")


CHAPTER = Chapter(
    "A fleet without a hub",
    "Three clusters in two regions. On each runs an agent that knows all the others.",
    play,
)
