"""A local copy of one resource of one cluster that follows it for ever: list, watch, resume when
the server ends a watch, list again after every fault, and tell each change once. Owns when to do
which; knows nothing of who listens."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from fairlead.backoff import Backoff
from fairlead.errors import FairleadError, Reason, Transient, Unreachable
from fairlead.kube.client import Client
from fairlead.kube.errors import Gone, NoAnswer
from fairlead.kube.resource import Key, Object, Resource
from fairlead.kube.sharing import share_parts, share_strings
from fairlead.kube.watch import WatchEvent


class Change(NamedTuple):
    """`set`: the object is now so (`old` is None if it is new). `gone`: this was its last state."""

    kind: Literal["set", "gone"]
    key: Key
    object: Object
    old: Object | None


@dataclass(frozen=True, slots=True)
class ReflectorSettings:
    """How a reflector follows. The defaults are client-go's where it has them."""

    backoff: Backoff = field(default_factory=lambda: Backoff(base=0.5, cap=30.0, jitter=0.5))
    """Waits after faults, and after watches the server ended too soon."""
    watch_seconds: tuple[float, float] = (300.0, 600.0)
    """The server is asked to end a watch after a random time between these."""
    idle_seconds: float = 180.0
    """A watch without a single byte for so long is stalled: bookmarks come about every minute."""
    short_watch_seconds: float = 5.0
    """A watch that ends sooner without an event has not worked; the waits go on growing."""
    chunk: int = 500
    metadata_only: bool = False
    keep_managed_fields: bool = False


