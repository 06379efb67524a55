"""What a chapter is, and playing all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from fairlead.demo.narrator import Narrator
from fairlead.demo.stage import Stage


@dataclass(frozen=True, slots=True)
class Chapter:
    """`play` shows something on the stage and raises if it does not come true."""

    title: str
    about: str
    play: Callable[[Stage, Narrator], Awaitable[None]]


async def play_all(chapters: Sequence[Chapter], stage: Stage, narrator: Narrator) -> None:
    for number, chapter in enumerate(chapters, start=1):
        narrator.chapter(number, chapter.title, chapter.about)
        await chapter.play(stage, narrator)
