"""How a long build shows that it is alive: a live line per step on a terminal, plain lines with
elapsed times in a pipe. Knows nothing of what the steps are."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress as LiveProgress
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

_REMIND_SECONDS = 30.0


class Progress:
    """Plain lines, as a log keeps them."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def tell(self, sentence: str) -> None:
        self._console.print(sentence, markup=False, highlight=False, soft_wrap=True)

    def fail(self, sentence: str) -> None:
        """One sentence on standard error, whatever else was shown."""
        sys.stderr.write(f"{sentence}\n")

    @contextmanager
    def step(self, what: str, doing: str, done: str) -> Iterator[None]:
        """A part of the work: it is told when it begins, every half minute, and when it is done."""
        began = time.monotonic()
        self.tell(f"{what}: {doing}")
        finished = threading.Event()

        def remind() -> None:
            while not finished.wait(_REMIND_SECONDS):
                self.tell(f"{what}: still {doing}, {time.monotonic() - began:.0f} s so far")

        reminder = threading.Thread(target=remind, daemon=True)
        reminder.start()
        try:
            yield
        finally:
            finished.set()
            reminder.join()
        self.tell(f"{what}: {done} in {time.monotonic() - began:.0f} s")


class _Live(Progress):
    def __init__(self, console: Console, live: LiveProgress) -> None:
        super().__init__(console)
        self._live = live

    def fail(self, sentence: str) -> None:
        self._live.stop()
        super().fail(sentence)

    @contextmanager
    def step(self, what: str, doing: str, done: str) -> Iterator[None]:
        began = time.monotonic()
        task = self._live.add_task(f"{what}: {doing}", total=None)
        try:
            yield
        finally:
            self._live.remove_task(task)
            self._live.refresh()
        self.tell(f"{what}: {done} in {time.monotonic() - began:.0f} s")


@contextmanager
def show_progress() -> Iterator[Progress]:
    """The display that fits where standard output goes."""
    console = Console()
    if not console.is_terminal:
        yield Progress(console)
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with LiveProgress(*columns, console=console, transient=True) as live:
        yield _Live(console, live)
