"""Runs a command's coroutine on the fastest event loop there is, and lets it clean up when the
process is told to end."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Ctrl-C and SIGTERM cancel it; both end in KeyboardInterrupt once it has cleaned up. What a
    command has to say it prints itself, so its log is silent unless something breaks."""
    from fairlead.runtime.logs import configure_logging

    configure_logging(level="error", format="console")
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if sys.platform != "win32":
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        try:
            return runner.run(_cancelled_by_sigterm(coroutine))
        except asyncio.CancelledError as error:
            raise KeyboardInterrupt from error


async def _cancelled_by_sigterm(coroutine: Coroutine[Any, Any, T]) -> T:
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await coroutine
