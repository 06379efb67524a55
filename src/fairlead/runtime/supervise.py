"""Keeps a task going that has no reason to end. Owns the restart after an unforeseen exception;
knows nothing of what the task does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from fairlead.backoff import Backoff
from fairlead.runtime.clock import Clock

log = structlog.get_logger(__name__)

_GOOD_RUN = 60.0  # whoever lasted that long starts again with the shortest delay


async def supervise(
    what: str, run: Callable[[], Awaitable[None]], clock: Clock, backoff: Backoff
) -> None:
    """Runs until `run` returns by itself; an exception is logged and `run` called again."""
    failures = 0
    while True:
        began = clock.monotonic()
        try:
            return await run()
        except Exception as error:
            if clock.monotonic() - began >= _GOOD_RUN:
                failures = 0
            failures += 1
            delay = backoff.delay(failures)
            log.exception("task failed and starts again", task=what, error=str(error), after=delay)
        await clock.sleep(delay)


async def stop_task(task: asyncio.Task[None], grace: float) -> bool:
    """Cancels a task and waits for its end, up to `grace` seconds; whether it ended."""
    task.cancel()
    await asyncio.wait({task}, timeout=grace)
    if not task.done():
        log.error("task ignores its cancellation", task=task.get_name(), waited=grace)
        return False
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("task ended badly", task=task.get_name(), error=str(error), exc_info=error)
    return True
