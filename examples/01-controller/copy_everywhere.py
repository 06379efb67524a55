"""A whole controller over many clusters: every ConfigMap that carries the label below is kept, with
the same content, in every other cluster of the fleet. The cluster where somebody wrote it is its
home; the copies say so in an annotation, and are mended when somebody changes them.

    python examples/01-controller/copy_everywhere.py ./fleet
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable
from pathlib import Path

from fairlead.app import Fleet
from fairlead.kube import CONFIG_MAPS, Object, read
from fairlead.kube.reading import Found, Unknown
from fairlead.runtime import Controller, Engine, Request, Result, Watch
from fairlead.settings import Settings, load_settings

LABEL = "example.fairlead.dev/everywhere"
HOME = "example.fairlead.dev/home"


def home_of(cluster: str, obj: Object) -> str:
    return str((obj["metadata"].get("annotations") or {}).get(HOME, cluster))


def at_its_home(cluster: str, obj: Object) -> Iterable[Request]:
    """Whether the original or a copy changed, the original is what to look at."""
    metadata = obj["metadata"]
    yield Request(home_of(cluster, obj), metadata["namespace"], metadata["name"])


class CopyEverywhere:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def reconcile(self, request: Request) -> Result | None:
        cache = self._engine.cache(request.cluster, CONFIG_MAPS, labels=LABEL)
        original = cache.find(request.name, request.namespace)
        if original is None or home_of(request.cluster, original) != request.cluster:
            return None
        others = [name for name in self._engine.clusters if name != request.cluster]
        missing = [name for name in others if not await self._copy(original, request, name)]
        if missing:
            return Result(after=5.0, reason=f"waiting for {', '.join(missing)}")
        return Result(reason=f"copied to {len(others)} clusters")

    async def _copy(self, original: Object, request: Request, cluster: str) -> bool:
        """Unknown is not absent: where nobody answers, nothing is written."""
        client = self._engine.client(cluster)
        there = await read(client, CONFIG_MAPS, request.name, request.namespace)
        if isinstance(there, Unknown):
            return False
        if isinstance(there, Found) and home_of(cluster, there.object) != request.cluster:
            return True  # somebody else's ConfigMap of the same name
        copy: Object = {
            "metadata": {
                "name": request.name,
                "labels": original["metadata"]["labels"],
                "annotations": {HOME: request.cluster},
            },
            "data": original.get("data", {}),
        }
        await client.apply(CONFIG_MAPS, copy, request.namespace, manager="example", force=True)
        return True


async def run(settings: Settings) -> None:
    engine = Engine()
    watch = Watch(CONFIG_MAPS, map=at_its_home, labels=LABEL)
    engine.add(Controller("copy-everywhere", CopyEverywhere(engine), watches=(watch,)))
    async with Fleet(settings) as fleet, asyncio.TaskGroup() as group:
        group.create_task(fleet.registry((engine,)).run())
        group.create_task(engine.run())


if __name__ == "__main__":
    asyncio.run(run(load_settings(Path(sys.argv[1]))))
