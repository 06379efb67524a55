"""Watches: where they begin, what they tell, how they end."""

from __future__ import annotations

import asyncio

from fairlead_sim import SimCluster
from tests.sim.conftest import Api, Connect, config_map

MAPS = "/api/v1/namespaces/default/configmaps"
ALL = "/api/v1/configmaps"


async def _version(api: Api) -> str:
    return str((await api.get(MAPS)).body["metadata"]["resourceVersion"])


async def test_a_watch_from_a_list_tells_everything_after_it(api: Api) -> None:
    start = await _version(api)
    made = await api.create(MAPS, config_map("a", {"k": "1"}))
    async with api.watch(f"{MAPS}?resourceVersion={start}") as stream:
        first = await stream.next()
        assert (first["type"], first["object"]) == ("ADDED", made)
        await api.patch(f"{MAPS}/a", {"data": {"k": "2"}})
        await api.delete(f"{MAPS}/a")
        second, third = await stream.next(), await stream.next()
    assert (second["type"], second["object"]["data"]) == ("MODIFIED", {"k": "2"})
    assert third["type"] == "DELETED"
    versions = [int(e["object"]["metadata"]["resourceVersion"]) for e in (first, second, third)]
    assert versions == sorted(set(versions))


async def test_a_watch_without_a_version_begins_with_what_is_there(api: Api) -> None:
    await api.create(MAPS, config_map("a"))
    for version in ("", "?resourceVersion=0"):
        async with api.watch(f"{MAPS}{version}") as stream:
            events = await stream.take(2)
        assert sorted(events) == [("ADDED", "a"), ("ADDED", "kube-root-ca.crt")]


async def test_a_watch_list_marks_the_end_of_what_is_there(api: Api) -> None:
    await api.create(MAPS, config_map("a", labels={"x": "y"}))
    options = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    async with api.watch(f"{MAPS}?{options}&labelSelector=x") as stream:
        assert await stream.take(1) == [("ADDED", "a")]
        mark = await stream.next()
        assert mark["type"] == "BOOKMARK"
        metadata = mark["object"]["metadata"]
        assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert metadata["resourceVersion"] == await _version(api)
        await api.create(MAPS, config_map("b", labels={"x": "y"}))
        assert await stream.take(1) == [("ADDED", "b")]


async def test_a_version_from_before_the_history_is_410_as_an_event(
    cluster: SimCluster, api: Api
) -> None:
    start = await _version(api)
    await api.create(MAPS, config_map("a"))
    cluster.faults.compact()
    async with api.watch(f"{MAPS}?resourceVersion={start}") as stream:
        events = await stream.rest()
    [event] = events
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    assert "too old resource version" in event["object"]["message"]


async def test_history_is_bounded(connect: Connect) -> None:
    async with SimCluster("small", history=10) as cluster:
        api = connect(cluster)
        start = await _version(api)
        for number in range(11):
            await api.create(MAPS, config_map(f"c{number}"))
        async with api.watch(f"{MAPS}?resourceVersion={start}") as stream:
            assert (await stream.next())["type"] == "ERROR"
        newest = int(await _version(api)) - 10
        async with api.watch(f"{MAPS}?resourceVersion={newest}") as stream:
            assert len(await stream.take(10)) == 10


async def test_selectors_make_objects_appear_and_disappear(api: Api) -> None:
    start = await _version(api)
    query = f"resourceVersion={start}&labelSelector=on"
    async with api.watch(f"{MAPS}?{query}") as stream:
        await api.create(MAPS, config_map("a", {"k": "1"}))
        await api.patch(f"{MAPS}/a", {"metadata": {"labels": {"on": "yes"}}})
        await api.patch(f"{MAPS}/a", {"data": {"k": "2"}})
        await api.patch(f"{MAPS}/a", {"metadata": {"labels": None}})
        await api.create(MAPS, config_map("b", labels={"on": "yes"}))
        events = [await stream.next() for _ in range(4)]
    shown = [(event["type"], event["object"]["metadata"]["name"]) for event in events]
    assert shown == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a"), ("ADDED", "b")]
    assert events[2]["object"]["metadata"]["labels"] == {"on": "yes"}


async def test_a_namespaced_watch_hears_nothing_of_other_namespaces(api: Api) -> None:
    start = await _version(api)
    async with api.watch(f"{MAPS}?resourceVersion={start}") as stream:
        await api.create("/api/v1/namespaces/kube-system/configmaps", config_map("other"))
        await api.create(MAPS, config_map("mine"))
        assert await stream.take(1) == [("ADDED", "mine")]
    async with api.watch(f"{ALL}?resourceVersion={start}") as stream:
        assert await stream.take(2) == [("ADDED", "other"), ("ADDED", "mine")]


async def test_the_server_ends_a_watch_after_its_timeout(api: Api) -> None:
    async with api.watch(
        f"{MAPS}?resourceVersion={await _version(api)}&timeoutSeconds=1"
    ) as stream:
        assert await stream.rest() == []


async def test_bookmarks_come_when_asked_for_and_switched_on(connect: Connect) -> None:
    async with SimCluster("marks", bookmark_interval=0.05) as cluster:
        api = connect(cluster)
        start = await _version(api)
        await api.create("/api/v1/namespaces", {"metadata": {"name": "elsewhere"}})
        query = f"resourceVersion={start}&allowWatchBookmarks=true"
        async with api.watch(f"{MAPS}?{query}") as stream:
            mark = await stream.next()
        assert mark["type"] == "BOOKMARK"
        assert mark["object"]["kind"] == "ConfigMap"
        assert int(mark["object"]["metadata"]["resourceVersion"]) > int(start)
        cluster.faults.bookmarks = False
        async with api.watch(f"{MAPS}?{query}&timeoutSeconds=1") as stream:
            assert await stream.rest() == []


async def test_many_watchers_all_hear_the_same(api: Api) -> None:
    start = await _version(api)

    async def listen() -> list[tuple[str, str]]:
        async with api.watch(f"{MAPS}?resourceVersion={start}") as stream:
            return await stream.take(50)

    listeners = [asyncio.create_task(listen()) for _ in range(20)]
    for number in range(50):
        await api.create(MAPS, config_map(f"c{number:02}"))
    heard = await asyncio.gather(*listeners)
    assert heard == [[("ADDED", f"c{number:02}") for number in range(50)]] * 20


async def test_a_named_object_can_be_watched(api: Api) -> None:
    await api.create(MAPS, config_map("a"))
    async with api.watch(f"{MAPS}/a") as stream:
        assert await stream.take(1) == [("ADDED", "a")]


async def test_tables_and_metadata_can_be_watched(api: Api) -> None:
    await api.create(MAPS, config_map("a", {"k": "v"}))
    query = f"{MAPS}?fieldSelector=metadata.name%3Da"
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    async with api.watch(query, Accept=accept) as stream:
        event = await stream.next()
        assert event["object"]["kind"] == "Table"
        assert event["object"]["rows"][0]["cells"][:2] == ["a", 1]
        assert event["object"]["columnDefinitions"]
        await api.patch(f"{MAPS}/a", {"data": {"x": "y"}})
        assert (await stream.next())["object"]["columnDefinitions"] is None
    accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    async with api.watch(query, Accept=accept) as stream:
        event = await stream.next()
    assert event["object"]["kind"] == "PartialObjectMetadata"
    assert "data" not in event["object"]
