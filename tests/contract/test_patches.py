"""Merge patch, JSON patch and strategic merge patch."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.errors import NotFound
from fairlead.kube import CONFIG_MAPS, Client, Invalid, JsonPatch, MergePatch, StaleResource
from tests.contract.targets import Raw, Widgets, config_map


async def test_a_merge_patch_sets_and_removes(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAPS, config_map("a", x="1", y="2"), namespace)
    patch = MergePatch({"data": {"x": "9", "y": None}, "metadata": {"labels": {"l": "v"}}})
    changed = await client.patch(CONFIG_MAPS, "a", patch, namespace)
    assert changed["data"] == {"x": "9"}
    assert changed["metadata"]["labels"] == {"l": "v"}
    assert changed["metadata"]["uid"] == made["metadata"]["uid"]
    assert changed["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]


async def test_a_patch_that_changes_nothing_keeps_the_version(
    client: Client, namespace: str
) -> None:
    made = await client.create(CONFIG_MAPS, config_map("a", x="1"), namespace)
    assert await client.patch(CONFIG_MAPS, "a", MergePatch({"data": {"x": "1"}}), namespace) == made


async def test_a_patch_with_a_stale_version_conflicts(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAPS, config_map("a"), namespace)
    version = made["metadata"]["resourceVersion"]
    patch = MergePatch({"metadata": {"resourceVersion": version}, "data": {"x": "1"}})
    await client.patch(CONFIG_MAPS, "a", patch, namespace)
    with pytest.raises(StaleResource):
        await client.patch(CONFIG_MAPS, "a", patch, namespace)


async def test_patching_what_does_not_exist_is_not_found(client: Client, namespace: str) -> None:
    with pytest.raises(NotFound):
        await client.patch(CONFIG_MAPS, "a", MergePatch({}), namespace)


async def test_a_patch_cannot_rename(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map("a"), namespace)
    with pytest.raises(Invalid):
        await client.patch(CONFIG_MAPS, "a", MergePatch({"metadata": {"name": "b"}}), namespace)


async def test_a_json_patch_runs_its_operations_in_order(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map("a", x="1"), namespace)
    operations: list[dict[str, Any]] = [
        {"op": "test", "path": "/data/x", "value": "1"},
        {"op": "add", "path": "/data/y", "value": "2"},
        {"op": "replace", "path": "/data/x", "value": "3"},
        {"op": "copy", "from": "/data/y", "path": "/data/copied"},
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {"op": "add", "path": "/metadata/annotations/example.com~1note", "value": "v"},
        {"op": "move", "from": "/data/y", "path": "/data/z"},
    ]
    changed = await client.patch(CONFIG_MAPS, "a", JsonPatch(operations), namespace)
    assert changed["data"] == {"x": "3", "copied": "2", "z": "2"}
    assert changed["metadata"]["annotations"] == {"example.com/note": "v"}
    removed = JsonPatch([{"op": "remove", "path": "/data/z"}])
    assert "z" not in (await client.patch(CONFIG_MAPS, "a", removed, namespace))["data"]


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/data/x", "value": "other"},
        {"op": "remove", "path": "/data/missing"},
        {"op": "add", "path": "/missing/deeper", "value": "1"},
    ],
)
async def test_a_json_patch_that_does_not_fit_changes_nothing(
    client: Client, namespace: str, operation: dict[str, str]
) -> None:
    made = await client.create(CONFIG_MAPS, config_map("a", x="1"), namespace)
    operations = [{"op": "add", "path": "/data/y", "value": "2"}, operation]
    with pytest.raises(Invalid) as raised:
        await client.patch(CONFIG_MAPS, "a", JsonPatch(operations), namespace)
    assert raised.value.reason == "Invalid"
    assert await client.get(CONFIG_MAPS, "a", namespace) == made


async def test_a_patch_of_the_status_changes_only_the_status(widgets: Widgets) -> None:
    client, namespace = widgets.client, widgets.namespace
    await widgets.create("a", size=1)
    patch = MergePatch({"spec": {"size": 9}, "status": {"phase": "Ready"}})
    changed = await client.patch(widgets.resource, "a", patch, namespace, subresource="status")
    assert changed["status"] == {"phase": "Ready"}
    assert changed["spec"]["size"] == 1
    changed = await client.patch(widgets.resource, "a", patch, namespace)
    assert changed["spec"]["size"] == 9


async def test_a_merge_patch_replaces_lists_whole(widgets: Widgets) -> None:
    await widgets.create("a", size=1, tags=["x", "y"])
    patch = MergePatch({"spec": {"tags": ["z"]}})
    changed = await widgets.client.patch(widgets.resource, "a", patch, widgets.namespace)
    assert changed["spec"]["tags"] == ["z"]


async def test_strategic_merge_is_for_built_in_kinds_only(
    raw: Raw, widgets: Widgets, namespace: str
) -> None:
    strategic = "application/strategic-merge-patch+json"
    await widgets.create("a", size=1)
    path = widgets.resource.path(namespace, "a")
    refused = await raw("PATCH", path, {"spec": {"size": 2}}, content_type=strategic)
    assert refused.code == 415
    assert refused.json()["reason"] == "UnsupportedMediaType"
    await raw("POST", CONFIG_MAPS.path(namespace), config_map("a", x="1"))
    path = CONFIG_MAPS.path(namespace, "a")
    merged = await raw("PATCH", path, {"data": {"y": "2"}}, content_type=strategic)
    assert merged.json()["data"] == {"x": "1", "y": "2"}


async def test_strategic_merge_joins_lists_by_their_keys(raw: Raw, namespace: str) -> None:
    service = {
        "metadata": {"name": "s"},
        "spec": {"ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}]},
    }
    made = await raw("POST", f"/api/v1/namespaces/{namespace}/services", service)
    assert made.code == 201
    patch = {"spec": {"ports": [{"port": 2, "name": "renamed"}, {"$patch": "delete", "port": 1}]}}
    merged = await raw(
        "PATCH",
        f"/api/v1/namespaces/{namespace}/services/s",
        patch,
        content_type="application/strategic-merge-patch+json",
    )
    assert [(port["name"], port["port"]) for port in merged.json()["spec"]["ports"]] == [
        ("renamed", 2)
    ]


async def test_an_unknown_kind_of_patch_is_refused(raw: Raw, namespace: str) -> None:
    await raw("POST", CONFIG_MAPS.path(namespace), config_map("a"))
    path = CONFIG_MAPS.path(namespace, "a")
    answer = await raw("PATCH", path, {}, content_type="application/json")
    assert answer.code == 415
