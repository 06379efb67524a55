"""Time as the engine sees it: a monotonic clock for every decision, a wall clock for display
only. Owns the choice of the operating system's clock; knows nothing of who waits for what."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def monotonic(self) -> float:
        """Seconds since an arbitrary moment, on this machine only; never runs backwards."""
        ...

    def wall(self) -> datetime:
        """What a person's watch shows. To be written down for people, never to be compared."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's clock. It goes on counting while the machine is suspended where the system
    allows it: a lease runs out during a suspend, and its holder has to notice."""

    def __init__(self) -> None:
        self._clock_id = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

    def monotonic(self) -> float:
        return time.clock_gettime(self._clock_id)

    def wall(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
