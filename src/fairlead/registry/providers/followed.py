"""What providers that read from a cluster have in common: follow objects, wait for the dust to
settle, read everything again, publish. Owns that loop; what the objects mean is the provider's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fairlead.kube.client import Client
from fairlead.registry.last_good import ProviderSnapshot
from fairlead.registry.providers import Publish
from fairlead.registry.providers.follower import Follower

_DEBOUNCE_SECONDS = 0.2
_RECOVERY_LOOK_SECONDS = 5.0


async def publish_from(
    client: Client,
    publish: Publish,
    evaluate: Callable[[Follower], ProviderSnapshot | None],
) -> None:
    """For ever: publish what `evaluate` makes of the followed objects, when it is something new.

    `evaluate` tells the follower what to follow, and returns None while it knows nothing yet.
    """
    published: ProviderSnapshot | None = None
    async with asyncio.TaskGroup() as group:
        follower = Follower(client, group)
        while True:
            snapshot = evaluate(follower)
            if snapshot is not None and (published is None or not snapshot.same_as(published)):
                publish(snapshot)
                published = snapshot
            await _news(follower)


async def _news(follower: Follower) -> None:
    """Wait for a change. A reflector that works again says nothing, so then look by oneself."""
    patience = _RECOVERY_LOOK_SECONDS if follower.disturbed else None
    try:
        async with asyncio.timeout(patience):
            await follower.changed.wait()
    except TimeoutError:
        return
    # ConfigMap and Secret are written one after the other, but are meant together.
    await asyncio.sleep(_DEBOUNCE_SECONDS)
    follower.changed.clear()
