"""Tells the tour: a heading per chapter, a line per step with how long it took. Owns the words'
form, on a terminal and in a pipe; knows nothing of what is told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from rich.console import Console, RenderableType
from rich.rule import Rule

from fairlead.errors import Transient


class StepFailed(Transient):
    """Something the tour promised did not happen in time."""


class Narrator:
    def __init__(self, console: Console) -> None:
        self._console = console

    def chapter(self, number: int, title: str, about: str) -> None:
        self._console.print()
        self._console.print(Rule(f"[bold]{number}. {title}", align="left", style="dim"))
        self._console.print(about, style="dim")

    def say(self, text: str) -> None:
        self._console.print(f"  {text}")

    def command(self, text: str) -> None:
        """Something the reader could type."""
        self._console.print(f"  [bold]$[/] [cyan]{text}[/]")

    def show(self, what: RenderableType) -> None:
        self._console.print(what)

    async def until(self, claim: str, is_true: Callable[[], bool], *, within: float = 30.0) -> None:
        """Wait until a claim has become true, then say so; fail the tour if it does not."""
        started = time.monotonic()
        with self._console.status(f"  {claim} ..."):
            while not is_true():
                if time.monotonic() - started > within:
                    raise StepFailed(f"within {within:.0f} s it did not become true that {claim}")
                await asyncio.sleep(0.05)
        self.done(claim, time.monotonic() - started)

    def done(self, claim: str, seconds: float) -> None:
        self._console.print(f"  [green]✓[/] {claim} [dim]({seconds:.1f} s)[/]")
