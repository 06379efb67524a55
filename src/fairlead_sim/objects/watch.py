"""Watches: a place in a collection's history that moves forward at the client's own speed. Writers
append and wake; nothing is queued for a watcher, so a slow one costs a writer nothing. Knows
nothing of HTTP; whoever reads the chunks sends them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from fairlead_sim import answers
from fairlead_sim.display import tables
from fairlead_sim.display.views import encode, object_of, partial_metadata
from fairlead_sim.kinds.catalogue import Kind, Object
from fairlead_sim.objects.reading import check_options, parse_revision
from fairlead_sim.objects.selectors import Matches, compile_selector
from fairlead_sim.objects.storage import Collection, Event, Record, Store, make_record
from fairlead_sim.serving.negotiation import Form
from fairlead_sim.serving.routes import is_true

DEFAULT_TIMEOUT = 1800.0
_BATCH = 500
# As kube-apiserver does it, so that a client resumes from a fresh version.
_BEFORE_END = 2.0
# How soon to look again whether bookmarks are wanted after all.
_NO_BOOKMARKS = 1.0


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """What a client asked for, checked."""

    kind: Kind
    namespace: str
    revision: int
    from_start: bool
    initial_events: bool
    marks_initial_end: bool
    bookmarks: bool
    timeout: float
    matches: Matches | None
    form: Form
    include: str


def parse_watch(kind: Kind, namespace: str, query: Mapping[str, str], form: Form) -> WatchRequest:
    check_options(query)
    try:
        revision = parse_revision(query.get("resourceVersion", ""))
    except ValueError as error:
        raise answers.unspecified(str(error)) from error
    seconds = query.get("timeoutSeconds", "")
    if seconds and not (seconds.isascii() and seconds.isdigit()):
        raise answers.bad_request(f'strconv.ParseInt: parsing "{seconds}": invalid syntax')
    bookmarks = is_true(query, "allowWatchBookmarks")
    asked = query.get("sendInitialEvents")
    initial = is_true(query, "sendInitialEvents") if asked is not None else revision == 0
    return WatchRequest(
        kind,
        namespace,
        revision,
        revision == 0,
        initial,
        asked is not None and initial and bookmarks,
        bookmarks,
        float(seconds) if seconds not in ("", "0") else DEFAULT_TIMEOUT,
        compile_selector(kind, query.get("labelSelector", ""), query.get("fieldSelector", "")),
        form,
        query.get("includeObject", "Metadata"),
    )


class Watcher:
    """One running watch."""

    def __init__(
        self,
        store: Store,
        request: WatchRequest,
        renderer: EventRenderer,
        bookmark_interval: Callable[[], float | None],
    ) -> None:
        self._store = store
        self._request = request
        self._renderer = renderer
        self._bookmark_interval = bookmark_interval
        self._collection: Collection = store.collection(request.kind.storage)
        self._position = self._collection.next_index

    async def chunks(self) -> AsyncIterator[bytes]:
        """Encoded events, several at a time when several are waiting."""
        request, loop = self._request, asyncio.get_running_loop()
        deadline = loop.time() + request.timeout
        try:
            async for chunk in self._beginning():
                yield chunk
        except answers.Refusal as refusal:
            yield error_event(refusal)
            return
        due = self._bookmark_due(deadline)
        while True:
            try:
                chunk = self._pending()
            except answers.Refusal as refusal:
                yield error_event(refusal)
                return
            if chunk:
                yield chunk
                continue
            now = loop.time()
            if now >= deadline:
                return
            if due is not None and now >= due:
                if self._bookmark_interval() is not None:
                    yield self._renderer.bookmark(self._store.revision)
                due = self._bookmark_due(deadline)
                continue
            await self._change(min(deadline, due or deadline) - now)

    def _bookmark_due(self, deadline: float) -> float | None:
        """Now and then, and once shortly before the end."""
        if not self._request.bookmarks:
            return None
        now = asyncio.get_running_loop().time()
        last = deadline - _BEFORE_END
        due = now + (self._bookmark_interval() or _NO_BOOKMARKS)
        return min(due, last) if last > now else due

    async def _change(self, seconds: float) -> None:
        changed = self._collection.changed()
        try:
            await asyncio.wait([changed], timeout=seconds)
        finally:
            changed.cancel()

    async def _beginning(self) -> AsyncIterator[bytes]:
        request, collection = self._request, self._collection
        if not request.from_start and request.revision < collection.compacted:
            raise answers.too_old(request.revision, collection.compacted)
        if not request.initial_events:
            if not request.from_start:
                self._position = collection.index_after(request.revision)
            return
        # From here to the last line nothing else may run, or an event would be lost or doubled;
        # encoding first and yielding later keeps it so.
        revision = self._store.revision
        self._position = collection.next_index
        namespace = request.namespace or None
        records = [collection.records[key] for key in collection.keys(namespace)]
        lines = [
            self._renderer.event("ADDED", record)
            for record in records
            if request.matches is None or request.matches(record.object)
        ]
        if request.marks_initial_end:
            lines.append(self._renderer.bookmark(revision, initial_end=True))
        for start in range(0, len(lines), _BATCH):
            yield b"".join(lines[start : start + _BATCH])

    def _pending(self) -> bytes:
        """Events since the last look, at most one batch."""
        collection = self._collection
        if self._position < collection.first_index:
            raise answers.too_old(self._request.revision, collection.compacted)
        start = self._position - collection.first_index
        events = collection.events[start : start + _BATCH]
        self._position += len(events)
        lines = [line for event in events if (line := self._line(event))]
        if not lines and events and self._position < collection.next_index:
            return self._pending()
        return b"".join(lines)

    def _line(self, event: Event) -> bytes:
        request = self._request
        if request.namespace and event.record.key[0] != request.namespace:
            return b""
        if event.revision <= request.revision:
            return b""
        if request.matches is None:
            return self._renderer.event(event.type, event.record)
        return self._selected(event, request.matches)

    def _selected(self, event: Event, matches: Matches) -> bytes:
        """An object that starts or stops matching appears or disappears to this watcher."""
        was = event.previous is not None and matches(event.previous.object)
        now = event.type != "DELETED" and matches(event.record.object)
        if now:
            return self._renderer.event("MODIFIED" if was else "ADDED", event.record)
        if was and event.previous is not None:
            last = event.previous.object
            gone = make_record({**last, "metadata": dict(last["metadata"])}, event.revision)
            return self._renderer.event("DELETED", gone)
        return b""


class EventRenderer:
    """Events as lines of JSON in the form the client wants."""

    def __init__(self, request: WatchRequest, now: Callable[[], datetime]) -> None:
        self._kind = request.kind
        self._form = request.form
        self._include = request.include
        self._now = now
        self._sent_columns = False

    def event(self, type: str, record: Record) -> bytes:
        if not self._form.kind:
            body = encode(self._kind, record)
        elif self._form.kind == "Table":
            body = msgspec.json.encode(self._table([record]))
        else:
            partial = partial_metadata(object_of(self._kind, record), self._form.version)
            body = msgspec.json.encode(partial)
        return b'{"type":"' + type.encode() + b'","object":' + body + b"}\n"

    def _table(self, records: list[Record]) -> Object:
        rows = tables.rows(
            self._kind,
            records,
            self._include,
            self._form.version,
            self._now(),
        )
        columns = None if self._sent_columns else tables.definitions(self._kind)
        self._sent_columns = True
        metadata = {"resourceVersion": str(records[0].revision)}
        return tables.table(rows, metadata, self._form.version, columns)

    def bookmark(self, revision: int, *, initial_end: bool = False) -> bytes:
        metadata: Object = {"resourceVersion": str(revision)}
        if initial_end:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        kind, api_version = self._kind.kind, self._kind.api_version
        if self._form.kind.startswith("Partial"):
            kind, api_version = "PartialObjectMetadata", f"meta.k8s.io/{self._form.version}"
        obj: Object = {"kind": kind, "apiVersion": api_version, "metadata": metadata}
        if self._form.kind == "Table":
            row = {"cells": [], "object": {**obj, "kind": "PartialObjectMetadata"}}
            obj = tables.table([row], metadata, self._form.version, None)
        return msgspec.json.encode({"type": "BOOKMARK", "object": obj}) + b"\n"


def error_event(refusal: answers.Refusal) -> bytes:
    return msgspec.json.encode({"type": "ERROR", "object": refusal.status()}) + b"\n"
