"""Which kinds a cluster serves, found at run time: aggregated discovery where the server has it,
version by version where it has not. Cached and refreshed on a miss, but never in a hot loop. A
group that cannot be read is unknown, not absent, and does not hide the others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from fairlead.errors import Reason, Unreachable
from fairlead.kube.call import JSON, Answer, Call
from fairlead.kube.caller import Caller
from fairlead.kube.discovery_documents import (
    ACCEPT_AGGREGATED,
    Root,
    ServedResource,
    parse_resource_list,
    parse_root,
)
from fairlead.kube.errors import NotServed
from fairlead.kube.refusals import bad_answer, outline
from fairlead.kube.resource import Resource

_MAX_AGE_SECONDS = 600.0
_REFRESH_FLOOR_SECONDS = 5.0
_PARALLEL_VERSIONS = 8

GroupVersion = tuple[str, str]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServedApis:
    """Everything a cluster serves, the preferred version of each group first."""

    resources: tuple[ServedResource, ...]
    unknown: dict[GroupVersion, Unreachable]
    """Versions that could not be read now; `resources` holds what was known of them before."""


class Discovery:
    """Finds the `Resource` for a kind, or for a name as kubectl takes it."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._served: ServedApis | None = None
        self._reads = 0
        self._asked_at = float("-inf")
        self._asking = asyncio.Lock()

    async def find(self, kind: str, api_version: str | None = None) -> Resource:
        """The resource of a kind, in that apiVersion or in the preferred version of any group.

        Raises `NotServed` if the cluster has no such kind, another `Unreachable` if whether it
        has is unknown. A kind that appeared within the last seconds may still be missed.
        """

        def fits(served: ServedResource) -> bool:
            resource = served.resource
            return resource.kind == kind and api_version in (None, resource.api_version)

        group = None if api_version is None else api_version.rpartition("/")[0]
        where = f" in {api_version}" if api_version else ""
        return await self._find(fits, f"kind {kind}{where}", group)

    async def find_resource(self, name: str) -> Resource:
        """The resource that kubectl takes for `name`: a plural, singular, short name or kind,
        alone or with `.group` or `.version.group`. Raises as `find` does."""
        short, _, rest = name.partition(".")
        short = short.lower()

        def fits(served: ServedResource) -> bool:
            resource = served.resource
            suffixes = ("", resource.group, f"{resource.version}.{resource.group}".rstrip("."))
            return rest in suffixes and served.answers_to(short)

        return await self._find(fits, f"resource {name}", None)

    async def served(self) -> ServedApis:
        """All that is served, at most ten minutes old unless the cluster cannot be asked."""
        served = self._served
        if served is not None and time.monotonic() - self._asked_at < _MAX_AGE_SECONDS:
            return served
        return await self._refresh(self._reads)

    def invalidate(self) -> None:
        """Ask anew with the next lookup, say after installing a CustomResourceDefinition."""
        self._asked_at = float("-inf")

    async def _find(
        self, fits: Callable[[ServedResource], bool], wanted: str, group: str | None
    ) -> Resource:
        reads = self._reads
        served = await self.served()
        found = next(filter(fits, served.resources), None)
        if found is None and self._reads == reads and self._may_ask_again():
            served = await self._refresh(reads)
            found = next(filter(fits, served.resources), None)
        if found is None:
            raise self._missing(wanted, group, served)
        return found.resource

    def _may_ask_again(self) -> bool:
        return time.monotonic() - self._asked_at > _REFRESH_FLOOR_SECONDS

    def _missing(self, wanted: str, group: str | None, served: ServedApis) -> Unreachable:
        for (broken, version), error in served.unknown.items():
            if group is None or broken == group or not version:
                place = f"{broken}/{version}".strip("/") or "discovery"
                sentence = f"whether {wanted} is served is unknown: {place} cannot be read: {error}"
                unknown = Unreachable(error.reason, sentence)
                unknown.__cause__ = error
                return unknown
        return NotServed(
            f"{self._caller.cluster} serves no {wanted}; "
            "install its CustomResourceDefinition, or check kind, group and version"
        )

    async def _refresh(self, seen_reads: int) -> ServedApis:
        """Ask the cluster, unless somebody else did while this one waited for its turn."""
        async with self._asking:
            if self._reads == seen_reads or self._served is None:
                before = self._served
                self._asked_at = time.monotonic()
                try:
                    self._served = _keep_known(await self._read(), before)
                except Unreachable as error:
                    if before is None:
                        raise
                    self._served = ServedApis(before.resources, {("", ""): error})
                self._reads += 1
            return self._served

    async def _read(self) -> ServedApis:
        roots = await asyncio.gather(self._root("/api"), self._root("/apis"))
        resources: list[ServedResource] = []
        unknown: dict[GroupVersion, Unreachable] = {}
        for root in roots:
            if root is None:
                continue
            if root.aggregated:
                resources += root.resources()
                unknown |= {place: self._stale(place) for place in root.stale()}
            else:
                await self._read_versions(root, resources, unknown)
        return ServedApis(tuple(resources), unknown)

    async def _root(self, path: str) -> Root | None:
        call = Call("GET", path, accept=ACCEPT_AGGREGATED)
        try:
            answer = await self._caller.perform(call)
        except NotServed:
            return None  # some servers of the Kubernetes API have no core group
        return self._parsed(call, answer, parse_root)

    async def _read_versions(
        self,
        root: Root,
        resources: list[ServedResource],
        unknown: dict[GroupVersion, Unreachable],
    ) -> None:
        turns = asyncio.Semaphore(_PARALLEL_VERSIONS)

        async def read(place: GroupVersion) -> list[ServedResource]:
            async with turns:
                try:
                    return await self._version(*place)
                except NotServed:
                    return []  # removed since the groups were listed
                except Unreachable as error:
                    unknown[place] = error
                    return []

        for found in await asyncio.gather(*map(read, root.group_versions())):
            resources += found

    async def _version(self, group: str, version: str) -> list[ServedResource]:
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        call = Call("GET", path, accept=JSON)
        answer = await self._caller.perform(call)
        return self._parsed(call, answer, lambda body: parse_resource_list(body, group, version))

    def _parsed(self, call: Call, answer: Answer, parse: Callable[[bytes], T]) -> T:
        try:
            return parse(answer.body)
        except (ValueError, RecursionError) as error:
            seen = outline(answer.headers, answer.body)
            raise bad_answer(self._caller.asked(call), f"{error} ({seen})") from error

    def _stale(self, place: GroupVersion) -> Unreachable:
        group, version = place
        return Unreachable(
            Reason.SERVER_ERROR,
            f"{self._caller.cluster}: the API server behind {group}/{version} does not answer; "
            f"look at its APIService (kubectl get apiservice {version}.{group})",
        )


def _keep_known(fresh: ServedApis, before: ServedApis | None) -> ServedApis:
    """What was known of a version that cannot be read now is still the best knowledge."""
    if before is None or not fresh.unknown:
        return fresh
    listed = {served.resource for served in fresh.resources}
    kept = tuple(
        served
        for served in before.resources
        if (served.resource.group, served.resource.version) in fresh.unknown
        and served.resource not in listed
    )
    return ServedApis(fresh.resources + kept, fresh.unknown)
