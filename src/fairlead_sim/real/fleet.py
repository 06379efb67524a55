"""Several real clusters on one etcd, started and stopped together, in a directory that is gone
afterwards. The clusters start at the same time and only when asked for. Knows nothing of what is
put into them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from fairlead_sim.real.cluster import RealCluster
from fairlead_sim.real.etcd import RealEtcd
from fairlead_sim.real.files import User
from fairlead_sim.real.workspace import Workspace


class RealFleet:
    """`async with RealFleet(["east", "west"]) as fleet:` and `fleet.clusters["east"]`."""

    def __init__(
        self, names: Sequence[str], *, users: Sequence[User] = (), controllers: bool = True
    ) -> None:
        self.workspace = Workspace()
        self.etcd = RealEtcd(self.workspace.path / "etcd")
        self.clusters = {
            name: RealCluster(
                name,
                self.etcd,
                self.workspace.path / "clusters" / name,
                users=users,
                controllers=controllers,
            )
            for name in names
        }

    async def start(self, *names: str) -> None:
        """Start these clusters, or all, and etcd first; those that run already are left alone."""
        await self.etcd.start()
        wanted = [self.clusters[name] for name in names or self.clusters]
        outcomes = await asyncio.gather(
            *(cluster.start() for cluster in wanted), return_exceptions=True
        )
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def stop(self) -> None:
        """End everything and remove every file; a second call does nothing."""
        try:
            await asyncio.gather(*(cluster.stop() for cluster in self.clusters.values()))
            await self.etcd.stop()
        finally:
            for cluster in self.clusters.values():
                await cluster.crash()
            await self.etcd.crash()
            self.workspace.close()

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()
