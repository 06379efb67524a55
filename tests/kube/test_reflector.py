"""The reflector against servers that fail in every way."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fairlead.errors import Reason, Unreachable
from fairlead.kube import (
    CONFIG_MAPS,
    Backoff,
    Change,
    Client,
    NotServed,
    Reflector,
    ReflectorSettings,
)
from fairlead.kube.sharing import share_parts, share_strings
from tests.kube.scripted import (
    ScriptedServer,
    Step,
    answer,
    bookmark,
    config_map,
    cut,
    line,
    page,
    scripted,
    status,
    stream,
)

FAST = ReflectorSettings(backoff=Backoff(base=0.001, cap=0.002))


class Followed:
    """A running reflector, its changes, and a way to wait for them."""

    def __init__(self, client: Client, **options: Any) -> None:
        self.changes: list[Change] = []
        self.reasons: list[str] = []
        self._stirred = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()
        options.setdefault("settings", FAST)
        self.reflector = Reflector(
            client,
            CONFIG_MAPS,
            "default",
            on_change=self._changed,
            on_restart=self._restarted,
            **options,
        )

    def _changed(self, change: Change) -> None:
        self.changes.append(change)
        self._stir()

    def _restarted(self, reason: str) -> None:
        self.reasons.append(reason)
        self._stir()

    def _stir(self) -> None:
        async def notify() -> None:
            async with self._stirred:
                self._stirred.notify_all()

        task = asyncio.get_running_loop().create_task(notify())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(30), self._stirred:
            await self._stirred.wait_for(condition)

    @property
    def told(self) -> list[tuple[str, str, str]]:
        return [
            (change.kind, change.key[1], change.object["metadata"]["resourceVersion"])
            for change in self.changes
        ]


@asynccontextmanager
async def following(*steps: Step, **options: Any) -> AsyncIterator[tuple[Followed, ScriptedServer]]:
    async with scripted(*steps) as server, server.client() as client:
        followed = Followed(client, **options)
        task = asyncio.create_task(followed.reflector.run())
        try:
            yield followed, server
            assert not task.done()
        finally:
            task.cancel()
            await asyncio.wait([task])
            await asyncio.gather(*followed._tasks)


def open_watch(*pieces: bytes) -> Step:
    return stream(*pieces, until=asyncio.Event())


async def test_it_lists_then_watches_from_the_lists_version() -> None:
    watching = open_watch(
        line("ADDED", config_map("b", "11")),
        line("MODIFIED", config_map("a", "12")),
        line("DELETED", config_map("b", "13")),
    )
    async with following(answer(page(config_map("a", "5"))), watching) as (followed, server):
        await followed.until(lambda: len(followed.changes) == 4)
        reflector = followed.reflector
        assert reflector.synced.is_set()
        assert dict(reflector.store) == {("default", "a"): config_map("a", "12")}
        assert reflector.last_error is None
        assert reflector.last_contact is not None
        assert reflector.restarts == 0
    assert followed.told == [
        ("set", "a", "5"),
        ("set", "b", "11"),
        ("set", "a", "12"),
        ("gone", "b", "13"),
    ]
    assert followed.changes[2].old == config_map("a", "5")
    assert followed.changes[0].old is None
    assert server.asked[1].query["resourceVersion"] == "10"
    assert server.asked[1].query["allowWatchBookmarks"] == "true"
    assert 300 <= int(server.asked[1].query["timeoutSeconds"]) <= 600


async def test_the_store_is_read_only_and_holds_no_managed_fields() -> None:
    managed = config_map("a")
    managed["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    steps = (answer(page(managed)), open_watch(line("MODIFIED", managed | {"data": {"x": "y"}})))
    async with following(*steps) as (followed, _):
        await followed.until(lambda: len(followed.changes) == 2)
        assert dict(followed.reflector.store) == {("default", "a"): config_map("a", x="y")}
        with pytest.raises(TypeError):
            followed.reflector.store["default", "b"] = {}  # type: ignore[index]


async def test_a_clean_end_resumes_from_the_last_version_without_a_new_list() -> None:
    steps = (
        answer(page(version="10")),
        stream(line("ADDED", config_map("a", "11")), bookmark("15")),
        answer(page(version="15")),  # the check that the server has not gone back
        open_watch(line("ADDED", config_map("b", "16"))),
    )
    async with following(*steps) as (followed, server):
        await followed.until(lambda: len(followed.changes) == 2)
    assert followed.told == [("set", "a", "11"), ("set", "b", "16")]
    assert followed.reasons == ["closed"]
    assert [asked.query.get("resourceVersion") for asked in server.asked] == [
        None,
        "10",
        None,
        "15",
    ]
    assert server.asked[2].query == {"limit": "1"}


async def test_an_end_at_the_agreed_time_resumes_at_once_and_is_no_restart() -> None:
    settings = ReflectorSettings(
        backoff=Backoff(base=3600, cap=3600), watch_seconds=(0.0001, 0.0001)
    )
    steps = (
        answer(page(version="10")),
        stream(bookmark("12")),
        open_watch(line("ADDED", config_map("a", "13"))),
    )
    async with following(*steps, settings=settings) as (followed, server):
        await followed.until(lambda: len(followed.changes) == 1)
        assert followed.reflector.restarts == 0
    assert server.asked[2].query["resourceVersion"] == "12"


async def test_a_server_that_came_back_with_older_data_is_listed_again() -> None:
    steps = (
        answer(page(config_map("a", "90"), config_map("b", "91"), version="100")),
        stream(bookmark("101")),
        answer(page(version="50")),
        answer(page(config_map("a", "90", other="data"), version="50")),
        open_watch(),
    )
    async with following(*steps) as (followed, server):
        await followed.until(lambda: len(followed.changes) == 4)
        await server.wait_for(5)
    assert followed.told[2:] == [("set", "a", "90"), ("gone", "b", "91")]
    assert followed.reasons == ["closed", "rolled-back"]
    assert server.asked[4].query["resourceVersion"] == "50"


@pytest.mark.parametrize(
    "fault, reason",
    [
        (status(410, "Expired"), "expired"),
        (stream(line("ERROR", {"kind": "Status", "code": 410})), "expired"),
        (cut, "connect"),
        (stream(bookmark("11"), broken=True), "connect"),
        (stream(b"<html>\n"), "bad-answer"),
        (stream(line("ADDED", {})), "bad-answer"),
        (stream(line("ADDED", {"metadata": {"resourceVersion": "1"}})), "bad-answer"),
        (stream(line("BOOKMARK", {"metadata": {"resourceVersion": 7}})), "bad-answer"),
        (status(403, "Forbidden", "User x cannot watch"), "forbidden"),
        (status(401, "Unauthorized"), "unauthorized"),
        (status(400, "BadRequest"), "refused"),
    ],
)
async def test_after_any_fault_it_lists_again_and_tells_only_the_differences(
    fault: Step, reason: str
) -> None:
    steps: tuple[Step, ...] = (
        answer(page(config_map("stays", "1"), config_map("changes", "2"), config_map("goes", "3"))),
        fault,
        answer(page(config_map("stays", "1"), config_map("changes", "4"), config_map("new", "5"))),
        open_watch(),
    )
    # aiohttp repeats a GET that was cut before any byte, so let it meet the fault twice.
    steps = (steps[0], fault, *steps[1:]) if fault is cut else steps
    async with following(*steps) as (followed, server):
        await followed.until(lambda: len(followed.changes) == 6)
        await server.wait_for(len(steps))
    assert followed.told[3:] == [
        ("set", "changes", "4"),
        ("set", "new", "5"),
        ("gone", "goes", "3"),
    ]
    assert followed.reasons == [reason]


async def test_a_stalled_watch_is_left_and_resumed() -> None:
    settings = ReflectorSettings(backoff=FAST.backoff, idle_seconds=0.2)
    steps = (
        answer(page(version="10")),
        open_watch(bookmark("12")),
        answer(page(version="12")),
        open_watch(line("ADDED", config_map("a", "13"))),
    )
    async with following(*steps, settings=settings) as (followed, server):
        await followed.until(lambda: len(followed.changes) == 1)
    assert followed.reasons[0] == "stalled"
    assert server.asked[3].query["resourceVersion"] == "12"


async def test_faults_of_the_list_are_reported_and_retried_for_ever() -> None:
    refusal = status(403, "Forbidden", "User x cannot list resource")
    steps = (*(refusal,) * 5, answer(page(config_map("a"))), open_watch(bookmark("11")))
    async with following(*steps) as (followed, _):
        await followed.until(lambda: len(followed.reasons) == 3)
        error = followed.reflector.last_error
        assert isinstance(error, Unreachable)
        assert error.reason is Reason.FORBIDDEN
        assert not followed.reflector.synced.is_set()
        await followed.until(lambda: len(followed.changes) == 1)
        assert followed.reflector.synced.is_set()
        assert followed.reflector.restarts == 5


async def test_an_api_that_appears_later_is_picked_up() -> None:
    missing = answer(b"404 page not found", 404, content_type="text/plain")
    steps = (missing, missing, answer(page(config_map("a"))), open_watch())
    async with following(*steps) as (followed, _):
        await followed.until(lambda: len(followed.reasons) == 1)
        assert isinstance(followed.reflector.last_error, NotServed)
        await followed.until(lambda: len(followed.changes) == 1)


async def test_a_list_without_a_version_is_no_list() -> None:
    async with following(answer(page(version=""))) as (followed, _):
        await followed.until(lambda: len(followed.reasons) == 2)
        assert "resourceVersion" in str(followed.reflector.last_error)


@pytest.mark.parametrize(
    "step",
    [stream(), stream(b""), status(410, "Expired"), status(500, "InternalError")],
)
async def test_a_server_that_ends_every_watch_at_once_is_not_asked_in_a_hot_loop(
    step: Step,
) -> None:
    """The waits grow: with a first wait of 10 ms, a second sees few requests, not hundreds."""

    async def by_kind(request: Any) -> Any:
        watching = "watch" in request.query
        return await (step if watching else answer(page(config_map("a"))))(request)

    settings = ReflectorSettings(backoff=Backoff(base=0.01, cap=10))
    async with following(by_kind, settings=settings) as (followed, server):
        await followed.until(lambda: len(followed.reasons) == 3)
        await asyncio.sleep(0.5)
        watches = sum("watch" in asked.query for asked in server.asked)
        assert watches <= 10
    assert followed.told == [("set", "a", "1")]


async def test_it_never_ends_by_itself_but_with_a_failing_listener() -> None:
    def broken(change: Change) -> None:
        raise RuntimeError("a bug in the listener")

    async with scripted(answer(page(config_map("a")))) as server, server.client() as client:
        reflector = Reflector(client, CONFIG_MAPS, on_change=broken)
        with pytest.raises(RuntimeError, match="a bug in the listener"):
            await asyncio.wait_for(reflector.run(), 30)


async def test_selectors_and_metadata_only_go_into_list_and_watch() -> None:
    settings = ReflectorSettings(backoff=FAST.backoff, metadata_only=True)
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    event = partial | {"metadata": config_map("a", "11")["metadata"]}
    steps = (answer(page()), open_watch(line("ADDED", event)))
    options = {"labels": "app=x", "fields": "metadata.name=a", "settings": settings}
    async with following(*steps, **options) as (followed, server):
        await followed.until(lambda: len(followed.changes) == 1)
    assert followed.changes[0].object["kind"] == "ConfigMap"
    assert followed.changes[0].object["apiVersion"] == "v1"
    for asked in server.asked:
        assert asked.query["labelSelector"] == "app=x"
        assert asked.query["fieldSelector"] == "metadata.name=a"
        assert "as=PartialObjectMetadata" in asked.headers["Accept"]


async def test_an_error_is_forgotten_as_soon_as_a_watch_stands() -> None:
    steps = (status(500, "x"),) * 4 + (answer(page()), open_watch(bookmark("11")))
    async with following(*steps) as (followed, server):
        await followed.until(lambda: len(followed.reasons) == 1)
        before = time.monotonic()
        await server.wait_for(6)
        async with asyncio.timeout(30):
            while followed.reflector.last_error is not None:  # noqa: ASYNC110 - no event to await
                await asyncio.sleep(0.001)
        assert followed.reflector.last_contact is not None
        assert followed.reflector.last_contact >= before


def test_shared_strings_are_the_same_object_and_everything_else_is_untouched() -> None:
    def decoded() -> dict[str, Any]:
        text = '{"a": ["Running", {"b": "Running"}, 1, null, ["Running"]], "c": "%s"}' % ("x" * 99)
        return dict(json.loads(text))

    first, second = decoded(), decoded()
    share_strings(first)
    share_strings(second)
    assert first == second == decoded()
    assert first["a"][0] is first["a"][1]["b"] is second["a"][4][0]
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"deeper": deep}
    share_strings(deep)


def test_unchanged_parts_of_a_changed_object_are_the_same_object() -> None:
    old = {"metadata": {"name": "a", "labels": {"x": "1"}}, "spec": {"a": [1]}, "gone": 1}
    new = {"metadata": {"name": "b", "labels": {"x": "1"}}, "spec": {"a": [1]}, "status": {}}
    expected = json.loads(json.dumps(new))
    assert not share_parts(old, new)
    assert new == expected
    assert new["spec"] is old["spec"]
    assert new["metadata"]["labels"] is old["metadata"]["labels"]  # type: ignore[index]
    assert share_parts(new, expected)
    assert not share_parts({"a": None, "b": 1}, {"b": 1})
