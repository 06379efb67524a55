"""Watches: from a version, with bookmarks, selectors and 410; and the reflector on top."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from fairlead.errors import Transient
from fairlead.kube import (
    CONFIG_MAPS,
    Change,
    Client,
    Gone,
    MergePatch,
    Object,
    Reflector,
    WatchEvent,
    WatchStream,
)
from tests.contract.targets import Raw, Widgets, config_map, eventually


async def version_of(client: Client, namespace: str) -> str:
    return (await client.list(CONFIG_MAPS, namespace)).resource_version


async def following(events: WatchStream, count: int) -> list[WatchEvent]:
    """The next so many events that are no bookmarks."""
    found: list[WatchEvent] = []
    async with asyncio.timeout(30):
        while len(found) < count:
            event = await anext(events)
            if event.type != "BOOKMARK":
                found.append(event)
    return found


def told(events: list[WatchEvent]) -> list[tuple[str, str]]:
    return [(event.type, event.object["metadata"]["name"]) for event in events]


def labelled(name: str, value: str) -> Object:
    obj = config_map(name)
    obj["metadata"]["labels"] = {"l": value}
    return obj


async def test_a_watch_tells_what_happened_after_its_version(
    client: Client, namespace: str
) -> None:
    await client.create(CONFIG_MAPS, config_map("before"), namespace)
    version = await version_of(client, namespace)
    made = await client.create(CONFIG_MAPS, config_map("a", x="1"), namespace)
    changed = await client.patch(CONFIG_MAPS, "a", MergePatch({"data": {"x": "2"}}), namespace)
    await client.delete(CONFIG_MAPS, "a", namespace)
    async with client.watch(
        CONFIG_MAPS, namespace, resource_version=version, fields="metadata.name=a"
    ) as events:
        added, modified, deleted = await following(events, 3)
    assert (added.type, added.object) == ("ADDED", made)
    assert (modified.type, modified.object) == ("MODIFIED", changed)
    assert deleted.type == "DELETED"
    assert deleted.object["data"] == {"x": "2"}
    versions = [int(event.object["metadata"]["resourceVersion"]) for event in (modified, deleted)]
    assert versions[1] > versions[0]


async def test_changes_arrive_while_watching(client: Client, namespace: str) -> None:
    version = await version_of(client, namespace)
    selector = "metadata.name!=kube-root-ca.crt"
    async with client.watch(
        CONFIG_MAPS, namespace, resource_version=version, fields=selector
    ) as events:
        for name in ("a", "b"):
            await client.create(CONFIG_MAPS, config_map(name), namespace)
            assert told(await following(events, 1)) == [("ADDED", name)]


async def test_a_watch_of_all_namespaces_sees_them_all(client: Client, namespace: str) -> None:
    version = await version_of(client, namespace)
    made = labelled("a", namespace)
    async with client.watch(
        CONFIG_MAPS, resource_version=version, labels=f"l={namespace}"
    ) as events:
        await client.create(CONFIG_MAPS, made, namespace)
        assert told(await following(events, 1)) == [("ADDED", "a")]


async def test_entering_and_leaving_a_selection_are_added_and_deleted(
    client: Client, namespace: str
) -> None:
    await client.create(CONFIG_MAPS, labelled("a", "out"), namespace)
    version = await version_of(client, namespace)
    async with client.watch(
        CONFIG_MAPS, namespace, resource_version=version, labels="l=in"
    ) as events:
        for value in ("in", "in2", "in", "out"):
            patch = MergePatch({"metadata": {"labels": {"l": value, "n": value}}})
            await client.patch(CONFIG_MAPS, "a", patch, namespace)
        kinds = [event.type for event in await following(events, 4)]
    assert kinds == ["ADDED", "DELETED", "ADDED", "DELETED"]


async def test_a_finalizer_shows_as_modified_then_deleted(client: Client, namespace: str) -> None:
    held = config_map("a")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    made = await client.create(CONFIG_MAPS, held, namespace)
    async with client.watch(
        CONFIG_MAPS,
        namespace,
        resource_version=made["metadata"]["resourceVersion"],
        fields="metadata.name=a",
    ) as events:
        await client.delete(CONFIG_MAPS, "a", namespace)
        [marked] = await following(events, 1)
        assert marked.type == "MODIFIED"
        assert marked.object["metadata"]["deletionTimestamp"]
        patch = MergePatch({"metadata": {"finalizers": None}})
        await client.patch(CONFIG_MAPS, "a", patch, namespace)
        kinds = [event.type for event in await following(events, 1)]
        assert kinds == ["DELETED"]


async def test_the_server_ends_a_watch_at_the_agreed_time(client: Client, namespace: str) -> None:
    version = await version_of(client, namespace)
    started = asyncio.get_running_loop().time()
    async with client.watch(CONFIG_MAPS, namespace, resource_version=version, timeout=1) as events:
        async for event in events:
            assert event.type in {"BOOKMARK", "ADDED"}
    assert asyncio.get_running_loop().time() - started >= 0.9


@pytest.mark.slow
async def test_a_watch_ends_with_a_bookmark_if_asked(widgets: Widgets, raw: Raw) -> None:
    """In the last seconds of its time, so that the next one need not start far back. A server
    promises no bookmark for any one watch, so it is asked until one comes."""
    made = await widgets.create("a", size=1)
    version = made["metadata"]["resourceVersion"]
    path = widgets.resource.path(widgets.namespace)

    async def watch(options: str = "") -> list[WatchEvent]:
        query = f"watch=true&resourceVersion={version}&timeoutSeconds=3{options}"
        answer = await raw("GET", f"{path}?{query}")
        return msgspec.json.Decoder(WatchEvent).decode_lines(answer.body)

    [event] = await eventually(lambda: watch("&allowWatchBookmarks=true"))
    assert event.type == "BOOKMARK"
    mark = event.object
    assert mark["kind"] == "Widget"
    assert mark["apiVersion"] == widgets.resource.api_version
    assert set(mark["metadata"]) <= {"resourceVersion", "creationTimestamp"}
    assert int(mark["metadata"]["resourceVersion"]) >= int(version)
    assert await watch() == []


async def test_a_version_that_is_too_old_is_410_as_an_event(raw: Raw, widgets: Widgets) -> None:
    """A kind remembers no history from before it existed."""
    await widgets.create("a", size=1)
    path = widgets.resource.path(widgets.namespace)
    answer = await raw("GET", f"{path}?watch=true&resourceVersion=1&timeoutSeconds=2")
    assert answer.code == 200
    [event] = msgspec.json.Decoder(WatchEvent).decode_lines(answer.body)
    assert event.type == "ERROR"
    assert event.object["kind"] == "Status"
    assert event.object["code"] == 410
    assert event.object["reason"] == "Expired"
    assert event.object["message"].startswith("too old resource version: 1 (")
    with pytest.raises(Gone):
        async with widgets.client.watch(
            widgets.resource, widgets.namespace, resource_version="1"
        ) as events:
            await anext(events)


async def test_a_watch_without_a_version_begins_with_what_is_there(
    raw: Raw, client: Client, namespace: str
) -> None:
    await client.create(CONFIG_MAPS, labelled("a", "x"), namespace)
    await client.create(CONFIG_MAPS, labelled("b", "x"), namespace)
    for version in ("", "&resourceVersion=0"):
        query = f"watch=true&timeoutSeconds=1&labelSelector=l%3Dx{version}"

        async def look(query: str = query) -> list[tuple[str, str]]:
            answer = await raw("GET", f"{CONFIG_MAPS.path(namespace)}?{query}")
            events = msgspec.json.Decoder(WatchEvent).decode_lines(answer.body)
            return sorted(told(events))

        # From version 0 the cache may answer with what it knew a moment ago.
        await eventually(look, lambda seen: seen == [("ADDED", "a"), ("ADDED", "b")])


async def test_initial_events_end_with_an_annotated_bookmark(
    raw: Raw, client: Client, namespace: str
) -> None:
    await client.create(CONFIG_MAPS, labelled("a", "x"), namespace)
    query = (
        "watch=true&sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=2"
        "&resourceVersionMatch=NotOlderThan&labelSelector=l%3Dx"
    )
    answer = await raw("GET", f"{CONFIG_MAPS.path(namespace)}?{query}")
    assert answer.code == 200
    events = msgspec.json.Decoder(WatchEvent).decode_lines(answer.body)
    assert told(events[:1]) == [("ADDED", "a")]
    assert events[1].type == "BOOKMARK"
    assert events[1].object["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_a_version_that_is_no_number_is_refused(client: Client, namespace: str) -> None:
    with pytest.raises(Transient):
        async with client.watch(CONFIG_MAPS, namespace, resource_version="abc") as events:
            await anext(events)


async def test_a_selector_for_a_watch_is_checked_too(raw: Raw, namespace: str) -> None:
    answer = await raw("GET", f"{CONFIG_MAPS.path(namespace)}?watch=true&labelSelector=a%20in%20b")
    assert answer.code == 400


@asynccontextmanager
async def reflected(
    client: Client, namespace: str
) -> AsyncIterator[tuple[Reflector, list[Change]]]:
    changes: list[Change] = []
    reflector = Reflector(
        client,
        CONFIG_MAPS,
        namespace,
        on_change=changes.append,
        fields="metadata.name!=kube-root-ca.crt",
    )
    task = asyncio.create_task(reflector.run())
    try:
        await asyncio.wait_for(reflector.synced.wait(), 30)
        yield reflector, changes
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_reflector_follows(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map("a", x="1"), namespace)
    async with reflected(client, namespace) as (reflector, changes):
        await client.apply(CONFIG_MAPS, config_map("a", x="2"), namespace, force=True)
        await client.create(CONFIG_MAPS, config_map("b"), namespace)
        await client.delete(CONFIG_MAPS, "b", namespace)

        async def seen() -> list[tuple[str, str]]:
            return [(change.kind, change.key[1]) for change in changes]

        await eventually(seen, lambda now: len(now) == 4)
        assert await seen() == [("set", "a"), ("set", "a"), ("set", "b"), ("gone", "b")]
        assert list(reflector.store) == [(namespace, "a")]
        assert reflector.store[namespace, "a"]["data"] == {"x": "2"}
        assert reflector.last_error is None


async def test_metadata_only_leaves_the_content_behind(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map("a", x="1"), namespace)
    listed = await client.list(CONFIG_MAPS, namespace, fields="metadata.name=a", metadata_only=True)
    [item] = listed.items
    assert "data" not in item
    assert item["metadata"]["name"] == "a"
    async with client.watch(
        CONFIG_MAPS,
        namespace,
        resource_version=listed.resource_version,
        fields="metadata.name=a",
        metadata_only=True,
    ) as events:
        await client.patch(CONFIG_MAPS, "a", MergePatch({"data": {"x": "2"}}), namespace)
        [event] = await following(events, 1)
    assert event.object["kind"] == "PartialObjectMetadata"
    assert event.object["apiVersion"] == "meta.k8s.io/v1"
    assert "data" not in event.object
