"""Lists: selectors, chunks, versions."""

from __future__ import annotations

import pytest

from fairlead.errors import Terminal
from fairlead.kube import CONFIG_MAPS, NAMESPACES, PODS, SECRETS, Client
from tests.contract.targets import Raw, Widgets, config_map


async def fill(client: Client, namespace: str, **labels: dict[str, str]) -> None:
    for name, values in labels.items():
        wish = config_map(name)
        wish["metadata"]["labels"] = {"mine": "yes"} | values
        await client.create(CONFIG_MAPS, wish, namespace)


async def names(client: Client, namespace: str, labels: str) -> list[str]:
    listed = await client.list(CONFIG_MAPS, namespace, labels=f"mine,{labels}")
    return [item["metadata"]["name"] for item in listed.items]


@pytest.mark.parametrize(
    "selector, expected",
    [
        ("app=web", ["a", "b"]),
        ("app==web", ["a", "b"]),
        ("app!=web", ["c", "d"]),
        ("app", ["a", "b", "c"]),
        ("!app", ["d"]),
        ("app in (web, db)", ["a", "b", "c"]),
        ("app notin (web)", ["c", "d"]),
        ("app=web,tier=one", ["a"]),
        ("tier in (one,two),app!=db", ["a", "b"]),
        ("size>5", ["c"]),
        ("size<5", ["b"]),
        ("example.com/role=x", ["d"]),
        ("app=nothing", []),
    ],
)
async def test_labels_select(
    client: Client, namespace: str, selector: str, expected: list[str]
) -> None:
    await fill(
        client,
        namespace,
        a={"app": "web", "tier": "one"},
        b={"app": "web", "tier": "two", "size": "3"},
        c={"app": "db", "size": "10"},
        d={"example.com/role": "x"},
    )
    assert await names(client, namespace, selector) == expected


@pytest.mark.parametrize("selector", ["a in b", "a=b=c", "=", "a in (b", "-x=y"])
async def test_a_selector_that_is_none_is_refused(
    client: Client, namespace: str, selector: str
) -> None:
    with pytest.raises(Terminal) as raised:
        await client.list(CONFIG_MAPS, namespace, labels=selector)
    assert raised.value.reason == "BadRequest"


async def test_fields_select_by_name_and_namespace(client: Client, namespace: str) -> None:
    await fill(client, namespace, a={}, b={})
    one = await client.list(CONFIG_MAPS, namespace, fields="metadata.name=a")
    assert [item["metadata"]["name"] for item in one.items] == ["a"]
    other = await client.list(CONFIG_MAPS, namespace, labels="mine", fields="metadata.name!=a")
    assert [item["metadata"]["name"] for item in other.items] == ["b"]
    everywhere = await client.list(CONFIG_MAPS, fields=f"metadata.namespace={namespace}")
    assert {item["metadata"]["namespace"] for item in everywhere.items} == {namespace}


async def test_some_kinds_have_fields_of_their_own(client: Client, namespace: str) -> None:
    await client.create(SECRETS, {"metadata": {"name": "s"}, "type": "example.com/x"}, namespace)
    found = await client.list(SECRETS, namespace, fields="type=example.com/x")
    assert [item["metadata"]["name"] for item in found.items] == ["s"]
    assert (await client.list(PODS, namespace, fields="status.phase=Running")).items == []
    active = await client.list(NAMESPACES, fields="status.phase=Active")
    assert "default" in {item["metadata"]["name"] for item in active.items}


async def test_other_fields_are_refused(raw: Raw, widgets: Widgets, namespace: str) -> None:
    answer = await raw("GET", f"{CONFIG_MAPS.path(namespace)}?fieldSelector=data.x%3Dy")
    assert answer.code == 400
    assert answer.json()["message"] == (
        '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"'
    )
    answer = await raw("GET", f"{widgets.resource.path(namespace)}?fieldSelector=spec.size%3D1")
    assert answer.code == 400
    assert answer.json()["message"] == "field label not supported: spec.size"


async def test_a_list_has_a_version_and_items_without_type(raw: Raw, namespace: str) -> None:
    await raw("POST", CONFIG_MAPS.path(namespace), config_map("a"))
    listed = (await raw("GET", CONFIG_MAPS.path(namespace))).json()
    assert listed["kind"] == "ConfigMapList"
    assert listed["apiVersion"] == "v1"
    assert int(listed["metadata"]["resourceVersion"]) > 0
    item = next(item for item in listed["items"] if item["metadata"]["name"] == "a")
    assert "kind" not in item
    assert int(item["metadata"]["resourceVersion"]) <= int(listed["metadata"]["resourceVersion"])


