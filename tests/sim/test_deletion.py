"""Deletion: preconditions, finalizers, owners, namespaces."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead_sim import SimCluster
from tests.sim.conftest import Api, config_map

MAPS = "/api/v1/namespaces/default/configmaps"
NAMESPACES = "/api/v1/namespaces"


async def _owned(api: Api, owner: dict[str, Any], name: str, **more: Any) -> None:
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        **more,
    }
    await api.create(MAPS, config_map(name, ownerReferences=[reference]))


async def test_a_deletion_answers_success_and_the_uid(api: Api) -> None:
    made = await api.create(MAPS, config_map("a"))
    reply = await api.delete(f"{MAPS}/a")
    assert reply.body["status"] == "Success"
    assert reply.body["details"]["uid"] == made["metadata"]["uid"]
    assert (await api.get(f"{MAPS}/a")).status == 404
    assert (await api.delete(f"{MAPS}/a")).status == 404


@pytest.mark.parametrize(
    "wrong", [{"uid": "00000000-0000-0000-0000-000000000000"}, {"resourceVersion": "1"}]
)
async def test_a_precondition_that_fails_is_a_conflict(api: Api, wrong: dict[str, str]) -> None:
    made = await api.create(MAPS, config_map("a"))
    reply = await api.delete(f"{MAPS}/a", {"preconditions": wrong})
    assert (reply.status, reply.reason) == (409, "Conflict")
    right = {name: made["metadata"][name] for name in ("uid", "resourceVersion")}
    assert (await api.delete(f"{MAPS}/a", {"preconditions": right})).status == 200


async def test_an_object_goes_when_its_last_finalizer_goes(api: Api) -> None:
    await api.create(MAPS, config_map("a", finalizers=["example.com/hold"]))
    marked = (await api.delete(f"{MAPS}/a")).body
    assert marked["metadata"]["deletionTimestamp"]
    start = marked["metadata"]["resourceVersion"]
    again = (await api.delete(f"{MAPS}/a")).body
    assert again["metadata"]["resourceVersion"] == start
    refused = await api.patch(
        f"{MAPS}/a", {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}
    )
    assert refused.status == 422
    async with api.watch(f"{MAPS}?resourceVersion={start}") as stream:
        await api.patch(f"{MAPS}/a", {"metadata": {"finalizers": None}})
        assert await stream.take(1) == [("DELETED", "a")]
    assert (await api.get(f"{MAPS}/a")).status == 404


async def test_dependents_follow_their_owner(cluster: SimCluster, api: Api) -> None:
    owner = await api.create(MAPS, config_map("owner"))
    await _owned(api, owner, "child")
    child = (await api.get(f"{MAPS}/child")).body
    await _owned(api, child, "grandchild")
    await api.delete(f"{MAPS}/owner")
    await cluster.settle()
    assert await api.names(MAPS) == ["kube-root-ca.crt"]


async def test_a_dependent_with_another_owner_stays(cluster: SimCluster, api: Api) -> None:
    first = await api.create(MAPS, config_map("first"))
    second = await api.create(MAPS, config_map("second"))
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": n, "uid": o["metadata"]["uid"]}
        for n, o in (("first", first), ("second", second))
    ]
    await api.create(MAPS, config_map("child", ownerReferences=references))
    await api.delete(f"{MAPS}/first")
    await cluster.settle()
    kept = (await api.get(f"{MAPS}/child")).body["metadata"]["ownerReferences"]
    assert [each["name"] for each in kept] == ["second"]


async def test_foreground_deletion_waits_for_blocking_dependents(
    cluster: SimCluster, api: Api
) -> None:
    owner = await api.create(MAPS, config_map("owner"))
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": True,
    }
    child = config_map("child", ownerReferences=[reference], finalizers=["example.com/hold"])
    await api.create(MAPS, child)
    await api.delete(f"{MAPS}/owner?propagationPolicy=Foreground")
    await cluster.settle()
    waiting = (await api.get(f"{MAPS}/owner")).body
    assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert (await api.get(f"{MAPS}/child")).body["metadata"]["deletionTimestamp"]
    await api.patch(f"{MAPS}/child", {"metadata": {"finalizers": None}})
    await cluster.settle()
    assert (await api.get(f"{MAPS}/owner")).status == 404


async def test_orphaned_dependents_stay_without_owner(cluster: SimCluster, api: Api) -> None:
    owner = await api.create(MAPS, config_map("owner"))
    await _owned(api, owner, "child")
    await api.delete(f"{MAPS}/owner", {"propagationPolicy": "Orphan"})
    await cluster.settle()
    assert (await api.get(f"{MAPS}/owner")).status == 404
    assert "ownerReferences" not in (await api.get(f"{MAPS}/child")).body["metadata"]


async def test_an_owner_that_never_was_takes_its_dependent_along(
    cluster: SimCluster, api: Api
) -> None:
    ghost = {"metadata": {"name": "ghost", "uid": "11111111-2222-3333-4444-555555555555"}}
    await _owned(api, ghost, "child")
    await cluster.settle()
    assert (await api.get(f"{MAPS}/child")).status == 404


async def test_a_collection_is_deleted_by_selector(api: Api) -> None:
    for name, label in (("a", "x"), ("b", "x"), ("c", "y")):
        await api.create(MAPS, config_map(name, labels={"l": label}))
    await api.delete(f"{MAPS}?labelSelector=l%3Dx")
    assert await api.names(f"{MAPS}?labelSelector=l") == ["c"]


async def test_a_namespace_empties_itself_before_it_goes(cluster: SimCluster, api: Api) -> None:
    made = await api.create(NAMESPACES, {"metadata": {"name": "work"}})
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    assert made["status"] == {"phase": "Active"}
    maps = f"{NAMESPACES}/work/configmaps"
    await api.create(maps, config_map("held", finalizers=["example.com/hold"]))
    await api.create(maps, config_map("free"))
    marked = (await api.delete(f"{NAMESPACES}/work")).body
    assert marked["status"]["phase"] == "Terminating"
    await cluster.settle()
    assert await api.names(maps) == ["held"]
    late = await api.post(maps, config_map("late"))
    assert (late.status, late.reason) == (403, "Forbidden")
    assert "because it is being terminated" in late.message
    conditions = (await api.get(f"{NAMESPACES}/work")).body["status"]["conditions"]
    assert any(each["type"] == "NamespaceFinalizersRemaining" for each in conditions)
    await api.patch(f"{maps}/held", {"metadata": {"finalizers": None}})
    await cluster.settle()
    assert (await api.get(f"{NAMESPACES}/work")).status == 404


async def test_nothing_is_created_in_a_namespace_that_is_not_there(api: Api) -> None:
    reply = await api.post(f"{NAMESPACES}/nope/configmaps", config_map("a"))
    assert (reply.status, reply.message) == (404, 'namespaces "nope" not found')


async def test_the_first_namespaces_cannot_be_deleted(api: Api) -> None:
    reply = await api.delete(f"{NAMESPACES}/kube-system")
    assert reply.status == 403
    assert "this namespace may not be deleted" in reply.message


async def test_every_namespace_is_furnished(cluster: SimCluster, api: Api) -> None:
    await api.create(NAMESPACES, {"metadata": {"name": "work"}})
    await cluster.settle()
    assert await api.names(f"{NAMESPACES}/work/serviceaccounts") == ["default"]
    trust = (await api.get(f"{NAMESPACES}/work/configmaps/kube-root-ca.crt")).body
    assert trust["data"]["ca.crt"] == cluster.ca_pem.decode()
