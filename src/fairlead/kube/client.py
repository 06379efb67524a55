"""The client of one cluster: the verbs of the Kubernetes API on plain objects. Every error it
raises is of the one tree. How calls are repeated is `caller`'s, watching without an end is
`reflector`'s work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

import msgspec

from fairlead.errors import InvalidInput
from fairlead.kube.access import Access
from fairlead.kube.call import (
    APPLY,
    JSON,
    METADATA_ONLY,
    METADATA_ONLY_LIST,
    Answer,
    Call,
    Repeat,
    target,
)
from fairlead.kube.caller import Caller, Observe
from fairlead.kube.discovery import Discovery
from fairlead.kube.listing import Listing
from fairlead.kube.objects import NotAnObject, ObjectList, decode_object
from fairlead.kube.patches import JsonPatch, MergePatch
from fairlead.kube.refusals import bad_answer, outline
from fairlead.kube.resource import Object, Resource
from fairlead.kube.transport import Transport, stream_limits
from fairlead.kube.watch import WatchStream

FIELD_MANAGER = "fairlead"
USER_AGENT = "fairlead"
MAX_ANSWER = 512 << 20
_WATCH_MARGIN_SECONDS = 30.0

_encode = msgspec.json.Encoder().encode


class Client:
    """Talks to one cluster. Cheap to make; connects with the first request.

    `name` is the cluster's name in every sentence. `request_timeout` bounds a whole call with
    all its repetitions (of a list: each chunk), `max_answer` the bytes of one answer. `observe`
    is called after every attempt.
    """

    def __init__(
        self,
        access: Access,
        *,
        name: str = "",
        user_agent: str | None = None,
        request_timeout: float = 30.0,
        max_answer: int = MAX_ANSWER,
        observe: Observe | None = None,
    ) -> None:
        self.access = access
        self.name = name
        self._transport = Transport(
            access, user_agent=user_agent or USER_AGENT, max_answer=max_answer
        )
        self._caller = Caller(
            access, self._transport, name=name, timeout=request_timeout, observe=observe
        )
        self.discovery = Discovery(self._caller)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Drop all connections. Requests in flight fail as unreachable."""
        await self._transport.close()

    def __str__(self) -> str:
        return self._caller.cluster

    def __repr__(self) -> str:
        return f"Client({self})"

    async def get(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
    ) -> Object:
        """The object. Raises `NotFound` only on the API server's word."""
        path = resource.path(namespace, name, subresource)
        return await self._object(Call("GET", path, resource, namespace, name), subresource)

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: str | None = None,
        fields: str | None = None,
        chunk: int = 500,
        metadata_only: bool = False,
        transform: Callable[[Object], Object] | None = None,
    ) -> ObjectList:
        """All objects as of one resourceVersion, fetched in chunks (0: in one piece).

        Without a namespace: of all namespaces. `transform` sees each object as its chunk
        arrives, so that what it drops is never held for the whole list.
        """
        accept = METADATA_ONLY_LIST if metadata_only else JSON
        query = _selection(labels, fields)
        listing = Listing(self._caller, resource, namespace, query, accept, transform)
        return await listing.fetch(chunk)

    def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        resource_version: str,
        labels: str | None = None,
        fields: str | None = None,
        timeout: float = 300.0,
        idle: float | None = None,
        metadata_only: bool = False,
    ) -> WatchStream:
        """Changes after `resource_version`, over one connection that the server ends after
        `timeout`. No byte for `idle` seconds is a fault. Use as `async with ... as events`."""
        query = _selection(labels, fields) | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(max(1, int(timeout))),
        }
        call = Call(
            "GET",
            target(resource.path(namespace), query),
            resource,
            namespace,
            accept=METADATA_ONLY if metadata_only else JSON,
        )
        time_limits = stream_limits(timeout + _WATCH_MARGIN_SECONDS, idle)
        return WatchStream(self._caller.asked(call), lambda: self._caller.stream(call, time_limits))

    async def create(
        self,
        resource: Resource,
        obj: Object,
        namespace: str | None = None,
        *,
        manager: str = FIELD_MANAGER,
    ) -> Object:
        """Create. Raises `AlreadyExists`; after a broken connection it may exist or not."""
        namespace = namespace or _namespace(resource, obj)
        call = Call(
            "POST",
            target(resource.path(namespace), {"fieldManager": manager}),
            resource,
            namespace,
            body=_encode(_typed(resource, obj)),
            content_type=JSON,
            repeat=Repeat.ONCE,
        )
        return await self._object(call)

    async def replace(
        self,
        resource: Resource,
        obj: Object,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        manager: str = FIELD_MANAGER,
    ) -> Object:
        """PUT. With `metadata.resourceVersion` in it, raises `StaleResource` if that is old."""
        namespace = namespace or _namespace(resource, obj)
        name = _name(obj)
        call = Call(
            "PUT",
            target(resource.path(namespace, name, subresource), {"fieldManager": manager}),
            resource,
            namespace,
            name,
            body=_encode(_typed(resource, obj)),
            content_type=JSON,
            repeat=Repeat.IDEMPOTENT,
        )
        return await self._object(call, subresource)

    async def apply(
        self,
        resource: Resource,
        obj: Object,
        namespace: str | None = None,
        *,
        manager: str = FIELD_MANAGER,
        force: bool = False,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Server-side apply: `obj` is all that `manager` wants. Raises `ApplyConflict` if others
        own some of it, unless `force` takes it from them."""
        namespace = namespace or _namespace(resource, obj)
        name = _name(obj)
        query = {"fieldManager": manager, "force": "true" if force else "false"}
        if dry_run:
            query["dryRun"] = "All"
        call = Call(
            "PATCH",
            target(resource.path(namespace, name, subresource), query),
            resource,
            namespace,
            name,
            body=_encode(_typed(resource, obj)),
            content_type=APPLY,
            repeat=Repeat.IDEMPOTENT,
        )
        return await self._object(call, subresource)

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: MergePatch | JsonPatch,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        manager: str = FIELD_MANAGER,
    ) -> Object:
        """Change parts of an object that exists."""
        call = Call(
            "PATCH",
            target(resource.path(namespace, name, subresource), {"fieldManager": manager}),
            resource,
            namespace,
            name,
            body=_encode(patch.content),
            content_type=patch.content_type,
            repeat=Repeat.IDEMPOTENT if isinstance(patch, MergePatch) else Repeat.ONCE,
        )
        return await self._object(call, subresource)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: str | None = None,
        grace_seconds: int | None = None,
    ) -> Object:
        """Delete; gives back a Status, or the object if finalizers still hold it.

        With `uid` or `resource_version` only that very object, else raises `StaleResource`.
        `propagation` is Background, Foreground or Orphan. Raises `NotFound` if it is not there.
        """
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": _given(preconditions) or None,
            "propagationPolicy": propagation,
            "gracePeriodSeconds": grace_seconds,
        }
        call = Call(
            "DELETE",
            resource.path(namespace, name),
            resource,
            namespace,
            name,
            body=_encode(_given(options)),
            content_type=JSON,
            repeat=Repeat.IDEMPOTENT if uid is not None else Repeat.ONCE,
        )
        return await self._object(call, any_kind=True)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = JSON,
        accept: str = JSON,
        retry: bool = True,
        timeout: float | None = None,
    ) -> Answer:
        """One raw request below the server URL, for probes, /version and discovery.

        `path` stands as on the wire. Raises as the verbs do for every answer that is not 2xx.
        `retry=False` sends it once, whatever happens; `timeout` replaces the client's own.
        """
        call = Call(method, target(path, query), accept=accept)
        if body is not None:
            call.body = body if isinstance(body, bytes) else _encode(body)
            call.content_type = content_type
        call.repeat = Repeat.READ if method in {"GET", "HEAD"} else Repeat.ONCE
        return await self._caller.perform(call, timeout, retry=retry)

    async def version(self) -> Object:
        """What /version says: gitVersion, major, minor, platform and more."""
        call = Call("GET", "/version")
        answer = await self._caller.perform(call)
        try:
            version = answer.json()
        except (ValueError, RecursionError):
            version = None
        if not isinstance(version, dict) or not isinstance(version.get("gitVersion"), str):
            raise bad_answer(self._caller.asked(call), outline(answer.headers, answer.body))
        return version

    async def _object(
        self, call: Call, subresource: str | None = None, *, any_kind: bool = False
    ) -> Object:
        answer = await self._caller.perform(call)
        # A subresource may answer with a kind of its own (Scale), a deletion with a Status.
        resource = None if any_kind or subresource is not None else call.resource
        try:
            return decode_object(answer.body, resource, call.name)
        except NotAnObject as error:
            seen = outline(answer.headers, answer.body)
            raise bad_answer(self._caller.asked(call), f"{error} ({seen})") from error


def _selection(labels: str | None, fields: str | None) -> dict[str, str]:
    return _given({"labelSelector": labels, "fieldSelector": fields})


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _namespace(resource: Resource, obj: Object) -> str | None:
    if not resource.namespaced:
        return None
    namespace = (obj.get("metadata") or {}).get("namespace")
    if not namespace:
        raise InvalidInput(
            f"{resource} to write", "has no namespace", "set metadata.namespace or pass one"
        )
    return str(namespace)


def _typed(resource: Resource, obj: Object) -> Object:
    """Custom resources must say what they are, so everything does."""
    return {"apiVersion": resource.api_version, "kind": resource.kind} | obj


def _name(obj: Object) -> str:
    name = (obj.get("metadata") or {}).get("name")
    if not name:
        raise InvalidInput("object to write", "has no metadata.name", "give it one")
    return str(name)
