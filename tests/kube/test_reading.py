"""Unknown is a value, and identity is the UID of kube-system."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.errors import Reason, Terminal, Unreachable
from fairlead.kube import (
    CONFIG_MAPS,
    Absent,
    Found,
    Unknown,
    cluster_identity,
    read,
    verify_identity,
)
from tests.kube.scripted import Step, answer, config_map, scripted, status


async def reading_of(step: Step) -> Found | Absent | Unknown:
    async with scripted(step) as server, server.client(request_timeout=5.0) as client:
        return await read(client, CONFIG_MAPS, "a", "default")


async def test_an_object_is_found() -> None:
    assert await reading_of(answer(config_map("a"))) == Found(config_map("a"))


async def test_only_the_word_of_the_server_makes_it_absent() -> None:
    gone = status(404, "NotFound", details={"name": "a", "kind": "configmaps"})
    assert await reading_of(gone) == Absent()


@pytest.mark.parametrize(
    "step",
    [
        answer(b"404 page not found", 404, content_type="text/plain"),
        answer(b"<html>404</html>", 404, content_type="text/html"),
        status(401, "Unauthorized"),
        status(403, "Forbidden"),
        status(500, "InternalError"),
        status(410, "Gone"),
        answer(b"", 200),
    ],
)
async def test_everything_else_is_unknown(step: Step) -> None:
    reading = await reading_of(step)
    assert isinstance(reading, Unknown)
    assert "cluster west" in str(reading.error)


async def test_a_request_that_is_wrong_in_itself_is_raised() -> None:
    with pytest.raises(Terminal):
        await reading_of(status(400, "BadRequest"))


def test_a_found_object_is_not_shown() -> None:
    assert "hunter2" not in repr(Found(config_map("a", password="hunter2")))


def kube_system(**metadata: Any) -> Step:
    return answer({"kind": "Namespace", "metadata": {"name": "kube-system", **metadata}})


async def test_the_identity_of_a_cluster_is_the_uid_of_kube_system() -> None:
    async with scripted(kube_system(uid="u-1")) as server, server.client() as client:
        assert await cluster_identity(client) == "u-1"
        await verify_identity(client, "u-1")
    assert server.asked[0].path == "/api/v1/namespaces/kube-system"


async def test_another_uid_is_the_wrong_cluster() -> None:
    async with scripted(kube_system(uid="u-2")) as server, server.client() as client:
        with pytest.raises(Unreachable, match="another cluster answers") as raised:
            await verify_identity(client, "u-1")
    assert raised.value.reason is Reason.WRONG_CLUSTER
    assert "cluster west" in str(raised.value)
    assert "u-1" in str(raised.value)
    assert "u-2" in str(raised.value)


@pytest.mark.parametrize(
    "step",
    [
        status(404, "NotFound", details={"name": "kube-system", "kind": "namespaces"}),
        kube_system(),
    ],
)
async def test_a_cluster_without_identity_is_unknown_and_not_another(step: Step) -> None:
    async with scripted(step) as server, server.client() as client:
        with pytest.raises(Unreachable) as raised:
            await verify_identity(client, "u-1")
    assert raised.value.reason is Reason.BAD_ANSWER
