"""Garbage collection that does not get in the way. Python looks through every object it holds when
enough new ones have survived; with ten thousand Kubernetes objects in caches that is a pause of a
tenth of a second, several times a second under load, for nothing: JSON has no cycles. So full
collections happen by the clock. Owns that policy; the young generations are left to Python."""

from __future__ import annotations

import gc

from fairlead.runtime.clock import Clock

_YOUNG_OFTEN_OLD_NEVER = (10_000, 20, 1_000_000)


class Collector:
    def __init__(self, clock: Clock, seconds: float = 300.0) -> None:
        self._clock = clock
        self._seconds = seconds

    async def run(self) -> None:
        """Until cancelled; then everything is as it was before."""
        before = gc.get_threshold()
        gc.set_threshold(*_YOUNG_OFTEN_OLD_NEVER)
        try:
            while True:
                await self._clock.sleep(self._seconds)
                gc.collect()
        finally:
            gc.set_threshold(*before)
