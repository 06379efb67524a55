"""The live view: redraws the fleet until it is told to end; on a terminal a key cuts a cluster
off and brings it back."""

from __future__ import annotations

import asyncio
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from fairlead.demo.stage import Stage
from fairlead.demo.view import fleet_table, worries

_FRAME_SECONDS = 0.25


class LiveView:
    def __init__(self, stage: Stage, console: Console, stop: asyncio.Event) -> None:
        self._stage = stage
        self._console = console
        self._stop = stop
        self._away: set[str] = set()
        self._switching: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Until the stop event; in a pipe a line is printed whenever something changes."""
        if not (self._console.is_terminal and sys.stdin.isatty()):
            await self._print_changes()
            return
        with self._keys(), Live(self._frame(), console=self._console, auto_refresh=False) as live:
            while not self._stop.is_set():
                live.update(self._frame(), refresh=True)
                await asyncio.sleep(_FRAME_SECONDS)

    def _frame(self) -> RenderableType:
        keys = f"1-{len(self._stage.clusters)} cut a cluster off or bring it back    q quit"
        notes = [Text(f"  {worry}", style="yellow") for worry in worries(self._stage)]
        return Group(fleet_table(self._stage), *notes, Text(), Text(f"  {keys}", style="dim"))

    async def _print_changes(self) -> None:
        shown = None
        while not self._stop.is_set():
            now = [
                (name, observer, view.health.health.value if (view := view_) else "unknown")
                for name in self._stage.clusters
                for observer in self._stage.agents
                for view_ in [self._stage.view(observer, name)]
            ]
            if now != shown:
                shown = now
                self._console.print(fleet_table(self._stage))
            await asyncio.sleep(_FRAME_SECONDS)

    @contextmanager
    def _keys(self) -> Iterator[None]:
        """Single keys without Enter, and the terminal as it was afterwards."""
        loop = asyncio.get_running_loop()
        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)
        tty.setcbreak(terminal)
        loop.add_reader(terminal, lambda: self._pressed(sys.stdin.read(1)))
        try:
            yield
        finally:
            loop.remove_reader(terminal)
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)

    def _pressed(self, key: str) -> None:
        names = list(self._stage.clusters)
        if key in ("q", "\x04", ""):
            self._stop.set()
        elif key.isdigit() and 1 <= int(key) <= len(names):
            task = asyncio.get_running_loop().create_task(self._switch(names[int(key) - 1]))
            self._switching.add(task)
            task.add_done_callback(self._switching.discard)

    async def _switch(self, name: str) -> None:
        cluster = self._stage.clusters[name]
        if name in self._away:
            self._away.discard(name)
            await cluster.reconnect()
        else:
            self._away.add(name)
            await cluster.cut_off()
