"""A watch over a real connection."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from fairlead.errors import FairleadError, Reason, Unreachable
from fairlead.kube import CONFIG_MAPS, Client, Gone, NoAnswer, NotServed, Presented, WatchEvent
from tests.kube.scripted import (
    Step,
    answer,
    bookmark,
    config_map,
    cut,
    cut_within,
    line,
    never,
    scripted,
    status,
    stream,
)
from tests.kube.test_client_retries import RotatingCredentials


async def watch(client: Client, **options: Any) -> list[WatchEvent]:
    got: list[WatchEvent] = []
    async with client.watch(CONFIG_MAPS, "default", resource_version="7", **options) as events:
        async for event in events:
            got.append(event)
    return got


async def failed(step: Step, **options: Any) -> FairleadError:
    async with scripted(step) as server, server.client() as client:
        with pytest.raises(FairleadError, match="cluster west") as raised:
            await watch(client, **options)
    return raised.value


async def test_a_watch_delivers_events_and_bookmarks_until_the_server_ends_it() -> None:
    pieces = (line("ADDED", config_map("a", "8")) + bookmark("9")[:5], bookmark("9")[5:])
    async with scripted(stream(*pieces)) as server, server.client() as client:
        got = await watch(client, timeout=60)
    assert [(event.type, event.object["metadata"]["resourceVersion"]) for event in got] == [
        ("ADDED", "8"),
        ("BOOKMARK", "9"),
    ]
    assert server.asked[0].query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "7",
        "timeoutSeconds": "60",
    }


async def test_events_come_while_the_connection_is_still_open() -> None:
    until = asyncio.Event()
    async with (
        scripted(stream(line("ADDED", config_map("a")), until=until)) as server,
        server.client() as client,
        client.watch(CONFIG_MAPS, resource_version="1") as events,
    ):
        event = await anext(events)
        assert event.object == config_map("a")
        until.set()
        with pytest.raises(StopAsyncIteration):
            await anext(events)


@pytest.mark.parametrize(
    "step",
    [
        status(410, "Expired", "too old resource version"),
        stream(line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"})),
    ],
)
async def test_410_is_gone_as_an_answer_and_as_an_event(step: Step) -> None:
    assert isinstance(await failed(step), Gone)


@pytest.mark.parametrize(
    "step, reason",
    [
        (cut, Reason.CONNECT),
        (cut_within(b""), Reason.CONNECT),
        (stream(line("ADDED", config_map("a")), broken=True), Reason.CONNECT),
        (stream(line("ERROR", {"kind": "Status", "code": 500})), Reason.SERVER_ERROR),
        (stream(line("ERROR", {"kind": "Status"})), Reason.SERVER_ERROR),
        (stream(line("ERROR", {"what": "is this"})), Reason.BAD_ANSWER),
        (stream(b"<html>"), Reason.BAD_ANSWER),
        (stream(b"nonsense\n"), Reason.BAD_ANSWER),
        (answer(b"<html>", content_type="text/html"), Reason.BAD_ANSWER),
        (status(401, "Unauthorized"), Reason.UNAUTHORIZED),
        (status(403, "Forbidden", "User x cannot watch resource"), Reason.FORBIDDEN),
        (status(429, "TooManyRequests"), Reason.THROTTLED),
        (answer(b"", 503), Reason.SERVER_ERROR),
        (answer(b"404 page not found\n", 404, content_type="text/plain"), Reason.NOT_SERVED),
        (answer(b"", 302, Location="http://elsewhere.invalid/"), Reason.BAD_ANSWER),
    ],
)
async def test_every_fault_of_a_watch_is_an_error_of_the_tree(step: Step, reason: Reason) -> None:
    error = await failed(step)
    assert isinstance(error, Unreachable)
    assert error.reason is reason
    assert isinstance(error, NotServed) == (reason is Reason.NOT_SERVED)


async def test_a_stalled_watch_is_noticed() -> None:
    stalled = stream(bookmark("8"), until=asyncio.Event())
    error = await failed(stalled, idle=0.1)
    assert isinstance(error, NoAnswer)
    assert error.reason is Reason.TIMEOUT


async def test_a_watch_that_is_never_answered_is_noticed() -> None:
    error = await failed(never, idle=0.1)
    assert isinstance(error, NoAnswer)
    assert error.reason is Reason.TIMEOUT


async def test_a_watch_presents_fresh_credentials_after_a_401() -> None:
    credentials = RotatingCredentials(["old", "new"])
    steps = (status(401, "Unauthorized"), stream(line("ADDED", config_map("a"))))
    async with scripted(*steps) as server, server.client(credentials=credentials) as client:
        assert len(await watch(client)) == 1
    assert server.asked[1].headers["Authorization"] == "Bearer new"
    assert credentials.refused == [Presented("Bearer old")]


async def test_leaving_a_watch_drops_its_connection() -> None:
    dropped = asyncio.Event()
    endless = stream(bookmark("1"), until=asyncio.Event())

    async def until_dropped(request: web.Request) -> web.StreamResponse:
        try:
            return await endless(request)
        finally:
            dropped.set()

    async with scripted(until_dropped) as server, server.client() as client:
        async with client.watch(CONFIG_MAPS, resource_version="1") as events:
            await anext(events)
        await asyncio.wait_for(dropped.wait(), 30)
        with pytest.raises(StopAsyncIteration):
            await anext(events)


async def test_watches_do_not_take_the_places_of_requests() -> None:
    """More watches than requests may be in flight, and a request still gets through."""
    until = asyncio.Event()
    async with scripted(stream(bookmark("1"), until=until)) as server, server.client() as client:
        tasks = [asyncio.create_task(watch(client)) for _ in range(80)]
        await server.wait_for(80)
        server.steps = [answer(config_map("a"))]
        assert await client.get(CONFIG_MAPS, "a", "default")
        until.set()
        assert all(len(got) == 1 for got in await asyncio.gather(*tasks))
