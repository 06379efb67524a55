"""One child process that cannot be lost: its own process group, its output in a log file, ready
before `start` returns, gone when `stop` or `kill` returns, and killed by the kernel if this
process dies first. Not bound to an event loop, so a child may outlive the loop that started it.
Knows nothing of Kubernetes."""

from __future__ import annotations

import asyncio
import atexit
import os
import subprocess
import sys
import time
import weakref
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from fairlead_sim.real.errors import RealPartFailed

_POLL_SECONDS = 0.05
_LOG_LINES = 8
_LOG_TAIL_BYTES = 16 * 1024
_LINE_CHARACTERS = 400

# Linux kills the child when the *thread* that made it ends, so one thread that lives as long as
# this process makes them all.
_launcher = ThreadPoolExecutor(max_workers=1, thread_name_prefix="fairlead-real")

# The wish to die with the parent must be made in the child, between fork and exec. A small Python
# program that then becomes the real one does it safely; code in a forked copy of a process with
# threads could deadlock.
_DIE_WITH_PARENT = """\
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    os._exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""

Ready = Callable[[], Awaitable[bool]]


class Process:
    """A program with its arguments; it can be started, stopped and started again."""

    def __init__(self, name: str, command: Sequence[str], log: Path, directory: Path) -> None:
        self.name = name
        self.log = log
        self._command = tuple(command)
        self._directory = directory
        self._child: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._child.pid if self._child is not None and self.alive else None

    @property
    def alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    async def start(self, ready: Ready, within: float) -> None:
        """Start it and wait until `ready` says so; if that fails nothing is left running."""
        if self.alive:
            return
        # Milliseconds, and not awaited: a cancelled start must know the child it has to end.
        self._child = _launcher.submit(self._launch).result()
        try:
            await self._until_ready(ready, within)
        except BaseException:
            self.kill()
            raise

    async def stop(self, within: float = 10.0) -> None:
        """Ask it to end, and end it for certain after `within` seconds."""
        if self._child is None:
            return
        self._child.terminate()
        try:
            with suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._child.wait, within)
        finally:
            self.kill()

    def kill(self) -> None:
        """End it at once, without a chance to tidy up."""
        if self._child is None:
            return
        self._child.kill()
        self._child.wait()
        self._child = None
        _running.discard(self)

    def last_words(self) -> str:
        """The end of what it has logged since it was last started, on one line."""
        with self.log.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(self._log_start, end - _LOG_TAIL_BYTES))
            lines = file.read().decode(errors="replace").split("\n")
        said = [line.strip()[:_LINE_CHARACTERS] for line in lines if line.strip()]
        return " | ".join(said[-_LOG_LINES:]) or "(it logged nothing)"

    def _launch(self) -> subprocess.Popen[bytes]:
        command = self._command
        if sys.platform == "linux":
            shim = (sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid()))
            command = (*shim, *command)
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._directory,
                process_group=0,
            )
        _running.add(self)
        return child

    async def _until_ready(self, ready: Ready, within: float) -> None:
        give_up = time.monotonic() + within
        while not await ready():
            if self._child is None or (code := self._child.poll()) is not None:
                how = f"ended with code {code}" if self._child else "was stopped"
                raise RealPartFailed(
                    f"{self.name} {how} before it was ready; "
                    f"the end of its log {self.log}: {self.last_words()}"
                )
            if time.monotonic() > give_up:
                raise RealPartFailed(
                    f"{self.name} was not ready within {within:g} seconds; "
                    f"the end of its log {self.log}: {self.last_words()}"
                )
            await asyncio.sleep(_POLL_SECONDS)


_running: weakref.WeakSet[Process] = weakref.WeakSet()


@atexit.register
def _kill_what_is_left() -> None:
    for process in tuple(_running):
        process.kill()
