"""The work queue of one controller in one cluster, with the semantics of client-go's: a key waits
at most once, is in the hands of at most one worker, and comes again if it was added meanwhile.
Owns order, delays and retries; knows nothing of clusters, reconcilers or metrics."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from fairlead.backoff import Backoff
from fairlead.runtime.clock import Clock

K = TypeVar("K", bound=Hashable)

_LONGEST_NAP = 60.0  # a nap does not count suspended time, so long waits look at the clock again


class QueueClosed(Exception):
    """The queue hands out no more keys."""


@dataclass(frozen=True, slots=True)
class Taken(Generic[K]):
    key: K
    waited: float
    """Seconds between the moment the key was ready and now."""


class WorkQueue(Generic[K]):
    def __init__(self, clock: Clock, backoff: Backoff) -> None:
        self._clock = clock
        self._backoff = backoff
        self._ready: dict[K, float] = {}  # insertion order is the order of service
        self._processing: dict[K, float] = {}
        self._again: dict[K, float] = {}  # added while being processed
        self._due: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._sequence = 0
        self._failures: dict[K, int] = {}
        self._getters: deque[asyncio.Future[None]] = deque()
        self._pump: asyncio.Task[None] | None = None
        self._pump_due = 0.0
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False
        self.adds = 0
        self.retries = 0

    def __len__(self) -> int:
        """Keys that wait for a worker now."""
        return len(self._ready) + len(self._again)

    @property
    def delayed(self) -> int:
        return len(self._due)

    @property
    def processing(self) -> int:
        return len(self._processing)

    def oldest_age(self) -> float:
        """How long the key that is ready for longest has been waiting."""
        if not self._ready:
            return 0.0
        return self._clock.monotonic() - min(self._ready.values())

    def longest_processing(self) -> float:
        """How long the key that has been in a worker's hands for longest has been there."""
        if not self._processing:
            return 0.0
        return self._clock.monotonic() - next(iter(self._processing.values()))

    def add(self, key: K) -> None:
        if self._closed or key in self._ready or key in self._again:
            return
        self.adds += 1
        now = self._clock.monotonic()
        if key in self._processing:
            self._again[key] = now
            return
        self._ready[key] = now
        self._wake_one()

    def add_after(self, key: K, seconds: float) -> None:
        """Adds the key later; of several wishes the earliest wins."""
        if seconds <= 0:
            self.add(key)
            return
        due = self._clock.monotonic() + seconds
        if self._closed or self._due.get(key, due + 1) <= due:
            return
        self._due[key] = due
        self._sequence += 1
        heapq.heappush(self._heap, (due, self._sequence, key))
        self._run_pump(due)

    def retry(self, key: K) -> tuple[int, float]:
        """Adds the key after a delay that grows with each failure; (failures, delay)."""
        failures = self._failures.get(key, 0) + 1
        self._failures[key] = failures
        self.retries += 1
        delay = self._backoff.delay(failures)
        self.add_after(key, delay)
        return failures, delay

    def succeeded(self, key: K) -> None:
        """The next failure of the key is its first again."""
        self._failures.pop(key, None)

    def forget(self, key: K) -> None:
        """Besides, whatever delay is running for the key no longer brings it back."""
        self._failures.pop(key, None)
        self._due.pop(key, None)

    async def get(self) -> Taken[K]:
        """The next key; the caller must call `done` with it."""
        while not self._ready:
            if self._closed:
                raise QueueClosed
            await self._wait_for_key()
        if self._closed:
            raise QueueClosed
        key = next(iter(self._ready))
        added = self._ready.pop(key)
        now = self._clock.monotonic()
        self._processing[key] = now
        self._idle.clear()
        return Taken(key, now - added)

    def done(self, key: K) -> None:
        del self._processing[key]
        added = self._again.pop(key, None)
        if added is not None:
            self._ready[key] = added
            self._wake_one()
        if not self._processing:
            self._idle.set()

    def close(self) -> None:
        """Takes no more keys and hands none out; what is being processed may end."""
        self._closed = True
        for waiting in (self._ready, self._again, self._due, self._failures):
            waiting.clear()
        self._heap.clear()
        if self._pump is not None:
            self._pump.cancel()
            self._pump = None
        while self._getters:
            self._wake_one()

    async def idle(self) -> None:
        """Returns once no key is in a worker's hands."""
        await self._idle.wait()

    async def _wait_for_key(self) -> None:
        getter = asyncio.get_running_loop().create_future()
        self._getters.append(getter)
        try:
            await getter
        except asyncio.CancelledError:
            if getter.done() and not getter.cancelled():
                self._wake_one()  # the wake-up was meant for a worker, not for this one
            with contextlib.suppress(ValueError):
                self._getters.remove(getter)
            raise

    def _wake_one(self) -> None:
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return

    def _run_pump(self, due: float) -> None:
        running = self._pump is not None and not self._pump.done()
        if running and self._pump_due <= due:
            return
        if self._pump is not None:
            self._pump.cancel()
        self._pump_due = due
        self._pump = asyncio.get_running_loop().create_task(self._move_due_keys())

    async def _move_due_keys(self) -> None:
        while self._heap:
            due, _, key = self._heap[0]
            if self._due.get(key) != due:
                heapq.heappop(self._heap)  # forgotten, or overtaken by an earlier wish
                continue
            self._pump_due = due
            remaining = due - self._clock.monotonic()
            if remaining > 0:
                await self._clock.sleep(min(remaining, _LONGEST_NAP))
                continue
            heapq.heappop(self._heap)
            del self._due[key]
            self.add(key)
