"""What is asked again, what never is, and how long."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from fairlead.errors import Reason, Unreachable
from fairlead.kube import (
    CONFIG_MAPS,
    Client,
    JsonPatch,
    MergePatch,
    NoAnswer,
    Presented,
    StaleResource,
    Throttled,
)
from fairlead.kube.call import Call, Repeat, pause_before_repeat
from fairlead.kube.caller import Caller
from fairlead.kube.errors import Asked
from fairlead.kube.faults import no_answer
from fairlead.kube.transport import PARALLEL_REQUESTS
from tests.kube.scripted import (
    ScriptedServer,
    Step,
    answer,
    config_map,
    cut,
    cut_within,
    never,
    page,
    scripted,
    status,
)

Verb = Callable[[Client], Awaitable[object]]

READS: dict[str, Verb] = {
    "get": lambda client: client.get(CONFIG_MAPS, "a", "default"),
    "list": lambda client: client.list(CONFIG_MAPS),
    "version": lambda client: client.version(),
}
IDEMPOTENT_WRITES: dict[str, Verb] = {
    "apply": lambda client: client.apply(CONFIG_MAPS, config_map("a")),
    "replace": lambda client: client.replace(CONFIG_MAPS, config_map("a")),
    "merge": lambda client: client.patch(CONFIG_MAPS, "a", MergePatch({}), "default"),
    "delete-uid": lambda client: client.delete(CONFIG_MAPS, "a", "default", uid="u"),
}
SINGLE_WRITES: dict[str, Verb] = {
    "create": lambda client: client.create(CONFIG_MAPS, config_map("a")),
    "json-patch": lambda client: client.patch(CONFIG_MAPS, "a", JsonPatch([]), "default"),
    "delete": lambda client: client.delete(CONFIG_MAPS, "a", "default"),
    "post": lambda client: client.request("POST", "/anything", body={}),
}
WRITES = IDEMPOTENT_WRITES | SINGLE_WRITES
ALL = READS | WRITES


def good(verb: str) -> Step:
    match verb:
        case "list":
            return answer(page(config_map("a")))
        case "version":
            return answer({"gitVersion": "v1"})
        case _:
            return answer(config_map("a"))


FAULTS: dict[str, Step] = {
    "cut before any byte": cut,
    "cut within the answer": cut_within(b'{"kind": "ConfigMap", "metadata": {"na'),
    "500": status(500, "InternalError"),
    "502 of a proxy": answer(b"<html>", 502, content_type="text/html"),
    "503": status(503, "ServiceUnavailable"),
}


@pytest.mark.parametrize(
    "verb, fault",
    [*(("get", fault) for fault in FAULTS), ("list", "500"), ("version", "cut before any byte")],
)
async def test_a_read_is_asked_again_after_a_fault_that_may_pass(verb: str, fault: str) -> None:
    async with (
        scripted(FAULTS[fault], FAULTS[fault], good(verb)) as server,
        server.client() as client,
    ):
        await ALL[verb](client)
    # aiohttp itself repeats a GET whose connection was cut, at no loss.
    assert len(server.asked) == 3


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("verb", WRITES)
async def test_a_write_that_may_have_happened_is_not_repeated(verb: str, fault: str) -> None:
    async with scripted(FAULTS[fault], good(verb)) as server, server.client() as client:
        with pytest.raises(Unreachable):
            await ALL[verb](client)
    assert len(server.asked) == 1


@pytest.mark.parametrize("verb", WRITES)
async def test_a_write_on_a_kept_connection_that_broke_is_not_repeated_either(verb: str) -> None:
    steps = (good("get"), cut, good(verb))
    async with scripted(*steps) as server, server.client() as client:
        await ALL["get"](client)
        with pytest.raises(NoAnswer) as raised:
            await ALL[verb](client)
    assert raised.value.sent
    assert raised.value.reason is Reason.CONNECT
    assert len(server.asked) == 2


@pytest.mark.parametrize("verb", ALL)
async def test_429_is_asked_again_when_the_server_said_to(verb: str) -> None:
    steps = (
        status(429, "TooManyRequests", Retry_After="0"),
        answer(b"", 429),
        good(verb),
    )
    async with scripted(*steps) as server, server.client() as client:
        await ALL[verb](client)
    assert len(server.asked) == 3


@pytest.mark.parametrize("verb", READS | IDEMPOTENT_WRITES)
async def test_503_with_retry_after_is_asked_again(verb: str) -> None:
    steps = (status(503, "ServiceUnavailable", Retry_After="0"), good(verb))
    async with scripted(*steps) as server, server.client() as client:
        await ALL[verb](client)
    assert len(server.asked) == 2


@pytest.mark.parametrize("verb", SINGLE_WRITES)
async def test_503_with_retry_after_does_not_repeat_what_must_not_happen_twice(verb: str) -> None:
    steps = (status(503, "ServiceUnavailable", Retry_After="0"), good(verb))
    async with scripted(*steps) as server, server.client() as client:
        with pytest.raises(Throttled):
            await ALL[verb](client)
    assert len(server.asked) == 1


async def test_retry_after_is_waited_for() -> None:
    steps = (status(429, "TooManyRequests", Retry_After="1"), good("get"))
    loop = asyncio.get_running_loop()
    async with scripted(*steps) as server, server.client() as client:
        started = loop.time()
        await ALL["get"](client)
    assert loop.time() - started >= 1


async def test_a_retry_after_beyond_the_deadline_is_reported_at_once() -> None:
    step = status(429, "TooManyRequests", details={"retryAfterSeconds": 3600})
    async with scripted(step) as server, server.client() as client:
        with pytest.raises(Throttled) as raised:
            await ALL["get"](client)
    assert raised.value.retry_after == 3600
    assert len(server.asked) == 1


async def test_a_server_that_keeps_failing_is_given_up() -> None:
    async with scripted(status(500, "InternalError")) as server, server.client() as client:
        with pytest.raises(Unreachable) as raised:
            await ALL["get"](client)
    assert raised.value.reason is Reason.SERVER_ERROR
    assert len(server.asked) == 4


async def test_a_server_that_never_answers_is_a_timeout() -> None:
    async with scripted(never) as server, server.client(request_timeout=0.2) as client:
        with pytest.raises(NoAnswer, match="no answer in time") as raised:
            await ALL["get"](client)
    assert raised.value.reason is Reason.TIMEOUT
    assert raised.value.sent


async def test_a_probe_can_have_less_time_than_the_rest() -> None:
    async with scripted(never) as server, server.client(request_timeout=3600) as client:
        with pytest.raises(NoAnswer, match="no answer in time"):
            await client.request("GET", "/readyz", timeout=0.2)


async def test_a_request_without_retry_is_sent_once() -> None:
    async with scripted(status(429, "TooManyRequests")) as server, server.client() as client:
        with pytest.raises(Throttled):
            await client.request("GET", "/readyz", retry=False)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "refusal",
    [
        status(404, "NotFound", details={"name": "a", "kind": "configmaps"}),
        status(409, "Conflict"),
        status(422, "Invalid"),
        status(403, "Forbidden", "User cannot get"),
    ],
)
async def test_an_answer_is_an_answer_and_not_asked_for_again(refusal: Step) -> None:
    async with scripted(refusal, good("get")) as server, server.client() as client:
        with pytest.raises(Exception, match="cluster west"):
            await ALL["get"](client)
    assert len(server.asked) == 1


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@pytest.mark.parametrize("verb", ["get", "create", "replace", "delete"])
async def test_whatever_was_certainly_not_sent_is_tried_again(verb: str) -> None:
    codes: list[str] = []
    server = ScriptedServer([], url=f"http://127.0.0.1:{free_port()}")
    async with server.client(observe=lambda seen: codes.append(seen.code)) as client:
        with pytest.raises(NoAnswer, match="connection refused") as raised:
            await ALL[verb](client)
    assert not raised.value.sent
    assert "is the API server running" in str(raised.value)
    assert codes == ["connect"] * 4


@pytest.mark.parametrize("host", ["0.0.0.0.0", "a" * 64 + ".example.com"])
async def test_a_host_that_cannot_be_is_named(host: str) -> None:
    server = ScriptedServer([], url=f"http://{host}:6443")
    async with server.client() as client:
        with pytest.raises(NoAnswer, match=f"{host}:6443 is no usable address") as raised:
            await ALL["get"](client)
    assert raised.value.reason is Reason.CONNECT


def test_a_host_that_cannot_be_resolved_is_named() -> None:
    key = ConnectionKey("nowhere", 6443, True, True, None, None, None)
    fault = aiohttp.ClientConnectorDNSError(key, OSError(-2, "Name or service not known"))
    asked = Asked("cluster west (https://nowhere:6443)", "nowhere:6443", "GET", "/version")
    error = no_answer(asked, fault)
    assert error.reason is Reason.CONNECT
    assert not error.sent
    assert "the name nowhere:6443 cannot be resolved" in str(error)


def test_pauses_grow_but_stay_bounded_and_differ() -> None:
    error = NoAnswer(Reason.CONNECT, "…", sent=False)
    pauses = [pause_before_repeat(Repeat.READ, error, failures) for failures in (1, 2, 3, 4)]
    assert pauses[3] is None
    first, _, third = pauses[:3]
    assert first is not None
    assert third is not None
    assert 0 < first <= 0.1 < third <= 0.4


@dataclass
class RotatingCredentials:
    """Gives the next token after each refusal, as long as there are more."""

    tokens: list[str]
    refreshable: bool = True
    refused: list[Presented] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.presented = Presented(f"Bearer {self.tokens.pop(0)}")

    @property
    def expires_at(self) -> datetime | None:
        return None

    async def current(self) -> Presented:
        return self.presented

    def invalidate(self, presented: Presented) -> None:
        self.refused.append(presented)
        if presented is self.presented and self.tokens:
            self.presented = Presented(f"Bearer {self.tokens.pop(0)}")


@pytest.mark.parametrize("verb", ALL)
async def test_a_401_is_answered_with_fresh_credentials_once(verb: str) -> None:
    steps = (status(401, "Unauthorized"), good(verb))
    credentials = RotatingCredentials(["old", "new"])
    async with scripted(*steps) as server, server.client(credentials=credentials) as client:
        await ALL[verb](client)
    assert [asked.headers["Authorization"] for asked in server.asked] == [
        "Bearer old",
        "Bearer new",
    ]


async def test_a_second_401_is_unauthorized() -> None:
    credentials = RotatingCredentials(["a", "b", "c"])
    async with (
        scripted(status(401, "Unauthorized", "Unauthorized")) as server,
        server.client(credentials=credentials) as client,
    ):
        with pytest.raises(Unreachable, match="renew the token") as raised:
            await ALL["get"](client)
    assert raised.value.reason is Reason.UNAUTHORIZED
    assert len(server.asked) == 2


async def test_static_credentials_are_not_tried_twice() -> None:
    async with scripted(status(401, "Unauthorized")) as server, server.client() as client:
        with pytest.raises(Unreachable):
            await ALL["get"](client)
    assert len(server.asked) == 1


async def test_many_refused_at_once_invalidate_only_what_they_presented() -> None:
    credentials = RotatingCredentials(["old", "new", "never needed"])
    async with scripted(never) as server, server.client(credentials=credentials) as client:

        async def by_token(request: object) -> object:
            token = server.asked[-1].headers["Authorization"]
            step = good("get") if token == "Bearer new" else status(401, "Unauthorized")
            return await step(request)  # type: ignore[arg-type]

        server.steps = [by_token]  # type: ignore[list-item]
        await asyncio.gather(*(ALL["get"](client) for _ in range(10)))
    assert credentials.tokens == ["never needed"]
    assert {presented.authorization for presented in credentials.refused} == {"Bearer old"}


async def test_cancelling_a_request_ends_it_at_once() -> None:
    async with scripted(never) as server, server.client() as client:
        task = asyncio.ensure_future(ALL["get"](client))
        await server.wait_for(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_closed_client_says_so() -> None:
    async with scripted(good("get")) as server:
        client = server.client()
        await ALL["get"](client)
        await client.close()
        with pytest.raises(NoAnswer, match="closed"):
            await ALL["get"](client)


async def test_closing_ends_what_is_still_waiting_for_an_answer() -> None:
    async with scripted(never) as server:
        client = server.client()
        task = asyncio.ensure_future(ALL["create"](client))
        await server.wait_for(1)
        await client.close()
        with pytest.raises(NoAnswer) as raised:
            await asyncio.wait_for(task, 30)
    assert raised.value.sent


async def test_requests_beyond_the_limit_wait_their_turn_but_not_longer_than_their_time() -> None:
    async with scripted(never) as server, server.client() as client:
        first = [asyncio.ensure_future(ALL["get"](client)) for _ in range(PARALLEL_REQUESTS)]
        await server.wait_for(PARALLEL_REQUESTS)
        hurried = Caller(client.access, client._transport, name="west", timeout=0.1, observe=None)
        with pytest.raises(NoAnswer, match="not sent in time") as raised:
            await hurried.perform(Call("POST", "/"))
        assert not raised.value.sent
        for task in first:
            task.cancel()
        await asyncio.wait(first)
    assert len(server.asked) == PARALLEL_REQUESTS


async def test_conflicts_after_a_repeated_write_cannot_come_from_ourselves() -> None:
    """A PUT whose answer was lost is not sent again, so a conflict is always somebody else's."""
    steps = (cut, status(409, "Conflict"))
    async with scripted(*steps) as server, server.client() as client:
        with pytest.raises(NoAnswer):
            await ALL["replace"](client)
        with pytest.raises(StaleResource):
            await ALL["replace"](client)
