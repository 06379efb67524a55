"""One watched selection of one cluster, shared by all controllers that ask for it: a reflector,
the cache that reconcilers read, and who hears of changes. Owns the change-over to a new client
without an empty moment; knows nothing of queues or leases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping

import structlog

from fairlead.errors import FairleadError
from fairlead.kube.client import Client
from fairlead.kube.reflector import Change, Reflector
from fairlead.kube.resource import Key, Object
from fairlead.runtime.controller import Selection

log = structlog.get_logger(__name__)

OnChange = Callable[[Object | None, Object | None], None]
"""Called with the old and the new object; None: not there."""

_BATCH = 500


class Cache(Mapping[Key, Object]):
    """What a reconciler may read without asking the API server: (namespace, name) to object.
    Objects are shared, so they must not be changed. Before `synced` nothing here says that
    something does not exist."""

    def __init__(self, informer: Informer) -> None:
        self._informer = informer

    @property
    def synced(self) -> bool:
        return self._informer.synced.is_set()

    def __getitem__(self, key: Key) -> Object:
        return self._informer.store[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._informer.store)

    def __len__(self) -> int:
        return len(self._informer.store)

    def find(self, name: str, namespace: str | None = None) -> Object | None:
        return self._informer.store.get((namespace, name))

    def in_namespace(self, namespace: str) -> list[Object]:
        return [obj for (where, _), obj in self._informer.store.items() if where == namespace]


class Informer:
    def __init__(self, selection: Selection, on_restart: Callable[[str], None]) -> None:
        self.selection = selection
        self.synced = asyncio.Event()
        self.store: Mapping[Key, Object] = {}
        self.cache = Cache(self)
        self._on_restart = on_restart
        self._listeners: list[OnChange] = []
        self._reflector: Reflector | None = None
        self._adopted: Reflector | None = None

    @property
    def last_error(self) -> FairleadError | None:
        return self._reflector.last_error if self._reflector else None

    def listen(self, on_change: OnChange) -> None:
        self._listeners.append(on_change)

    async def run(self, client: Client) -> None:
        """Until cancelled. May be run again with another client: what the cache holds stays
        until the new watch has all of it, and only differences are told."""

        def changed(change: Change) -> None:
            # Before that the cache still shows the past, and a reconcile would decide on it.
            if self._adopted is reflector:
                self._tell(change.old, change.object if change.kind == "set" else None)

        selection = self.selection
        reflector = Reflector(
            client,
            selection.resource,
            selection.namespace,
            labels=selection.labels,
            fields=selection.fields,
            on_change=changed,
            on_restart=self._on_restart,
        )
        self._reflector = reflector
        async with asyncio.TaskGroup() as group:
            group.create_task(reflector.run())
            await reflector.synced.wait()
            await self._adopt(reflector)

    async def _adopt(self, reflector: Reflector) -> None:
        before, self.store = self.store, reflector.store
        self._adopted = reflector
        differences = [
            (before.get(key), obj) for key, obj in self.store.items() if before.get(key) != obj
        ]
        vanished = [(obj, None) for key, obj in before.items() if key not in self.store]
        for number, (old, new) in enumerate([*differences, *vanished]):
            self._tell(old, new)
            if number % _BATCH == _BATCH - 1:
                await asyncio.sleep(0)
        self.synced.set()

    def replay(self, listener: OnChange) -> None:
        """Tells one listener of everything there is."""
        for obj in list(self.store.values()):
            self._call(listener, None, obj)

    def _tell(self, old: Object | None, new: Object | None) -> None:
        for listener in self._listeners:
            self._call(listener, old, new)

    def _call(self, listener: OnChange, old: Object | None, new: Object | None) -> None:
        try:
            listener(old, new)
        except Exception:
            # A bug in one controller's mapping must not end the watch of all the others.
            log.exception("change could not be mapped", selection=str(self.selection))
