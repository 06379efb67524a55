"""Chapter: a cluster goes away and comes back; nobody else is touched."""

from __future__ import annotations

from fairlead.demo.narrator import Narrator
from fairlead.demo.stage import Stage
from fairlead.demo.story import Chapter
from fairlead.demo.view import fleet_table
from fairlead.registry.health import Health

LOST = "south"


async def play(stage: Stage, tell: Narrator) -> None:
    tell.say(f"Cutting {LOST} off ...")
    await stage.clusters[LOST].cut_off()
    try:
        await tell.until(
            f"the other agents see {LOST} unhealthy",
            lambda: stage.seen(LOST, Health.UNHEALTHY, without=LOST),
        )
        witness = next(name for name in stage.agents if name != LOST)
        view = stage.view(witness, LOST)
        if view is not None and view.health.last_error:
            tell.say(f"{witness} says why: {view.health.last_error}")
        tell.show(fleet_table(stage))
        await tell.until(
            "the others still see each other healthy",
            lambda: all(
                stage.seen(name, Health.HEALTHY, without=LOST)
                for name in stage.clusters
                if name != LOST
            ),
        )
    finally:
        await stage.clusters[LOST].reconnect()
    await tell.until(
        f"{LOST} is back, and healthy for everybody", lambda: stage.seen(LOST, Health.HEALTHY)
    )


CHAPTER = Chapter(
    "A region is gone",
    "A cluster that cannot be asked is not taken for empty, and nobody acts on a guess.",
    play,
)
