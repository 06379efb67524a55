"""Deleting: preconditions, finalizers, garbage collection, namespaces."""

from __future__ import annotations

import asyncio

import pytest

from fairlead.errors import NotFound
from fairlead.kube import (
    CONFIG_MAPS,
    NAMESPACES,
    Absent,
    Client,
    Denied,
    Invalid,
    MergePatch,
    Object,
    Reading,
    StaleResource,
    read,
)
from tests.contract.targets import DEADLINE_SECONDS, Raw, Widgets, config_map, eventually, unique

OTHER_UID = "11111111-1111-1111-1111-111111111111"


async def until_absent(
    client: Client, name: str, namespace: str, *, seconds: float = DEADLINE_SECONDS
) -> None:
    async def look() -> Reading:
        return await read(client, CONFIG_MAPS, name, namespace)

    await eventually(look, lambda reading: reading == Absent(), seconds=seconds)


async def test_what_is_deleted_is_gone(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAPS, config_map("a"), namespace)
    told = await client.delete(CONFIG_MAPS, "a", namespace)
    assert told["kind"] == "Status"
    assert told["status"] == "Success"
    assert told["details"] == {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]}
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAPS, "a", namespace)
    with pytest.raises(NotFound):
        await client.delete(CONFIG_MAPS, "a", namespace)


async def test_a_name_can_be_used_again_by_another_object(client: Client, namespace: str) -> None:
    first = await client.create(CONFIG_MAPS, config_map("a"), namespace)
    await client.delete(CONFIG_MAPS, "a", namespace)
    second = await client.create(CONFIG_MAPS, config_map("a"), namespace)
    assert first["metadata"]["uid"] != second["metadata"]["uid"]
    with pytest.raises(StaleResource):
        await client.delete(CONFIG_MAPS, "a", namespace, uid=first["metadata"]["uid"])
    assert await client.get(CONFIG_MAPS, "a", namespace) == second


async def test_preconditions_protect(raw: Raw, client: Client, namespace: str) -> None:
    made = (await client.create(CONFIG_MAPS, config_map("a"), namespace))["metadata"]
    uid, version = made["uid"], made["resourceVersion"]
    with pytest.raises(StaleResource, match="the UID in the precondition"):
        await client.delete(CONFIG_MAPS, "a", namespace, uid=OTHER_UID)
    with pytest.raises(StaleResource, match="the ResourceVersion in the precondition"):
        await client.delete(CONFIG_MAPS, "a", namespace, resource_version="1")
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": OTHER_UID}}
    answer = await raw("DELETE", CONFIG_MAPS.path(namespace, "a"), options)
    assert answer.code == 409
    assert answer.json()["reason"] == "Conflict"
    assert answer.json()["details"] == {"name": "a", "kind": "ConfigMap"}
    assert answer.json()["message"] == (
        'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition '
        f"({OTHER_UID}) does not match the UID in record ({uid}). The object might have been "
        "deleted and then recreated"
    )
    await client.delete(CONFIG_MAPS, "a", namespace, uid=uid, resource_version=version)


async def test_a_finalizer_holds_the_object_until_it_is_removed(
    raw: Raw, client: Client, namespace: str
) -> None:
    wish = config_map("a", x="1")
    wish["metadata"]["finalizers"] = ["example.com/hold"]
    made = await client.create(CONFIG_MAPS, wish, namespace)
    held = await client.delete(CONFIG_MAPS, "a", namespace)
    assert held["kind"] == "ConfigMap"
    assert held["metadata"]["uid"] == made["metadata"]["uid"]
    assert held["metadata"]["deletionTimestamp"]
    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    again = await raw("DELETE", CONFIG_MAPS.path(namespace, "a"))
    assert again.code == 200
    assert again.json()["metadata"]["deletionTimestamp"] == held["metadata"]["deletionTimestamp"]
    changed = await client.patch(CONFIG_MAPS, "a", MergePatch({"data": {"x": "2"}}), namespace)
    assert changed["data"] == {"x": "2"}
    released = MergePatch({"metadata": {"finalizers": None}})
    last = await client.patch(CONFIG_MAPS, "a", released, namespace)
    assert "finalizers" not in last["metadata"]
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAPS, "a", namespace)


