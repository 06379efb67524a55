"""Chapter: a credential is replaced while everything runs."""

from __future__ import annotations

from fairlead.demo.narrator import Narrator
from fairlead.demo.stage import Stage
from fairlead.demo.story import Chapter
from fairlead.registry.health import Health

ROTATED = "west"


async def play(stage: Stage, tell: Narrator) -> None:
    before = {name: _credential(stage, name) for name in stage.agents}
    await stage.clusters[ROTATED].rotate()
    for name in stage.clusters:
        await stage.publish_credential(ROTATED, into=name)
    tell.say(f"Wrote a new credential for {ROTATED} into its Secret in every cluster.")
    await tell.until(
        "every agent has verified it and goes on with it",
        lambda: all(_credential(stage, name) != before[name] for name in stage.agents),
    )
    retired = await stage.clusters[ROTATED].retire_old_credential()
    still = f"{ROTATED} is still healthy for everybody"
    checks = {name: _checked_at(stage, name) for name in stage.agents}
    await tell.until(
        f"the old one is retired, and {still}" if retired else still,
        lambda: (
            all(_checked_at(stage, name) > checks[name] for name in stage.agents)
            and stage.seen(ROTATED, Health.HEALTHY)
        ),
    )


def _credential(stage: Stage, observer: str) -> str:
    view = stage.view(observer, ROTATED)
    return view.entry.credential if view else ""


def _checked_at(stage: Stage, observer: str) -> float:
    view = stage.view(observer, ROTATED)
    return (view.health.checked_at or 0.0) if view else 0.0


CHAPTER = Chapter(
    "Credentials rotate without a restart",
    "A new credential is tried before the old one is dropped; a bad one would change nothing.",
    play,
)