class Reflector:
    """Follows a resource; `run()` it as a task.

    `store` is the copy, `synced` is set once it is complete. `last_error` is why the cluster is
    not followed right now (None: it is), `last_contact` when it was last heard of on the
    monotonic clock. `restarts` counts watches lost before their time, each told to `on_restart`
    with one of `closed`, `stalled`, `expired`, `rolled-back` or an `Unreachable`'s reason.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        namespace: str | None = None,
        *,
        on_change: Callable[[Change], None],
        labels: str | None = None,
        fields: str | None = None,
        settings: ReflectorSettings | None = None,
        on_restart: Callable[[str], None] | None = None,
    ) -> None:
        self.client = client
        self.resource = resource
        self.namespace = namespace
        self.synced = asyncio.Event()
        self.restarts = 0
        self.last_error: FairleadError | None = None
        self.last_contact: float | None = None
        self._objects: dict[Key, Object] = {}
        self.store: Mapping[Key, Object] = MappingProxyType(self._objects)
        self._on_change = on_change
        self._on_restart = on_restart
        self._settings = settings or ReflectorSettings()
        self._selection: dict[str, Any] = {
            "labels": labels,
            "fields": fields,
            "metadata_only": self._settings.metadata_only,
        }
        self._failures = 0

    async def run(self) -> None:
        """Follow until cancelled. Ends otherwise only if `on_change` or `on_restart` raises."""
        while True:
            try:
                version = await self._list()
                while True:
                    version = await self._watch(version)
            except FairleadError as error:
                self._lost(_reason(error), error)
            await self._wait()

    async def _list(self) -> str:
        """Fetch everything and tell the differences to what was known. Gives its version."""
        listed = await self.client.list(
            self.resource,
            self.namespace,
            chunk=self._settings.chunk,
            transform=self._pack,
            **self._selection,
        )
        if not listed.resource_version:
            raise self._bad("a list without resourceVersion cannot be watched from")
        self.last_contact = time.monotonic()
        missing = dict.fromkeys(self._objects)
        for obj in listed.items:
            key = self._key(obj)
            missing.pop(key, None)
            self._set(key, obj)
        for key in missing:
            self._gone(key, None)
        self.synced.set()
        return listed.resource_version

    async def _watch(self, version: str) -> str:
        """One watch to its end. Gives the version from which the next one can go on."""
        seconds = random.uniform(*self._settings.watch_seconds)
        started = time.monotonic()
        ended = "closed"
        try:
            async with self.client.watch(
                self.resource,
                self.namespace,
                resource_version=version,
                timeout=seconds,
                idle=self._settings.idle_seconds,
                **self._selection,
            ) as events:
                self._heard()
                async for event in events:
                    version = self._take(event)
        except NoAnswer as error:
            if error.reason is not Reason.TIMEOUT:
                raise
            ended = "stalled"
            self.last_error = error
        lasted = time.monotonic() - started
        if lasted >= self._settings.short_watch_seconds:
            self._failures = 0
        if ended == "closed" and lasted >= 0.9 * seconds:
            return version
        self._lost(ended, self.last_error)
        await self._wait()
        await self._check_no_rollback(version)
        return version

    async def _check_no_rollback(self, version: str) -> None:
        """A server that comes back with older data (a restored etcd) would keep a watch from our
        version silent until it has caught up. Such ends come early, so check only then."""
        answer = await self.client.request(
            "GET", self.resource.path(self.namespace), query={"limit": "1"}
        )
        try:
            current = int(answer.json()["metadata"]["resourceVersion"])
            behind = current < int(version)
        except (ValueError, TypeError, KeyError, RecursionError):
            return  # not comparable; the watch itself will tell
        if behind:
            raise _RolledBack(
                f"{self.client}: {self.resource} went back from version {version} to {current}; "
                "was its storage restored? everything is listed again"
            )

    def _take(self, event: WatchEvent) -> str:
        obj = event.object
        metadata = obj.get("metadata")
        version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
        if not isinstance(version, str) or not version:
            raise self._bad(f"a {event.type} event without resourceVersion")
        self._heard()
        if event.type != "BOOKMARK":
            self._failures = 0
            key = self._key(obj)
            if event.type == "DELETED":
                self._gone(key, self._trim(obj))
            else:
                known = key in self._objects
                self._set(key, self._trim(obj) if known else self._pack(obj))
        return version

    def _set(self, key: Key, obj: Object) -> None:
        old = self._objects.get(key)
        # Not by version alone: storage that was restored gives out the same versions again.
        if old is not None and share_parts(old, obj):
            return
        self._objects[key] = obj
        self._on_change(Change("set", key, obj, old))

    def _gone(self, key: Key, last: Object | None) -> None:
        old = self._objects.pop(key, None)
        if old is not None:
            self._on_change(Change("gone", key, last or old, old))

    def _key(self, obj: Object) -> Key:
        metadata = obj["metadata"]
        name, namespace = metadata.get("name"), metadata.get("namespace")
        if not isinstance(name, str) or not isinstance(namespace, str | None):
            raise self._bad("an object without a name")
        return namespace, name

    def _trim(self, obj: Object) -> Object:
        """Drop what nobody reads."""
        obj["apiVersion"] = self.resource.api_version
        obj["kind"] = self.resource.kind
        metadata = obj["metadata"]
        if not self._settings.keep_managed_fields:
            metadata.pop("managedFields", None)
        return obj

    def _pack(self, obj: Object) -> Object:
        """Keep an object that is new here as small as possible."""
        self._trim(obj)
        share_strings(obj)
        return obj

    def _heard(self) -> None:
        self.last_contact = time.monotonic()
        self.last_error = None

    def _lost(self, reason: str, error: FairleadError | None) -> None:
        self.restarts += 1
        self.last_error = error
        if self._on_restart is not None:
            self._on_restart(reason)

    async def _wait(self) -> None:
        self._failures += 1
        await asyncio.sleep(self._settings.backoff.delay(self._failures))

    def _bad(self, problem: str) -> Unreachable:
        return Unreachable(
            Reason.BAD_ANSWER,
            f"{self.client}: {self.resource}: {problem}; is this a Kubernetes API server?",
        )


class _RolledBack(Transient):
    """The server's data is older than what it has told before."""


def _reason(error: FairleadError) -> str:
    match error:
        case Gone():
            return "expired"
        case _RolledBack():
            return "rolled-back"
        case Unreachable():
            return error.reason.value
        case _:
            return "refused"
