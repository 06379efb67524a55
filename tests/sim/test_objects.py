"""Creating, reading and changing single objects."""

from __future__ import annotations

import base64

import pytest

from tests.sim.conftest import JSON_PATCH, MERGE, STRATEGIC, Api, config_map

MAPS = "/api/v1/namespaces/default/configmaps"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "nginx:1"}]},
        },
    },
}


async def test_a_created_object_gets_what_only_the_server_sets(api: Api) -> None:
    made = await api.create(MAPS, config_map("a", {"k": "v"}))
    metadata = made["metadata"]
    assert metadata["uid"]
    assert metadata["resourceVersion"].isdigit()
    assert metadata["creationTimestamp"].endswith("Z")
    assert metadata["namespace"] == "default"
    assert (await api.get(f"{MAPS}/a")).body == made


async def test_the_resource_version_grows_with_every_write_of_any_kind(api: Api) -> None:
    first = await api.create(MAPS, config_map("a"))
    second = await api.create(
        LEASES, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}}
    )
    versions = [int(made["metadata"]["resourceVersion"]) for made in (first, second)]
    assert versions[1] > versions[0]


async def test_a_second_creation_is_already_exists(api: Api) -> None:
    await api.create(MAPS, config_map("a"))
    reply = await api.post(MAPS, config_map("a"))
    assert (reply.status, reply.reason) == (409, "AlreadyExists")
    assert reply.message == 'configmaps "a" already exists'


async def test_a_missing_object_is_a_not_found_status(api: Api) -> None:
    reply = await api.get(f"{DEPLOYMENTS}/nope")
    assert (reply.status, reply.reason) == (404, "NotFound")
    assert reply.message == 'deployments.apps "nope" not found'
    assert reply.body["details"] == {"name": "nope", "group": "apps", "kind": "deployments"}


async def test_a_stale_update_is_a_conflict(api: Api) -> None:
    made = await api.create(MAPS, config_map("a", {"k": "1"}))
    fresh = await api.put(f"{MAPS}/a", {**made, "data": {"k": "2"}})
    assert fresh.status == 200
    reply = await api.put(f"{MAPS}/a", {**made, "data": {"k": "3"}})
    assert (reply.status, reply.reason) == (409, "Conflict")
    assert "the object has been modified" in reply.message
    assert (await api.get(f"{MAPS}/a")).body["data"] == {"k": "2"}


async def test_an_update_that_changes_nothing_writes_nothing(api: Api) -> None:
    made = await api.create(MAPS, config_map("a", {"k": "1"}))
    reply = await api.put(f"{MAPS}/a", made)
    assert reply.body["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_generate_name_makes_a_name(api: Api) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "job-"}}
    names = {(await api.create(MAPS, body))["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("job-") and len(name) == 9 for name in names)


async def test_a_dry_run_stores_nothing(api: Api) -> None:
    reply = await api.post(f"{MAPS}?dryRun=All", config_map("a"))
    assert reply.status == 201
    assert reply.body["metadata"]["uid"]
    assert "resourceVersion" not in reply.body["metadata"]
    assert (await api.get(f"{MAPS}/a")).status == 404


async def test_generation_grows_with_the_spec_only(api: Api) -> None:
    made = await api.create(DEPLOYMENTS, DEPLOYMENT)
    assert made["metadata"]["generation"] == 1
    labelled = await api.patch(f"{DEPLOYMENTS}/web", {"metadata": {"labels": {"a": "b"}}})
    assert labelled.body["metadata"]["generation"] == 1
    scaled = await api.patch(f"{DEPLOYMENTS}/web", {"spec": {"replicas": 3}})
    assert scaled.body["metadata"]["generation"] == 2


async def test_status_and_spec_are_written_through_their_own_endpoints(api: Api) -> None:
    await api.create(DEPLOYMENTS, {**DEPLOYMENT, "status": {"replicas": 9}})
    assert not (await api.get(f"{DEPLOYMENTS}/web")).body.get("status")
    change = {"status": {"replicas": 1}, "spec": {"replicas": 7}}
    through_status = (await api.patch(f"{DEPLOYMENTS}/web/status", change)).body
    assert through_status["status"] == {"replicas": 1}
    assert through_status["spec"]["replicas"] == 1
    change = {"status": {"replicas": 2}, "spec": {"replicas": 7}}
    through_main = (await api.patch(f"{DEPLOYMENTS}/web", change)).body
    assert through_main["status"] == {"replicas": 1}
    assert through_main["spec"]["replicas"] == 7


async def test_three_kinds_of_patch_do_what_they_should(api: Api) -> None:
    await api.create(DEPLOYMENTS, DEPLOYMENT)
    path = f"{DEPLOYMENTS}/web"
    one = {"name": "side", "image": "i"}
    spec = {"template": {"spec": {"containers": [one]}}}
    strategic = (await api.patch(path, {"spec": spec}, STRATEGIC)).body
    names = [each["name"] for each in strategic["spec"]["template"]["spec"]["containers"]]
    assert sorted(names) == ["c", "side"]
    merged = (await api.patch(path, {"spec": spec}, MERGE)).body
    assert [each["name"] for each in merged["spec"]["template"]["spec"]["containers"]] == ["side"]
    operations = [{"op": "replace", "path": "/spec/replicas", "value": 4}]
    assert (await api.patch(path, operations, JSON_PATCH)).body["spec"]["replicas"] == 4


async def test_a_patch_with_a_stale_version_is_a_conflict(api: Api) -> None:
    await api.create(MAPS, config_map("a"))
    reply = await api.patch(f"{MAPS}/a", {"metadata": {"resourceVersion": "1"}, "data": {"x": "y"}})
    assert (reply.status, reply.reason) == (409, "Conflict")


async def test_the_scale_subresource_reads_and_writes_replicas(api: Api) -> None:
    await api.create(DEPLOYMENTS, DEPLOYMENT)
    scale = (await api.get(f"{DEPLOYMENTS}/web/scale")).body
    assert (scale["kind"], scale["spec"]["replicas"]) == ("Scale", 1)
    assert scale["status"]["selector"] == "app=web"
    scale["spec"]["replicas"] = 6
    assert (await api.put(f"{DEPLOYMENTS}/web/scale", scale)).status == 200
    assert (await api.get(f"{DEPLOYMENTS}/web")).body["spec"]["replicas"] == 6


async def test_string_data_lands_in_data(api: Api) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "stringData": {"password": "x"},
    }
    made = await api.create("/api/v1/namespaces/default/secrets", body)
    assert made["data"] == {"password": base64.b64encode(b"x").decode()}
    assert "stringData" not in made
    assert made["type"] == "Opaque"


async def test_a_lease_may_be_created_by_put_but_not_updated_blindly(api: Api) -> None:
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "l"},
        "spec": {"holderIdentity": "a"},
    }
    assert (await api.put(f"{LEASES}/l", lease)).status == 201
    reply = await api.put(f"{LEASES}/l", lease)
    assert reply.status == 422
    assert "metadata.resourceVersion" in reply.message


