"""Objects of one cluster that a provider depends on, each followed by a reflector of its own so
that a right to read just those names is enough. Owns starting and stopping them; knows nothing of
what stands in the objects."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass

from fairlead.errors import FairleadError
from fairlead.kube.client import Client
from fairlead.kube.reflector import Reflector
from fairlead.kube.resource import Object, Resource


@dataclass(frozen=True, slots=True)
class Target:
    """What is followed: one object, or with no name all of them."""

    resource: Resource
    namespace: str | None = None
    name: str | None = None

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.resource.kind} {where}{self.name}" if self.name else str(self.resource)


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a target. `complete` False: nothing yet; `error` says why no news come."""

    objects: tuple[Object, ...]
    complete: bool
    error: FairleadError | None


class Follower:
    """Follows a changing set of targets; `changed` is set whenever anything is news."""

    def __init__(self, client: Client, group: asyncio.TaskGroup) -> None:
        self.changed = asyncio.Event()
        self._client = client
        self._group = group
        self._reflectors: dict[Target, Reflector] = {}
        self._tasks: dict[Target, asyncio.Task[None]] = {}

    def follow(self, targets: Collection[Target]) -> None:
        """Exactly these from now on."""
        for target in self._tasks.keys() - set(targets):
            del self._reflectors[target]
            self._tasks.pop(target).cancel()
        for target in targets:
            if target not in self._tasks:
                self._start(target)

    @property
    def targets(self) -> frozenset[Target]:
        return frozenset(self._tasks)

    def seen(self, target: Target) -> Seen:
        reflector = self._reflectors[target]
        objects = sorted(reflector.store.items(), key=lambda item: (item[0][0] or "", item[0][1]))
        found = tuple(obj for _, obj in objects)
        return Seen(found, reflector.synced.is_set(), reflector.last_error)

    @property
    def disturbed(self) -> bool:
        """Whether some target is not followed right now."""
        return any(
            reflector.last_error is not None or not reflector.synced.is_set()
            for reflector in self._reflectors.values()
        )

    def _start(self, target: Target) -> None:
        reflector = Reflector(
            self._client,
            target.resource,
            target.namespace,
            fields=f"metadata.name={target.name}" if target.name else None,
            on_change=lambda _change: self.changed.set(),
            on_restart=lambda _reason: self.changed.set(),
        )
        self._reflectors[target] = reflector
        self._tasks[target] = self._group.create_task(self._run(reflector))

    async def _run(self, reflector: Reflector) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(reflector.run())
            # A target that turns out to be empty makes no change, but it is news.
            await reflector.synced.wait()
            self.changed.set()
