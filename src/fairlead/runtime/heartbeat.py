"""Proof that the event loop turns. Owns one task that notes the time and how late it was woken;
knows nothing of what else the loop carries."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.runtime.clock import Clock

_INTERVAL = 1.0


class Heartbeat:
    def __init__(
        self, clock: Clock, limit: float, on_lag: Callable[[float], None] = lambda lag: None
    ) -> None:
        self._clock = clock
        self._limit = limit
        self._on_lag = on_lag
        self._last = clock.monotonic()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._last = self._clock.monotonic()
            await self._clock.sleep(_INTERVAL)
            self._on_lag(max(0.0, self._clock.monotonic() - self._last - _INTERVAL))

    def check(self) -> str | None:
        """Why the loop is not alive, or None."""
        silent = self._clock.monotonic() - self._last
        if silent <= self._limit:
            return None
        return f"no heartbeat for {silent:.0f} s"
