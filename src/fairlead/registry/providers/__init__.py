"""Where entries come from. A provider watches one kind of source for ever and publishes all it
says whenever that changes; it keeps the last good version of what turned bad, and it never gives
up because its source is away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from fairlead.registry.last_good import ProviderSnapshot

Publish = Callable[[ProviderSnapshot], None]


class Provider(Protocol):
    """One source of entries. `description` names it in sentences."""

    @property
    def description(self) -> str: ...

    async def run(self, publish: Publish) -> None:
        """For ever: call `publish` as soon as the first reading is known, then on each change."""


__all__ = ["Provider", "ProviderSnapshot", "Publish"]
