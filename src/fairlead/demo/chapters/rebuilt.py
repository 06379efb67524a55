"""Chapter: another cluster answers under an old name, is noticed, and then accepted."""

from __future__ import annotations

from fairlead.demo.narrator import Narrator
from fairlead.demo.stage import Stage
from fairlead.demo.story import Chapter
from fairlead.errors import Reason
from fairlead.kube.identity import cluster_identity
from fairlead.registry.health import Health

REBUILT = "south"


async def play(stage: Stage, tell: Narrator) -> None:
    tell.say(f"Rebuilding {REBUILT}: same address, same credentials, empty ...")
    await stage.clusters[REBUILT].rebuild()
    await tell.until(
        "every other agent refuses to take it for the old one",
        lambda: all(
            (view := stage.view(name, REBUILT)) is not None
            and view.health.reason is Reason.WRONG_CLUSTER
            for name in stage.agents
            if name != REBUILT
        ),
        within=60.0,
    )
    witness = next(name for name in stage.agents if name != REBUILT)
    view = stage.view(witness, REBUILT)
    if view is not None and view.health.last_error:
        tell.say(f"{witness} says: {view.health.last_error}")
    await stage.install(REBUILT)
    await stage.pin(REBUILT, await cluster_identity(stage.clients[REBUILT]))
    tell.say("Somebody looks, and pins the new identity in the registry.")
    await tell.until(
        f"{REBUILT} is part of the fleet again",
        lambda: stage.seen(REBUILT, Health.HEALTHY),
        within=60.0,
    )


CHAPTER = Chapter(
    "A rebuilt cluster is noticed",
    "Identity is the UID of kube-system: an old name does not make a new cluster the old one.",
    play,
)