async def test_a_lease_time_needs_microseconds(api: Api) -> None:
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "l"},
        "spec": {"renewTime": "2026-01-01T00:00:00Z"},
    }
    reply = await api.post(LEASES, lease)
    assert reply.status == 400
    assert 'cannot parse "Z" as ".000000"' in reply.message
    lease["spec"] = {"renewTime": "2026-01-01T00:00:00.000000Z"}
    assert (await api.post(LEASES, lease)).status == 201


async def test_an_event_is_served_in_both_of_its_groups(api: Api) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e.1"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Started",
        "message": "it runs",
        "type": "Normal",
    }
    await api.create("/api/v1/namespaces/default/events", event)
    other = (await api.get("/apis/events.k8s.io/v1/namespaces/default/events/e.1")).body
    assert other["apiVersion"] == "events.k8s.io/v1"
    assert other["note"] == "it runs"
    assert other["regarding"]["name"] == "p"
    selector = "fieldSelector=involvedObject.name%3Dp"
    assert await api.names(f"/api/v1/namespaces/default/events?{selector}") == ["e.1"]


@pytest.mark.parametrize(
    "metadata,expected",
    [
        ({"name": "Bad_Name"}, 'metadata.name: Invalid value: "Bad_Name"'),
        ({}, "metadata.name: Required value: name or generateName is required"),
        ({"name": "a", "labels": {"k": "not valid"}}, "metadata.labels: Invalid value"),
        ({"name": "a", "finalizers": ["plain"]}, "neither a standard finalizer name"),
        ({"name": "a", "ownerReferences": [{"name": "x"}]}, "metadata.ownerReferences.uid"),
    ],
)
async def test_bad_metadata_is_invalid(
    api: Api, metadata: dict[str, object], expected: str
) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    reply = await api.post(MAPS, body)
    assert (reply.status, reply.reason) == (422, "Invalid")
    assert expected in reply.message
    assert reply.body["details"]["causes"]


async def test_unknown_fields_are_dropped_with_a_warning_or_refused(api: Api) -> None:
    typo = {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "replicsa": 2}}  # type: ignore[dict-item]
    refused = await api.post(f"{DEPLOYMENTS}?fieldValidation=Strict", typo)
    assert refused.status == 400
    assert 'strict decoding error: unknown field "spec.replicsa"' in refused.message
    warned = await api.post(DEPLOYMENTS, typo)
    assert warned.status == 201
    assert warned.headers.getall("Warning") == ['299 - "unknown field \\"spec.replicsa\\""']
    assert "replicsa" not in warned.body["spec"]
    silent = await api.patch(f"{DEPLOYMENTS}/web?fieldValidation=Ignore", {"spec": {"x": 1}})
    assert "Warning" not in silent.headers


async def test_an_immutable_config_map_stays(api: Api) -> None:
    await api.create(MAPS, {**config_map("a", {"k": "v"}), "immutable": True})
    reply = await api.patch(f"{MAPS}/a", {"data": {"k": "w"}})
    assert reply.status == 422
    assert "field is immutable when `immutable` is set" in reply.message


async def test_the_field_manager_is_the_parameter_or_the_user_agent(api: Api) -> None:
    await api.create(MAPS, config_map("a", {"k": "v"}))
    await api.patch(f"{MAPS}/a?fieldManager=me", {"data": {"x": "y"}})
    managed = (await api.get(f"{MAPS}/a")).body["metadata"]["managedFields"]
    assert {entry["manager"] for entry in managed} == {"tests", "me"}
