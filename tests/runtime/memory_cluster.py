"""A cluster without a wire, for scenarios on virtual time: objects with versions, lists, watches,
compare-and-swap, and a link that can be cut or slow. Only what reflectors, elections and Events
ask of a client; what an API server really does is pinned by the tests that use one."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, cast

from fairlead.errors import NotFound, Reason, Unreachable
from fairlead.kube.client import Client
from fairlead.kube.errors import AlreadyExists, Gone, StaleResource
from fairlead.kube.objects import ObjectList
from fairlead.kube.patches import MergePatch
from fairlead.kube.resource import CONFIG_MAPS, Object, Resource
from fairlead.kube.watch import WatchEvent

Place = tuple[str, str | None, str]


class MemoryCluster:
    def __init__(self) -> None:
        self.objects: dict[Place, Object] = {}
        self.log: list[tuple[int, str, str, Object]] = []
        self.version = 1
        self.reachable = True
        self.oldest = 0
        self.changed = asyncio.Condition()
        self.watches: dict[str, int] = {}
        self.lists: dict[str, int] = {}

    def client(self) -> Client:
        return cast(Client, MemoryClient(self))

    async def put(
        self, name: str, namespace: str = "shop", resource: Resource = CONFIG_MAPS, **content: Any
    ) -> None:
        obj = {"metadata": {"name": name, "namespace": namespace}, **content}
        await self.write(resource, obj)

    async def remove(
        self, name: str, namespace: str = "shop", resource: Resource = CONFIG_MAPS
    ) -> None:
        obj = self.objects.pop((str(resource), namespace, name))
        await self._tell(resource, "DELETED", obj)

    async def write(self, resource: Resource, obj: Object) -> Object:
        metadata = obj["metadata"]
        place = (str(resource), metadata.get("namespace"), metadata["name"])
        kind = "MODIFIED" if place in self.objects else "ADDED"
        self.objects[place] = obj = copy.deepcopy(obj)
        await self._tell(resource, kind, obj)
        return copy.deepcopy(obj)

    async def expire(self) -> None:
        """What a watch could resume from is compacted away; running watches end."""
        self.oldest = self.version
        await self.cut_watches()

    async def cut_watches(self) -> None:
        self.watch_generation += 1
        async with self.changed:
            self.changed.notify_all()

    watch_generation = 0

    async def _tell(self, resource: Resource, kind: str, obj: Object) -> None:
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        self.log.append((self.version, str(resource), kind, copy.deepcopy(obj)))
        async with self.changed:
            self.changed.notify_all()


class MemoryClient:
    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster
        self.closed = False

    async def get(self, resource: Resource, name: str, namespace: str | None = None, /) -> Object:
        await self._reach()
        try:
            return copy.deepcopy(self._cluster.objects[(str(resource), namespace, name)])
        except KeyError as error:
            raise NotFound(f"{name} does not exist") from error

    async def create(
        self, resource: Resource, obj: Object, namespace: str | None = None, /
    ) -> Object:
        await self._reach()
        if (str(resource), namespace, obj["metadata"]["name"]) in self._cluster.objects:
            raise AlreadyExists("it exists")
        return await self._cluster.write(resource, obj)

    async def replace(
        self, resource: Resource, obj: Object, namespace: str | None = None, /
    ) -> Object:
        current = await self.get(resource, obj["metadata"]["name"], namespace)
        if obj["metadata"]["resourceVersion"] != current["metadata"]["resourceVersion"]:
            raise StaleResource("it changed")
        return await self._cluster.write(resource, obj)

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: MergePatch,
        namespace: str | None = None,
        /,
    ) -> Object:
        current = await self.get(resource, name, namespace)
        return await self._cluster.write(resource, {**current, **patch.content})

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        transform: Callable[[Object], Object],
        **selection: Any,
    ) -> ObjectList:
        await self._reach()
        cluster, plural = self._cluster, str(resource)
        cluster.lists[plural] = cluster.lists.get(plural, 0) + 1
        found = [obj for place, obj in cluster.objects.items() if place[0] == plural]
        return ObjectList([transform(copy.deepcopy(obj)) for obj in found], str(cluster.version))

    def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        resource_version: str,
        **selection: Any,
    ) -> _Watching:
        return _Watching(self._events(str(resource), int(resource_version)))

    async def request(self, method: str, path: str, **options: Any) -> Any:
        await self._reach()
        return _Answer(self._cluster.version)

    async def _events(self, plural: str, since: int) -> AsyncIterator[WatchEvent]:
        await self._reach()
        cluster = self._cluster
        if since < cluster.oldest:
            raise Gone("too old")
        generation = cluster.watch_generation
        cluster.watches[plural] = cluster.watches.get(plural, 0) + 1
        try:
            position = 0
            while generation == cluster.watch_generation:
                for version, about, kind, obj in cluster.log[position:]:
                    position += 1
                    if version > since and about == plural:
                        yield WatchEvent(cast(Any, kind), copy.deepcopy(obj))
                async with cluster.changed:
                    if position == len(cluster.log) and generation == cluster.watch_generation:
                        await cluster.changed.wait()
                if not cluster.reachable:
                    raise Unreachable(Reason.CONNECT, "the link is cut")
        finally:
            cluster.watches[plural] -= 1

    async def _reach(self) -> None:
        await asyncio.sleep(0.001)
        if self.closed or not self._cluster.reachable:
            raise Unreachable(Reason.CONNECT, "the link is cut")


class _Watching:
    def __init__(self, events: AsyncIterator[WatchEvent]) -> None:
        self._events = events

    async def __aenter__(self) -> AsyncIterator[WatchEvent]:
        return self._events

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await cast(Any, self._events).aclose()


class _Answer:
    def __init__(self, version: int) -> None:
        self._version = version

    def json(self) -> Any:
        return {"metadata": {"resourceVersion": str(self._version)}}
