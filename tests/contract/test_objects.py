"""Creating, reading, replacing: names, versions, conflicts, status, validation, dry runs."""

from __future__ import annotations

import asyncio
import re

import pytest

from fairlead.errors import NotFound
from fairlead.kube import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    LEASES,
    NAMESPACES,
    SECRETS,
    AlreadyExists,
    Client,
    Invalid,
    StaleResource,
)
from tests.contract.targets import Raw, Widgets, config_map, unique


async def test_create_fills_in_what_the_server_owns(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAPS, config_map("a", x="y"), namespace)
    metadata = made["metadata"]
    assert made["kind"] == "ConfigMap"
    assert made["apiVersion"] == "v1"
    assert made["data"] == {"x": "y"}
    assert metadata["namespace"] == namespace
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", metadata["uid"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", metadata["creationTimestamp"])
    assert int(metadata["resourceVersion"]) > 0
    [entry] = metadata["managedFields"]
    assert entry["manager"] == "fairlead"
    assert entry["operation"] == "Update"
    assert await client.get(CONFIG_MAPS, "a", namespace) == made


async def test_what_the_server_owns_cannot_be_chosen_at_creation(
    client: Client, namespace: str
) -> None:
    wish = config_map("a")
    wish["metadata"] |= {
        "uid": "11111111-1111-1111-1111-111111111111",
        "creationTimestamp": "2001-01-01T00:00:00Z",
    }
    made = (await client.create(CONFIG_MAPS, wish, namespace))["metadata"]
    assert made["uid"] != wish["metadata"]["uid"]
    assert not made["creationTimestamp"].startswith("2001")


async def test_create_with_a_resource_version_is_refused(raw: Raw, namespace: str) -> None:
    wish = config_map("a")
    wish["metadata"]["resourceVersion"] = "5"
    answer = await raw("POST", CONFIG_MAPS.path(namespace), wish)
    assert answer.code == 500
    assert answer.json()["message"] == "resourceVersion should not be set on objects to be created"


async def test_a_second_create_already_exists(raw: Raw, client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map("a"), namespace)
    with pytest.raises(AlreadyExists, match='configmaps "a" already exists'):
        await client.create(CONFIG_MAPS, config_map("a"), namespace)
    answer = await raw("POST", CONFIG_MAPS.path(namespace), config_map("a"))
    assert answer.code == 409
    assert answer.json() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'configmaps "a" already exists',
        "reason": "AlreadyExists",
        "details": {"name": "a", "kind": "configmaps"},
        "code": 409,
    }


async def test_create_answers_201_and_the_rest_200(raw: Raw, namespace: str) -> None:
    made = await raw("POST", CONFIG_MAPS.path(namespace), config_map("a"))
    assert made.code == 201
    assert made.headers["Content-Type"].startswith("application/json")
    again = await raw("PUT", CONFIG_MAPS.path(namespace, "a"), made.json())
    assert again.code == 200
    assert (await raw("DELETE", CONFIG_MAPS.path(namespace, "a"))).code == 200


async def test_generate_name_makes_names_that_differ(client: Client, namespace: str) -> None:
    wish = {"metadata": {"generateName": "job-"}}
    first = await client.create(CONFIG_MAPS, wish, namespace)
    second = await client.create(CONFIG_MAPS, wish, namespace)
    names = {made["metadata"]["name"] for made in (first, second)}
    assert len(names) == 2
    assert all(re.fullmatch(r"job-[a-z0-9]{5}", name) for name in names)
    assert first["metadata"]["generateName"] == "job-"


@pytest.mark.parametrize("name", ["Upper", "under_score", "-dash", "a" * 254, "dot..dot"])
async def test_a_name_must_be_a_dns_name(client: Client, namespace: str, name: str) -> None:
    with pytest.raises(Invalid, match=r"metadata\.name: Invalid value") as raised:
        await client.create(CONFIG_MAPS, config_map(name), namespace)
    assert raised.value.reason == "Invalid"
    assert raised.value.causes[0].field == "metadata.name"