async def test_an_empty_list_is_a_list(raw: Raw, widgets: Widgets) -> None:
    listed = (await raw("GET", widgets.resource.path(widgets.namespace))).json()
    assert listed["kind"] == "WidgetList"
    assert listed["items"] == []
    assert listed["metadata"]["resourceVersion"]


async def test_lists_are_sorted_by_namespace_and_name(client: Client, namespace: str) -> None:
    await fill(client, namespace, c={}, a={}, b={})
    assert await names(client, namespace, "mine=yes") == ["a", "b", "c"]


async def test_chunks_are_one_snapshot(raw: Raw, client: Client, namespace: str) -> None:
    for number in range(5):
        await client.create(CONFIG_MAPS, config_map(f"cm-{number}"), namespace)
    path = f"{CONFIG_MAPS.path(namespace)}?fieldSelector=metadata.name!%3Dkube-root-ca.crt"
    first = (await raw("GET", f"{path}&limit=2")).json()
    assert [item["metadata"]["name"] for item in first["items"]] == ["cm-0", "cm-1"]
    token = first["metadata"]["continue"]
    await client.delete(CONFIG_MAPS, "cm-3", namespace)
    await client.create(CONFIG_MAPS, config_map("cm-2b"), namespace)
    second = (await raw("GET", f"{path}&limit=2&continue={token}")).json()
    assert [item["metadata"]["name"] for item in second["items"]] == ["cm-2", "cm-3"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    last = (await raw("GET", f"{path}&limit=2&continue={second['metadata']['continue']}")).json()
    assert [item["metadata"]["name"] for item in last["items"]] == ["cm-4"]
    assert "continue" not in last["metadata"]


async def test_the_rest_is_counted_only_without_a_selector(
    raw: Raw, client: Client, widgets: Widgets
) -> None:
    for number in range(5):
        await widgets.create(f"w-{number}", size=1)
    path = widgets.resource.path(widgets.namespace)
    assert (await raw("GET", f"{path}?limit=2")).json()["metadata"]["remainingItemCount"] == 3
    selected = (await raw("GET", f"{path}?limit=2&labelSelector=!x")).json()
    assert "remainingItemCount" not in selected["metadata"]


async def test_the_client_joins_all_chunks(client: Client, widgets: Widgets) -> None:
    for number in range(7):
        await widgets.create(f"w-{number}", size=1)
    listed = await client.list(widgets.resource, widgets.namespace, chunk=3)
    assert [item["metadata"]["name"] for item in listed.items] == [f"w-{n}" for n in range(7)]
    assert all(item["kind"] == "Widget" for item in listed.items)


async def test_a_token_that_is_none_is_refused(raw: Raw, namespace: str) -> None:
    answer = await raw("GET", f"{CONFIG_MAPS.path(namespace)}?limit=1&continue=nonsense")
    assert answer.code == 400
    assert answer.json()["reason"] == "BadRequest"
    assert "continue" in answer.json()["message"]


async def test_a_list_not_older_than_a_version_is_served(
    raw: Raw, client: Client, namespace: str
) -> None:
    made = await client.create(CONFIG_MAPS, config_map("a"), namespace)
    version = made["metadata"]["resourceVersion"]
    for query in ("resourceVersion=0", f"resourceVersion={version}"):
        listed = await raw("GET", f"{CONFIG_MAPS.path(namespace)}?{query}")
        assert listed.code == 200
    exact = f"resourceVersion={version}&resourceVersionMatch=Exact"
    await client.create(CONFIG_MAPS, config_map("b"), namespace)
    listed = await raw("GET", f"{CONFIG_MAPS.path(namespace)}?{exact}")
    assert "b" not in {item["metadata"]["name"] for item in listed.json()["items"]}
    assert listed.json()["metadata"]["resourceVersion"] == version


async def test_a_list_of_the_future_times_out(raw: Raw, namespace: str) -> None:
    answer = await raw("GET", f"{CONFIG_MAPS.path(namespace)}?resourceVersion=999999999")
    assert answer.code == 504
    assert answer.json()["reason"] == "Timeout"
    assert answer.json()["details"]["causes"] == [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]
