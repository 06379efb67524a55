"""An event loop on which waiting takes no time: when nothing is left to do, its clock jumps to the
next timer. Scenarios of hours run in milliseconds, always in the same order."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

T = TypeVar("T")
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class _JumpingSelector(selectors.SelectSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready:
            return ready
        if timeout is None:
            raise RuntimeError("every task waits for something that never happens")
        self.now += max(timeout, 0.0)
        return []


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def run_virtual(scenario: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(scenario)


class VirtualClock:
    """The loop's time, as one machine sees it: its own zero, its own speed, its own wall clock,
    and suspends that timers do not notice."""

    def __init__(self, *, offset: float = 0.0, rate: float = 1.0, wall_skew: float = 0.0) -> None:
        self._offset = offset
        self._rate = rate
        self._wall_skew = wall_skew
        self.running = asyncio.Event()
        self.running.set()

    def suspend(self, seconds: float) -> None:
        """The machine was asleep for so long; its timers stood still."""
        self._offset += seconds

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time() * self._rate + self._offset

    def wall(self) -> datetime:
        now = asyncio.get_running_loop().time()
        return _EPOCH + timedelta(seconds=now + self._wall_skew)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self._rate)
        await self.running.wait()

    async def pause(self, seconds: float) -> None:
        """Whoever lives by this clock stands still, as after SIGSTOP, while time goes on."""
        self.running.clear()
        await asyncio.sleep(seconds)
        self.running.set()
