"""A Lease as an API server keeps it: compare-and-swap on resourceVersion, over a network that can
be slow, cut, or lose the answer to a request that was carried out."""

from __future__ import annotations

import copy
import random

from fairlead.errors import Conflict, NotFound, Reason, Unreachable
from fairlead.kube.resource import Object, Resource
from tests.runtime.virtual_time import VirtualClock


class LeaseServer:
    def __init__(self) -> None:
        self.lease: Object | None = None
        self.writes = 0

    def read(self) -> Object:
        if self.lease is None:
            raise NotFound("there is no lease")
        return copy.deepcopy(self.lease)

    def write(self, obj: Object, *, new: bool) -> Object:
        if new and self.lease is not None:
            raise Conflict("it exists")
        if not new:
            if self.lease is None:
                raise NotFound("there is no lease")
            sent, kept = obj["metadata"]["resourceVersion"], self.lease["metadata"]
            if sent != kept["resourceVersion"]:
                raise Conflict("it changed")
        self.writes += 1
        self.lease = copy.deepcopy(obj)
        self.lease["metadata"]["resourceVersion"] = str(self.writes)
        return self.read()

    @property
    def spec(self) -> Object:
        return dict(self.read()["spec"])


class Link:
    """One replica's way to the server."""

    def __init__(
        self, server: LeaseServer, clock: VirtualClock, chance: random.Random | None = None
    ) -> None:
        self._server = server
        self._clock = clock
        self._chance = chance or random.Random(0)
        self.cut = False
        self.loses_answers = 0.0
        self.slowest = 0.0
        self.requests = 0

    async def get(self, resource: Resource, name: str, namespace: str | None = None, /) -> Object:
        await self._travel()
        found = self._server.read()
        await self._travel()
        return found

    async def create(
        self, resource: Resource, obj: Object, namespace: str | None = None, /
    ) -> Object:
        return await self._write(obj, new=True)

    async def replace(
        self, resource: Resource, obj: Object, namespace: str | None = None, /
    ) -> Object:
        return await self._write(obj, new=False)

    async def _write(self, obj: Object, *, new: bool) -> Object:
        await self._travel()
        written = self._server.write(obj, new=new)
        if self._chance.random() < self.loses_answers:
            raise Unreachable(Reason.TIMEOUT, "the answer was lost")
        await self._travel()
        return written

    async def _travel(self) -> None:
        self.requests += 1
        await self._clock.sleep(self._chance.uniform(0, self.slowest))
        if self.cut:
            raise Unreachable(Reason.CONNECT, "the network is cut")