async def test_no_finalizer_can_be_added_while_deleting(client: Client, namespace: str) -> None:
    wish = config_map("a")
    wish["metadata"]["finalizers"] = ["example.com/hold"]
    await client.create(CONFIG_MAPS, wish, namespace)
    await client.delete(CONFIG_MAPS, "a", namespace)
    more = MergePatch({"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}})
    with pytest.raises(Invalid, match="no new finalizers can be added"):
        await client.patch(CONFIG_MAPS, "a", more, namespace)
    await client.patch(CONFIG_MAPS, "a", MergePatch({"metadata": {"finalizers": []}}), namespace)


async def test_a_finalizer_needs_a_qualified_name(client: Client, namespace: str) -> None:
    wish = config_map("a")
    wish["metadata"]["finalizers"] = ["nonsense name"]
    with pytest.raises(Invalid):
        await client.create(CONFIG_MAPS, wish, namespace)


async def test_deletion_cannot_be_wished_at_creation(client: Client, namespace: str) -> None:
    wish = config_map("a")
    wish["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    made = await client.create(CONFIG_MAPS, wish, namespace)
    assert "deletionTimestamp" not in made["metadata"]


def owned(name: str, *owners: Object, block: bool = False) -> Object:
    obj = config_map(name)
    obj["metadata"]["ownerReferences"] = [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            **({"blockOwnerDeletion": True} if block else {}),
        }
        for owner in owners
    ]
    return obj


async def test_dependents_are_collected_in_the_background(client: Client, namespace: str) -> None:
    owner = await client.create(CONFIG_MAPS, config_map("owner"), namespace)
    child = await client.create(CONFIG_MAPS, owned("child", owner), namespace)
    await client.create(CONFIG_MAPS, owned("grandchild", child), namespace)
    await client.delete(CONFIG_MAPS, "owner", namespace, propagation="Background")
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAPS, "owner", namespace)
    await until_absent(client, "child", namespace)
    await until_absent(client, "grandchild", namespace)


async def test_in_the_foreground_the_owner_goes_last(client: Client, namespace: str) -> None:
    owner = await client.create(CONFIG_MAPS, config_map("owner"), namespace)
    child = owned("child", owner, block=True)
    child["metadata"]["finalizers"] = ["example.com/hold"]
    await client.create(CONFIG_MAPS, child, namespace)
    told = await client.delete(CONFIG_MAPS, "owner", namespace, propagation="Foreground")
    assert told["metadata"]["finalizers"] == ["foregroundDeletion"]

    async def child_now() -> Object:
        return await client.get(CONFIG_MAPS, "child", namespace)

    await eventually(child_now, lambda obj: "deletionTimestamp" in obj["metadata"])
    await client.get(CONFIG_MAPS, "owner", namespace)
    released = MergePatch({"metadata": {"finalizers": None}})
    await client.patch(CONFIG_MAPS, "child", released, namespace)
    await until_absent(client, "owner", namespace)
    await until_absent(client, "child", namespace)


async def test_orphans_lose_their_owner_and_stay(client: Client, namespace: str) -> None:
    owner = await client.create(CONFIG_MAPS, config_map("owner"), namespace)
    await client.create(CONFIG_MAPS, owned("child", owner), namespace)
    await client.delete(CONFIG_MAPS, "owner", namespace, propagation="Orphan")
    await until_absent(client, "owner", namespace)
    child = await client.get(CONFIG_MAPS, "child", namespace)
    assert "ownerReferences" not in child["metadata"]


async def test_a_child_of_two_stays_while_one_lives(client: Client, namespace: str) -> None:
    first, second = [
        await client.create(CONFIG_MAPS, config_map(name), namespace) for name in ("one", "two")
    ]
    await client.create(CONFIG_MAPS, owned("child", first, second), namespace)
    await client.delete(CONFIG_MAPS, "one", namespace)

    async def owners() -> list[str]:
        child = await client.get(CONFIG_MAPS, "child", namespace)
        return [owner["name"] for owner in child["metadata"]["ownerReferences"]]

    await eventually(owners, lambda names: names == ["two"])
    await client.delete(CONFIG_MAPS, "two", namespace)
    await until_absent(client, "child", namespace)


async def test_a_child_of_what_does_not_exist_is_collected(client: Client, namespace: str) -> None:
    ghost = config_map("ghost")
    ghost["metadata"]["uid"] = OTHER_UID
    await client.create(CONFIG_MAPS, owned("child", ghost), namespace)
    await until_absent(client, "child", namespace)


@pytest.mark.timeout(200)
async def test_custom_resources_own_too(widgets: Widgets) -> None:
    """The garbage collector of kube-controller-manager looks for new kinds every half minute."""
    client, namespace = widgets.client, widgets.namespace
    owner = await widgets.create("owner", size=1)
    await client.create(CONFIG_MAPS, owned("child", owner), namespace)
    await client.delete(widgets.resource, "owner", namespace)
    await until_absent(client, "child", namespace, seconds=180)


async def test_an_incomplete_owner_is_refused(client: Client, namespace: str) -> None:
    wish = config_map("a")
    wish["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "b"}]
    with pytest.raises(Invalid, match="uid"):
        await client.create(CONFIG_MAPS, wish, namespace)


async def test_a_collection_is_deleted_by_its_selector(
    raw: Raw, client: Client, namespace: str
) -> None:
    for name, label in (("a", "x"), ("b", "x"), ("c", "y")):
        wish = config_map(name)
        wish["metadata"]["labels"] = {"l": label}
        await client.create(CONFIG_MAPS, wish, namespace)
    answer = await raw("DELETE", f"{CONFIG_MAPS.path(namespace)}?labelSelector=l%3Dx")
    assert answer.code == 200
    left = await client.list(CONFIG_MAPS, namespace, labels="l")
    assert [item["metadata"]["name"] for item in left.items] == ["c"]


async def test_a_deleted_namespace_takes_everything_with_it(client: Client) -> None:
    name = unique("doomed")
    made = await client.create(NAMESPACES, {"metadata": {"name": name}})
    assert made["status"] == {"phase": "Active"}
    await client.create(CONFIG_MAPS, config_map("a"), name)
    told = await client.delete(NAMESPACES, name)
    assert told["status"]["phase"] == "Terminating"
    assert told["metadata"]["deletionTimestamp"]

    async def look() -> Reading:
        return await read(client, NAMESPACES, name)

    await eventually(look, lambda reading: reading == Absent())
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAPS, "a", name)


async def test_nothing_new_enters_a_terminating_namespace(client: Client) -> None:
    name = unique("doomed")
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    held = config_map("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await client.create(CONFIG_MAPS, held, name)
    await client.delete(NAMESPACES, name)
    for write in (
        client.create(CONFIG_MAPS, config_map("a"), name),
        client.apply(CONFIG_MAPS, config_map("a"), name),
    ):
        with pytest.raises(Denied, match="because it is being terminated") as raised:
            await write
        assert raised.value.namespace_terminating

    async def held_now() -> Object:
        return await client.get(CONFIG_MAPS, "held", name)

    await eventually(held_now, lambda obj: "deletionTimestamp" in obj["metadata"])
    await client.patch(CONFIG_MAPS, "held", MergePatch({"metadata": {"finalizers": None}}), name)

    async def look() -> Reading:
        return await read(client, NAMESPACES, name)

    await eventually(look, lambda reading: reading == Absent())


async def test_a_new_namespace_gets_its_service_account(client: Client, namespace: str) -> None:
    async def accounts() -> Reading:
        return await read(client, CONFIG_MAPS, "kube-root-ca.crt", namespace)

    await eventually(accounts, lambda reading: reading != Absent())


async def test_concurrent_deletes_let_exactly_one_succeed(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map("a"), namespace)

    async def delete() -> bool:
        try:
            await client.delete(CONFIG_MAPS, "a", namespace)
        except NotFound:
            return False
        return True

    outcomes = await asyncio.gather(*(delete() for _ in range(5)))
    assert sum(outcomes) == 1
