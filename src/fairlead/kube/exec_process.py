"""Runs one short program with bounded time and output, and leaves no process behind. Owns the
process; knows nothing of what the program prints."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

MAX_OUTPUT = 1024 * 1024
MAX_COMPLAINT = 64 * 1024
_PIPES_AFTER_EXIT_SECONDS = 1.0
_KILL_SECONDS = 5.0
_STDOUT, _STDERR = 1, 2


class OutputTooLong(Exception):
    """The program printed more than `MAX_OUTPUT`."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended. Its output may be a secret."""

    code: int
    stdout: bytes = field(repr=False)
    stderr: bytes = field(repr=False)


async def run_program(
    command: Sequence[str], env: Mapping[str, str], *, interactive: bool, timeout: float
) -> Finished:
    """Runs `command` to its end.

    Raises TimeoutError, OutputTooLong, or OSError or ValueError if it cannot be started. An
    interactive program gets our standard input and its standard error is also shown as it comes:
    that is where it asks.
    """
    loop = asyncio.get_running_loop()
    transport, capture = await loop.subprocess_exec(
        lambda: _Capture(loop, show=interactive),
        *command,
        stdin=None if interactive else asyncio.subprocess.DEVNULL,
        env=dict(env),
        # In a session of its own, so that its children can be ended with it; but a program that
        # talks to a person must stay in the terminal's foreground group.
        start_new_session=not interactive,
    )
    try:
        async with asyncio.timeout(timeout):
            await capture.finished
        if capture.too_long:
            raise OutputTooLong
        code = transport.get_returncode()
        return Finished(-1 if code is None else code, bytes(capture.stdout), bytes(capture.stderr))
    finally:
        await _end(transport, capture, whole_group=not interactive)


class _Capture(asyncio.SubprocessProtocol):
    """Collects output up to its bounds; `finished` when it all is there or is too much."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, show: bool) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.too_long = False
        self.exited: asyncio.Future[None] = loop.create_future()
        self.finished: asyncio.Future[None] = loop.create_future()
        self._loop = loop
        self._show = show
        self._open = {_STDOUT, _STDERR}
        self._patience: asyncio.TimerHandle | None = None

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == _STDOUT:
            self.stdout += data[: MAX_OUTPUT + 1 - len(self.stdout)]
            if len(self.stdout) > MAX_OUTPUT:
                self.too_long = True
                self._finish()
            return
        self.stderr += data[: MAX_COMPLAINT - len(self.stderr)]
        if self._show:
            sys.stderr.write(data.decode("utf-8", "replace"))
            sys.stderr.flush()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if self.exited.done() and not self._open:
            self._finish()

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)
        if not self._open:
            self._finish()
        else:
            # A child left in the background may hold the pipes open for ever.
            self._patience = self._loop.call_later(_PIPES_AFTER_EXIT_SECONDS, self._finish)

    def _finish(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
        if not self.finished.done():
            self.finished.set_result(None)


async def _end(
    transport: asyncio.SubprocessTransport, capture: _Capture, *, whole_group: bool
) -> None:
    try:
        if not capture.exited.done():
            _kill(transport.get_pid(), whole_group=whole_group)
            await asyncio.wait([capture.exited], timeout=_KILL_SECONDS)
    finally:
        transport.close()


def _kill(pid: int, *, whole_group: bool) -> None:
    try:
        if whole_group:
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