async def test_a_name_is_required(client: Client, namespace: str) -> None:
    with pytest.raises(Invalid, match="name or generateName is required"):
        await client.create(CONFIG_MAPS, {"metadata": {}}, namespace)


async def test_the_namespace_of_the_object_must_be_that_of_the_path(
    client: Client, namespace: str
) -> None:
    wish = config_map("a")
    wish["metadata"]["namespace"] = "default"
    with pytest.raises(Invalid, match="does not match the namespace sent on the request"):
        await client.create(CONFIG_MAPS, wish, namespace)


async def test_a_missing_object_is_told_with_its_name_and_kind(raw: Raw, namespace: str) -> None:
    answer = await raw("GET", CONFIG_MAPS.path(namespace, "nope"))
    assert answer.code == 404
    assert answer.json() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'configmaps "nope" not found',
        "reason": "NotFound",
        "details": {"name": "nope", "kind": "configmaps"},
        "code": 404,
    }
    grouped = (await raw("GET", DEPLOYMENTS.path(namespace, "nope"))).json()
    assert grouped["message"] == 'deployments.apps "nope" not found'
    assert grouped["details"] == {"name": "nope", "group": "apps", "kind": "deployments"}


async def test_an_object_in_a_missing_namespace_is_itself_missing(client: Client) -> None:
    with pytest.raises(NotFound, match='configmaps "a" not found'):
        await client.get(CONFIG_MAPS, "a", unique("nowhere"))
    assert (await client.list(CONFIG_MAPS, unique("nowhere"))).items == []


async def test_writing_into_a_missing_namespace_names_the_namespace(client: Client) -> None:
    nowhere = unique("nowhere")
    for write in (
        client.create(CONFIG_MAPS, config_map("a"), nowhere),
        client.apply(CONFIG_MAPS, config_map("a"), nowhere),
    ):
        with pytest.raises(NotFound, match=f'namespaces "{nowhere}" not found'):
            await write


