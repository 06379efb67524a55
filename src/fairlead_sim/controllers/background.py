"""Runs the controllers that a cluster has besides its API server: garbage collection, namespaces,
definitions. They look at what changed, one thing after another, soon after each write. Knows
nothing of HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from fairlead_sim.controllers.crds import DefinitionController
from fairlead_sim.controllers.garbage import GarbageCollector
from fairlead_sim.controllers.namespaces import NamespaceController
from fairlead_sim.kinds.catalogue import StorageKey
from fairlead_sim.objects.storage import Event, Store

_log = logging.getLogger(__name__)
Work = tuple[str, object]


class Background:
    """One queue without duplicates, one task."""

    def __init__(
        self,
        store: Store,
        garbage: GarbageCollector,
        namespaces: NamespaceController,
        definitions: DefinitionController,
    ) -> None:
        self._garbage = garbage
        self._namespaces = namespaces
        self._definitions = definitions
        self._queue: dict[Work, Callable[[], None]] = {}
        self._work = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._task: asyncio.Task[None] | None = None
        store.listen(self._changed)

    def _changed(self, storage: StorageKey, event: Event) -> None:
        self._definitions.follow(storage, event)
        for place in self._garbage.touched(storage, event):
            self._add(("garbage", place), partial(self._garbage.process, place))
        if namespace := self._namespaces.touched(storage, event):
            self._add(("namespace", namespace), partial(self._namespaces.process, namespace))
        if definition := self._definitions.touched(storage, event):
            self._add(("definition", definition), partial(self._definitions.process, definition))

    def _add(self, work: Work, action: Callable[[], None]) -> None:
        self._queue[work] = action
        self._idle.clear()
        self._work.set()

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def settle(self) -> None:
        """Wait until everything that follows from the writes so far has happened."""
        await self._idle.wait()

    def drain(self) -> None:
        """Do all waiting work now; for the start, before anybody is served."""
        while self._queue:
            self._step()
        self._idle.set()

    async def _run(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            while self._queue:
                self._step()
                await asyncio.sleep(0)
            self._idle.set()

    def _step(self) -> None:
        work = next(iter(self._queue))
        action = self._queue.pop(work)
        try:
            action()
        except Exception:  # noqa: BLE001 - one object's trouble must not stop the controllers
            _log.exception("controller %s failed", work[0])
