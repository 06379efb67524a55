"""The verbs as they go over the wire."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.errors import InvalidInput, Reason, Unreachable
from fairlead.kube import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    NAMESPACES,
    Client,
    JsonPatch,
    MergePatch,
    RequestSeen,
    Resource,
)
from tests.kube.scripted import answer, config_map, page, scripted, status


async def test_get_asks_for_the_object_with_the_token_and_gives_it_back() -> None:
    async with (
        scripted(answer(config_map("settings", colour="blue"))) as server,
        server.client() as client,
    ):
        found = await client.get(CONFIG_MAPS, "settings", "default")
    assert found == config_map("settings", colour="blue")
    [asked] = server.asked
    assert (asked.method, asked.target) == ("GET", "/api/v1/namespaces/default/configmaps/settings")
    assert asked.headers["Authorization"] == "Bearer the-secret-token"
    assert asked.headers["User-Agent"].startswith("fairlead")


async def test_a_base_path_of_the_server_stands_before_every_path() -> None:
    async with (
        scripted(answer(config_map("x"))) as server,
        server.client(base_path="/clusters/root:org") as client,
    ):
        await client.get(CONFIG_MAPS, "x", "default")
    assert server.asked[0].path == "/clusters/root:org/api/v1/namespaces/default/configmaps/x"


async def test_names_are_escaped_and_names_that_would_leave_the_path_are_refused() -> None:
    role = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", False)
    assert role.path(name="system:node").endswith("/clusterroles/system:node")
    assert role.path(name="ä b?c#").endswith("/clusterroles/%C3%A4%20b%3Fc%23")
    for name in ("", ".", "..", "a/b", "a%2fb"):
        with pytest.raises(InvalidInput):
            role.path(name=name)


def test_paths_know_the_scope_of_their_resource() -> None:
    assert DEPLOYMENTS.path() == "/apis/apps/v1/deployments"
    assert DEPLOYMENTS.path("a", "b", "status") == "/apis/apps/v1/namespaces/a/deployments/b/status"
    assert NAMESPACES.path(name="a") == "/api/v1/namespaces/a"
    with pytest.raises(InvalidInput, match="cluster-scoped"):
        NAMESPACES.path("a", "b")
    with pytest.raises(InvalidInput, match="namespaced"):
        DEPLOYMENTS.path(name="b")
    assert (DEPLOYMENTS.api_version, CONFIG_MAPS.api_version) == ("apps/v1", "v1")
    assert (str(DEPLOYMENTS), str(CONFIG_MAPS)) == ("deployments.apps", "configmaps")


async def test_list_joins_its_chunks_and_completes_kind_and_api_version() -> None:
    chunks = (
        answer(page(config_map("a"), token="next")),
        answer(page(config_map("b"))),
    )
    async with scripted(*chunks) as server, server.client() as client:
        found = await client.list(CONFIG_MAPS, "default", labels="app=x", fields="a=b", chunk=1)
    assert found.items == [config_map("a"), config_map("b")]
    assert found.resource_version == "10"
    first, second = (asked.query for asked in server.asked)
    assert first == {"labelSelector": "app=x", "fieldSelector": "a=b", "limit": "1"}
    assert second == first | {"continue": "next"}


async def test_a_list_whose_continue_token_expired_begins_anew_once_in_one_piece() -> None:
    chunks = (
        answer(page(config_map("old"), token="next")),
        status(410, "Expired", "the provided continue parameter is too old"),
        answer(page(config_map("a"), config_map("b"), version="11")),
    )
    async with scripted(*chunks) as server, server.client() as client:
        found = await client.list(CONFIG_MAPS, chunk=1)
    assert [item["metadata"]["name"] for item in found.items] == ["a", "b"]
    assert found.resource_version == "11"
    assert [asked.query for asked in server.asked] == [
        {"limit": "1"},
        {"limit": "1", "continue": "next"},
        {},
    ]


async def test_a_list_that_never_ends_is_no_answer() -> None:
    async with (
        scripted(answer(page(config_map("a"), token="same"))) as server,
        server.client() as client,
    ):
        with pytest.raises(Unreachable, match="never end") as raised:
            await client.list(CONFIG_MAPS)
    assert raised.value.reason is Reason.BAD_ANSWER
    assert len(server.asked) == 2


async def test_list_transforms_objects_and_asks_for_metadata_only() -> None:
    def name_only(obj: dict[str, Any]) -> dict[str, Any]:
        return {"name": obj["metadata"]["name"]}

    async with scripted(answer(page(config_map("a")))) as server, server.client() as client:
        found = await client.list(CONFIG_MAPS, metadata_only=True, transform=name_only)
    assert found.items == [{"name": "a"}]
    assert "as=PartialObjectMetadataList" in server.asked[0].headers["Accept"]


async def test_create_posts_to_the_namespace_of_the_object() -> None:
    async with scripted(answer(config_map("a"), 201)) as server, server.client() as client:
        await client.create(CONFIG_MAPS, config_map("a"), manager="me")
    [asked] = server.asked
    assert (asked.method, asked.path) == ("POST", "/api/v1/namespaces/default/configmaps")
    assert asked.query == {"fieldManager": "me"}
    assert asked.json() == config_map("a")


async def test_writing_without_a_name_or_namespace_says_what_is_missing() -> None:
    async with scripted(answer({})) as server, server.client() as client:
        with pytest.raises(InvalidInput, match="has no namespace"):
            await client.create(CONFIG_MAPS, {"metadata": {"name": "x"}})
        with pytest.raises(InvalidInput, match=r"has no metadata\.name"):
            await client.apply(CONFIG_MAPS, {"metadata": {}}, "default")
    assert server.asked == []


async def test_replace_puts_the_object_with_its_resource_version() -> None:
    async with scripted(answer(config_map("a", "2"))) as server, server.client() as client:
        await client.replace(CONFIG_MAPS, config_map("a", "1"))
        await client.replace(CONFIG_MAPS, config_map("a", "1"), subresource="status")
    first, second = server.asked
    assert (first.method, first.path) == ("PUT", "/api/v1/namespaces/default/configmaps/a")
    assert first.json()["metadata"]["resourceVersion"] == "1"
    assert second.path.endswith("/configmaps/a/status")


async def test_apply_completes_the_type_and_says_manager_force_and_dry_run() -> None:
    desired = {"metadata": {"name": "a"}, "data": {"x": "y"}}
    async with scripted(answer(config_map("a"))) as server, server.client() as client:
        await client.apply(CONFIG_MAPS, desired, "default")
        await client.apply(CONFIG_MAPS, desired, "default", manager="m", force=True, dry_run=True)
    first, second = server.asked
    assert first.method == "PATCH"
    assert first.headers["Content-Type"] == "application/apply-patch+yaml"
    assert first.json() == desired | {"apiVersion": "v1", "kind": "ConfigMap"}
    assert first.query == {"fieldManager": "fairlead", "force": "false"}
    assert second.query == {"fieldManager": "m", "force": "true", "dryRun": "All"}


@pytest.mark.parametrize(
    "patch, content_type",
    [
        (MergePatch({"data": None}), "application/merge-patch+json"),
        (JsonPatch([{"op": "remove", "path": "/data"}]), "application/json-patch+json"),
    ],
)
async def test_patches_say_which_kind_they_are(
    patch: MergePatch | JsonPatch, content_type: str
) -> None:
    async with scripted(answer(config_map("a"))) as server, server.client() as client:
        await client.patch(CONFIG_MAPS, "a", patch, "default")
    [asked] = server.asked
    assert asked.headers["Content-Type"] == content_type
    assert asked.json() == patch.content


async def test_delete_carries_its_preconditions_and_propagation() -> None:
    done = {"kind": "Status", "apiVersion": "v1", "status": "Success"}
    async with scripted(answer(done)) as server, server.client() as client:
        result = await client.delete(
            CONFIG_MAPS,
            "a",
            "default",
            uid="u",
            resource_version="7",
            propagation="Foreground",
            grace_seconds=0,
        )
        await client.delete(CONFIG_MAPS, "a", "default")
    assert result == done
    first, second = server.asked
    assert first.json() == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "propagationPolicy": "Foreground",
        "gracePeriodSeconds": 0,
    }
    assert second.json() == {"apiVersion": "v1", "kind": "DeleteOptions"}


async def test_a_large_object_is_sent_whole() -> None:
    large = config_map("a", payload="x" * (2 << 20))
    async with scripted(answer(config_map("a"))) as server, server.client() as client:
        await client.apply(CONFIG_MAPS, large)
    assert server.asked[0].json()["data"] == large["data"]


async def test_raw_requests_give_the_answer_as_it_came() -> None:
    async with (
        scripted(answer(b"ok", content_type="text/plain")) as server,
        server.client() as client,
    ):
        ready = await client.request("GET", "/readyz", query={"verbose": ""})
    assert (ready.code, ready.text()) == (200, "ok")
    assert server.asked[0].target == "/readyz?verbose="


async def test_version_is_checked_to_be_one() -> None:
    async with (
        scripted(answer({"gitVersion": "v1.36.0"}), answer([])) as server,
        server.client() as client,
    ):
        assert (await client.version())["gitVersion"] == "v1.36.0"
        with pytest.raises(Unreachable, match="not an answer of a Kubernetes API server"):
            await client.version()


async def test_every_attempt_is_observed_with_its_code_or_reason() -> None:
    seen: list[RequestSeen] = []
    steps = (status(503, "ServiceUnavailable"), answer(config_map("a")))
    async with scripted(*steps) as server, server.client(observe=seen.append) as client:
        await client.get(CONFIG_MAPS, "a", "default")
    assert [(one.method, one.resource, one.code) for one in seen] == [
        ("GET", "configmaps", "503"),
        ("GET", "configmaps", "200"),
    ]
    assert all(one.seconds >= 0 for one in seen)


async def test_no_secret_shows_in_the_representation_of_a_client() -> None:
    async with scripted(answer({})) as server, server.client() as client:
        assert "the-secret-token" not in f"{client} {client!r} {client.access!r}"
        assert "west" in str(client)
        assert isinstance(client, Client)