async def test_replace_changes_the_version_and_keeps_the_identity(
    client: Client, namespace: str
) -> None:
    made = await client.create(CONFIG_MAPS, config_map("a", x="1"), namespace)
    changed = await client.replace(CONFIG_MAPS, made | {"data": {"y": "2"}}, namespace)
    assert changed["data"] == {"y": "2"}
    for owned in ("uid", "creationTimestamp"):
        assert changed["metadata"][owned] == made["metadata"][owned]
    assert int(changed["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


async def test_replacing_with_the_same_changes_nothing(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAPS, config_map("a", x="1"), namespace)
    assert await client.replace(CONFIG_MAPS, made, namespace) == made


async def test_replace_with_a_stale_version_conflicts(
    raw: Raw, client: Client, namespace: str
) -> None:
    made = await client.create(CONFIG_MAPS, config_map("a", x="1"), namespace)
    await client.replace(CONFIG_MAPS, made | {"data": {"x": "2"}}, namespace)
    with pytest.raises(StaleResource, match="the object has been modified"):
        await client.replace(CONFIG_MAPS, made | {"data": {"x": "3"}}, namespace)
    answer = await raw("PUT", CONFIG_MAPS.path(namespace, "a"), made | {"data": {"x": "3"}})
    assert answer.code == 409
    status = answer.json()
    assert status["reason"] == "Conflict"
    assert status["details"] == {"name": "a", "kind": "configmaps"}
    assert status["message"] == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert (await client.get(CONFIG_MAPS, "a", namespace))["data"] == {"x": "2"}


async def test_replace_without_a_version_overwrites(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map("a", x="1"), namespace)
    assert (await client.replace(CONFIG_MAPS, config_map("a", x="2"), namespace))["data"] == {
        "x": "2"
    }


async def test_replace_with_another_uid_conflicts(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAPS, config_map("a"), namespace)
    other = made["metadata"] | {"uid": "11111111-1111-1111-1111-111111111111"}
    with pytest.raises(StaleResource, match="Precondition failed: UID in precondition"):
        await client.replace(CONFIG_MAPS, made | {"metadata": other}, namespace)


async def test_replacing_what_does_not_exist_is_not_found(client: Client, namespace: str) -> None:
    with pytest.raises(NotFound):
        await client.replace(CONFIG_MAPS, config_map("a"), namespace)


async def test_the_name_of_the_object_must_be_that_of_the_path(raw: Raw, namespace: str) -> None:
    await raw("POST", CONFIG_MAPS.path(namespace), config_map("a"))
    answer = await raw("PUT", CONFIG_MAPS.path(namespace, "a"), config_map("b"))
    assert answer.code == 400
    assert answer.json()["message"] == (
        "the name of the object (b) does not match the name on the URL (a)"
    )


async def test_the_kind_must_be_that_of_the_path(raw: Raw, namespace: str) -> None:
    wrong = config_map("a") | {"kind": "Secret"}
    answer = await raw("POST", CONFIG_MAPS.path(namespace), wrong)
    assert answer.code == 400
    assert answer.json()["reason"] == "BadRequest"
    assert "Secret" in answer.json()["message"]


async def test_a_body_that_is_no_json_is_a_bad_request(raw: Raw, namespace: str) -> None:
    answer = await raw("POST", CONFIG_MAPS.path(namespace), b"{nonsense")
    assert answer.code == 400
    assert answer.json()["kind"] == "Status"
    assert answer.json()["reason"] == "BadRequest"


async def test_yaml_is_understood(raw: Raw, namespace: str) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: 'y'\n"
    answer = await raw("POST", CONFIG_MAPS.path(namespace), text, content_type="application/yaml")
    assert answer.code == 201
    assert answer.json()["data"] == {"x": "y"}


async def test_a_foreign_content_type_is_refused(raw: Raw, namespace: str) -> None:
    answer = await raw(
        "POST", CONFIG_MAPS.path(namespace), config_map("a"), content_type="text/plain"
    )
    assert answer.code == 415
    assert answer.json()["reason"] == "UnsupportedMediaType"


async def test_a_dry_run_answers_as_if_and_keeps_nothing(raw: Raw, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace)
    answer = await raw("POST", f"{path}?dryRun=All", config_map("a", x="y"))
    assert answer.code == 201
    assert answer.json()["data"] == {"x": "y"}
    assert (await raw("GET", f"{path}/a")).code == 404
    await raw("POST", path, config_map("a", x="y"))
    changed = await raw("PUT", f"{path}/a?dryRun=All", config_map("a", x="z"))
    assert changed.json()["data"] == {"x": "z"}
    assert (await raw("DELETE", f"{path}/a?dryRun=All")).code == 200
    assert (await raw("GET", f"{path}/a")).json()["data"] == {"x": "y"}
    nonsense = await raw("POST", f"{path}?dryRun=Some", config_map("b"))
    assert nonsense.code in {400, 422}


async def test_strict_field_validation_refuses_unknown_fields(raw: Raw, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace)
    wrong = config_map("a") | {"dta": {}}
    strict = await raw("POST", f"{path}?fieldValidation=Strict", wrong)
    assert strict.code == 400
    assert 'strict decoding error: unknown field "dta"' in strict.json()["message"]
    warned = await raw("POST", f"{path}?fieldValidation=Warn", wrong)
    assert warned.code == 201
    assert warned.headers["Warning"] == r'299 - "unknown field \"dta\""'
    assert "dta" not in warned.json()
    ignored = await raw("POST", f"{path}?fieldValidation=Ignore", wrong | config_map("b"))
    assert ignored.code == 201
    assert "Warning" not in ignored.headers


async def test_secrets_accept_text_and_give_it_back_encoded(client: Client, namespace: str) -> None:
    secret = {"metadata": {"name": "s"}, "stringData": {"user": "me"}}
    made = await client.create(SECRETS, secret, namespace)
    assert made["data"] == {"user": "bWU="}
    assert "stringData" not in made
    assert made["type"] == "Opaque"


async def test_generation_counts_changes_of_the_spec_only(widgets: Widgets) -> None:
    client, namespace = widgets.client, widgets.namespace
    made = await widgets.create("a", size=1)
    assert made["metadata"]["generation"] == 1
    made["metadata"]["labels"] = {"x": "y"}
    labelled = await client.replace(widgets.resource, made, namespace)
    assert labelled["metadata"]["generation"] == 1
    labelled["spec"]["size"] = 2
    resized = await client.replace(widgets.resource, labelled, namespace)
    assert resized["metadata"]["generation"] == 2
    resized["status"] = {"phase": "Ready"}
    reported = await client.replace(widgets.resource, resized, namespace, subresource="status")
    assert reported["metadata"]["generation"] == 2
    assert reported["status"] == {"phase": "Ready"}


async def test_status_and_the_rest_are_written_through_different_doors(widgets: Widgets) -> None:
    client, namespace, resource = widgets.client, widgets.namespace, widgets.resource
    made = await client.create(
        resource, widgets.new("a", size=1) | {"status": {"phase": "Wished"}}, namespace
    )
    assert "status" not in made
    by_spec = await client.replace(resource, made | {"status": {"phase": "Wished"}}, namespace)
    assert "status" not in by_spec
    both = by_spec | {"spec": {"size": 9}, "status": {"phase": "Ready"}}
    both["metadata"]["labels"] = {"sneaked": "in"}
    by_status = await client.replace(resource, both, namespace, subresource="status")
    assert by_status["spec"]["size"] == 1
    assert by_status["status"] == {"phase": "Ready"}
    assert "labels" not in by_status["metadata"]
    assert (await client.get(resource, "a", namespace, subresource="status")) == by_status


async def test_a_resource_without_the_subresource_does_not_serve_it(
    raw: Raw, client: Client, namespace: str
) -> None:
    await client.create(CONFIG_MAPS, config_map("a"), namespace)
    answer = await raw("GET", CONFIG_MAPS.path(namespace, "a", "status"))
    assert answer.code == 404
    assert answer.json()["reason"] == "NotFound"
    assert answer.json()["message"] == "the server could not find the requested resource"
    assert "name" not in answer.json()["details"]


async def test_racing_writers_of_a_lease_let_exactly_one_win(
    client: Client, namespace: str
) -> None:
    lease = {"metadata": {"name": "leader"}, "spec": {"holderIdentity": "none"}}
    made = await client.create(LEASES, lease, namespace)

    async def take(holder: str) -> str | None:
        try:
            await client.replace(LEASES, made | {"spec": {"holderIdentity": holder}}, namespace)
        except StaleResource:
            return None
        return holder

    outcomes = await asyncio.gather(*(take(f"holder-{number}") for number in range(8)))
    winners = [outcome for outcome in outcomes if outcome]
    assert len(winners) == 1
    held = await client.get(LEASES, "leader", namespace)
    assert held["spec"]["holderIdentity"] == winners[0]


async def test_lease_times_keep_their_microseconds(client: Client, namespace: str) -> None:
    spec = {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "renewTime": "2026-01-02T03:04:05.678901Z",
        "leaseTransitions": 0,
    }
    await client.create(LEASES, {"metadata": {"name": "l"}, "spec": spec}, namespace)
    assert (await client.get(LEASES, "l", namespace))["spec"] == spec


async def test_a_lease_with_a_wrong_type_is_refused(client: Client, namespace: str) -> None:
    lease = {"metadata": {"name": "l"}, "spec": {"leaseDurationSeconds": "long"}}
    with pytest.raises(Invalid):
        await client.create(LEASES, lease, namespace)


async def test_the_namespaces_every_cluster_has_are_there(client: Client) -> None:
    names = {item["metadata"]["name"] for item in (await client.list(NAMESPACES)).items}
    assert {"default", "kube-system", "kube-public", "kube-node-lease"} <= names
    system = await client.get(NAMESPACES, "kube-system")
    assert system["status"] == {"phase": "Active"}
    assert system["metadata"]["labels"] == {"kubernetes.io/metadata.name": "kube-system"}
    assert system["spec"] == {"finalizers": ["kubernetes"]}
