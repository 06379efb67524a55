from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.runtime.controller import Controller
from fairlead.runtime.lane import Lane
from fairlead.runtime.logs import configure_logging
from fairlead.runtime.metrics import Metrics
from fairlead.runtime.outcome import Result
from fairlead.runtime.redact import redact, redact_text
from fairlead.runtime.request import Request
from fairlead.runtime.settings import RuntimeSettings
from tests.runtime.virtual_time import VirtualClock

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZG1pbiJ9.c2lnbmF0dXJlLXRleHQ"


@pytest.fixture
def text() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    stream = io.StringIO()
    configure_logging(level="debug", format="json", stream=stream)
    yield stream
    structlog.reset_defaults()
    root.handlers[:], root.level = before


def lines(text: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.getvalue().splitlines()]


class Talking:
    """A reconciler that logs in every way there is, and then fails with a token in its error."""

    async def reconcile(self, request: Request) -> Result | None:
        structlog.get_logger("fairlead.shop").info("looking", replicas=3)
        logging.getLogger("some.library").warning("connection to %s is slow", "10.0.0.1")
        raise RuntimeError(f"401 for Authorization: Bearer {JWT}")


async def test_every_line_of_a_reconcile_says_cluster_object_and_id(text: io.StringIO) -> None:
    lane = Lane(
        Controller("apps", Talking(), workers=2),
        "east",
        settings=RuntimeSettings(),
        metrics=Metrics(),
        clock=VirtualClock(),
    )
    serving = asyncio.create_task(lane.serve(lambda: True))
    for name in ("a", "b"):
        lane.queue.add(Request("east", "shop", name))
    while len(lane.failing) < 2:  # noqa: ASYNC110 - the lane tells nobody when it is through
        await asyncio.sleep(0)
    serving.cancel()
    await asyncio.wait({serving})
    lane.queue.close()

    ids: dict[str, set[str]] = {}
    for line in lines(text):
        assert line["cluster"] == "east"
        assert line["controller"] == "apps"
        ids.setdefault(line["object"], set()).add(line["reconcile_id"])
    assert {name: len(found) for name, found in ids.items()} == {"shop/a": 1, "shop/b": 1}
    assert ids["shop/a"] != ids["shop/b"]
    messages = {line["message"] for line in lines(text)}
    assert messages >= {"looking", "connection to 10.0.0.1 is slow", "reconcile broke"}
    broken = next(line for line in lines(text) if line["message"] == "reconcile broke")
    assert "RuntimeError" in broken["traceback"]
    assert JWT not in text.getvalue()
    assert "signature" not in text.getvalue()


def test_a_json_line_is_one_line_whatever_is_in_it(text: io.StringIO) -> None:
    structlog.get_logger("x").warning("odd", value="two\nlines", thing=object(), raw=b"\xff")
    structlog.get_logger("x").warning("odder", name="broken \udcff", size=2**70, table={(1, 2): 3})
    line, odder = lines(text)
    assert odder["message"] == "odder"
    assert odder["size"] == 2**70
    assert line["value"] == "two\nlines"
    assert line["level"] == "warning"
    assert line["logger"] == "x"


def test_lines_below_the_level_are_not_written() -> None:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    stream = io.StringIO()
    try:
        configure_logging(level="warning", format="json", stream=stream)
        structlog.get_logger().info("quiet")
        logging.getLogger("library").info("quiet too")
        structlog.get_logger().warning("loud")
        assert [line["message"] for line in lines(stream)] == ["loud"]
    finally:
        structlog.reset_defaults()
        root.handlers[:], root.level = before


def test_without_a_terminal_auto_means_json() -> None:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    stream = io.StringIO()
    try:
        configure_logging(format="auto", stream=stream)
        structlog.get_logger().info("hello", answer=42)
        assert lines(stream)[0]["answer"] == 42
        console = io.StringIO()
        configure_logging(format="console", stream=console)
        structlog.get_logger().info("hello", answer=42)
        assert "hello" in console.getvalue()
        assert "answer=42" in console.getvalue()
    finally:
        structlog.reset_defaults()
        root.handlers[:], root.level = before


@pytest.mark.parametrize(
    "field",
    [
        "authorization",
        "Authorization",
        "token",
        "bearer_token",
        "id-token",
        "password",
        "client_key",
        "client-key-data",
        "private_key",
        "key_pem",
        "api_key",
        "secret_access_key",
        "credentials",
    ],
)
def test_a_field_that_names_a_secret_is_never_shown(field: str) -> None:
    event = redact(None, "info", {"event": "x", field: "hunter2", "deep": [{field: "hunter2"}]})
    assert "hunter2" not in str(event)


@pytest.mark.parametrize(
    "field", ["token_file", "credential_path", "token_expires", "secret", "key", "object"]
)
def test_a_field_that_says_where_a_secret_is_stays_readable(field: str) -> None:
    assert redact(None, "info", {field: "shop/thing"})[field] == "shop/thing"


@pytest.mark.parametrize(
    "said",
    [
        f"Authorization: Bearer {JWT}",
        f"GET failed with bearer {JWT}",
        f"token {JWT} was refused",
        "authorization=Basic aHVudGVyMjpodW50ZXIy",
        "https://admin:hunter2-aHVudGVyMjpodW50ZXIy@proxy:3128/ cannot be reached",
        "password: aHVudGVyMjpodW50ZXIy",
        '{"client-key-data": "aHVudGVyMjpodW50ZXIy"}',
        "{'token': 'aHVudGVyMjpodW50ZXIy', 'x': 1}",
        "-----BEGIN RSA PRIVATE KEY-----\naHVudGVyMjpodW50ZXIy\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\naHVudGVyMjpodW50ZXIy and then it was cut off",
    ],
)
def test_text_that_holds_a_secret_is_shown_without_it(said: str) -> None:
    shown = redact_text(said)
    assert "aHVudGVyMjpodW50ZXIy" not in shown
    assert JWT not in shown
    assert "[redacted]" in shown


@pytest.mark.parametrize(
    "said",
    [
        "cluster east: GET /api/v1/namespaces/shop/secrets/token: not found",
        "no bearer token was sent; log in again",
        "https://east.example:6443/clusters/root:org answered 503",
    ],
)
def test_text_without_a_secret_is_left_alone(said: str) -> None:
    assert redact_text(said) == said


@settings(max_examples=40, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_redacting_never_fails_and_twice_is_as_good_as_once(value: Any) -> None:
    once = redact(None, "info", {"value": value})
    shown = str(once)
    assert str(redact(None, "info", dict(once))) == shown
