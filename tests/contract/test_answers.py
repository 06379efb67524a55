"""Everything around the objects: who may ask, discovery, tables, probes, what is not served."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fairlead.errors import Reason, Unreachable
from fairlead.kube import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    NAMESPACES,
    Client,
    Found,
    NotServed,
    Reading,
    Resource,
    cluster_identity,
    read,
)
from fairlead.kube.discovery_documents import ACCEPT_AGGREGATED
from tests.contract.targets import Raw, Target, config_map, eventually

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
PARTIALS = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"


async def test_an_unknown_token_is_unauthorized(cluster: Target) -> None:
    async with cluster.client("nobody-issued-this") as client:
        with pytest.raises(Unreachable, match="401 Unauthorized") as raised:
            await client.get(CONFIG_MAPS, "a", "default")
    assert raised.value.reason is Reason.UNAUTHORIZED
    assert "nobody-issued-this" not in str(raised.value)


FORBIDDEN: dict[str, tuple[Callable[[Client, str], Awaitable[object]], str]] = {
    "get": (
        lambda nobody, namespace: nobody.get(CONFIG_MAPS, "a", namespace),
        (
            'configmaps "a" is forbidden: User "nobody" cannot get resource "configmaps"'
            ' in API group "" in the namespace "{namespace}"'
        ),
    ),
    "list": (
        lambda nobody, namespace: nobody.list(DEPLOYMENTS),
        (
            'deployments.apps is forbidden: User "nobody" cannot list resource "deployments"'
            ' in API group "apps" at the cluster scope'
        ),
    ),
    "create": (
        lambda nobody, namespace: nobody.create(CONFIG_MAPS, config_map("a"), namespace),
        (
            'configmaps is forbidden: User "nobody" cannot create resource "configmaps"'
            ' in API group "" in the namespace "{namespace}"'
        ),
    ),
    "patch": (
        lambda nobody, namespace: nobody.apply(CONFIG_MAPS, config_map("a"), namespace),
        (
            'configmaps "a" is forbidden: User "nobody" cannot patch resource "configmaps"'
            ' in API group "" in the namespace "{namespace}"'
        ),
    ),
    "update of a subresource": (
        lambda nobody, namespace: nobody.replace(
            DEPLOYMENTS, {"metadata": {"name": "a"}}, namespace, subresource="status"
        ),
        (
            'deployments.apps "a" is forbidden: User "nobody" cannot update resource'
            ' "deployments/status" in API group "apps" in the namespace "{namespace}"'
        ),
    ),
    "get of a namespace": (
        lambda nobody, namespace: nobody.get(NAMESPACES, namespace),
        (
            'namespaces "{namespace}" is forbidden: User "nobody" cannot get resource'
            ' "namespaces" in API group "" in the namespace "{namespace}"'
        ),
    ),
}


@pytest.mark.parametrize("verb", FORBIDDEN)
async def test_nobody_is_forbidden_with_a_sentence(
    nobody: Client, namespace: str, verb: str
) -> None:
    ask, sentence = FORBIDDEN[verb]
    with pytest.raises(Unreachable) as raised:
        await ask(nobody, namespace)
    assert raised.value.reason is Reason.FORBIDDEN
    assert sentence.replace("{namespace}", namespace) in str(raised.value)


async def test_a_watch_needs_its_own_right(nobody: Client) -> None:
    with pytest.raises(Unreachable, match='cannot watch resource "configmaps"') as raised:
        async with nobody.watch(CONFIG_MAPS, resource_version="1"):
            raise AssertionError("a forbidden watch must not open")
    assert raised.value.reason is Reason.FORBIDDEN


async def test_nobody_may_still_look_around(nobody: Client) -> None:
    assert (await nobody.version())["gitVersion"].startswith("v1.")
    assert await nobody.discovery.find("Deployment") == DEPLOYMENTS
    assert (await nobody.request("GET", "/readyz")).text() == "ok"


async def test_without_credentials_one_is_anonymous(cluster: Target) -> None:
    async with cluster.client("") as client:
        with pytest.raises(Unreachable, match='User "system:anonymous" cannot get') as raised:
            await client.get(CONFIG_MAPS, "a", "default")
        assert raised.value.reason is Reason.FORBIDDEN
        assert (await client.version())["gitVersion"]


async def test_a_role_gives_rights_in_its_namespace(
    nobody: Client, client: Client, namespace: str
) -> None:
    roles = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
    bindings = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
    await client.create(roles, {"metadata": {"name": "reader"}, "rules": [rule]}, namespace)
    binding: dict[str, Any] = {
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "nobody"}],
    }
    await client.create(bindings, binding, namespace)
    await client.create(CONFIG_MAPS, config_map("a"), namespace)

    async def look() -> Reading:
        return await read(nobody, CONFIG_MAPS, "a", namespace)

    await eventually(look, lambda reading: isinstance(reading, Found))
    with pytest.raises(Unreachable, match="cannot delete resource"):
        await nobody.delete(CONFIG_MAPS, "a", namespace)
    with pytest.raises(Unreachable, match='in the namespace "default"'):
        await nobody.get(CONFIG_MAPS, "a", "default")


async def test_the_server_tells_who_one_is(raw: Raw, nobody: Client) -> None:
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await nobody.request("POST", path, body=body)
    assert answer.json()["status"]["userInfo"]["username"] == "nobody"
    groups = (await raw("POST", path, body)).json()["status"]["userInfo"]["groups"]
    assert "system:masters" in groups


async def test_the_server_tells_what_one_may_do(nobody: Client) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    attributes = {"verb": "get", "resource": "configmaps", "namespace": "default"}
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = await nobody.request("POST", path, body=body)
    assert answer.code == 201
    assert answer.json()["status"]["allowed"] is False


async def test_the_identity_is_the_uid_of_kube_system(client: Client) -> None:
    system = await client.get(NAMESPACES, "kube-system")
    assert await cluster_identity(client) == system["metadata"]["uid"]


async def test_version_and_health(raw: Raw) -> None:
    version = (await raw("GET", "/version")).json()
    assert re.fullmatch(r"v1\.\d+\.\d+.*", version["gitVersion"])
    assert version["major"] == "1"
    assert version["minor"].isdigit()
    for path in ("/readyz", "/livez", "/healthz"):
        answer = await raw("GET", path)
        assert (answer.code, answer.text()) == (200, "ok")
        assert answer.headers["Content-Type"].startswith("text/plain")
    assert "[+]ping ok" in (await raw("GET", "/readyz?verbose")).text()


@pytest.mark.parametrize(
    "path",
    [
        "/nothing/here",
        "/apis/nothing.example.com",
        "/apis/nothing.example.com/v1",
        "/apis/nothing.example.com/v1/namespaces/default/things",
        "/apis/nothing.example.com/v1/namespaces/default/things/a",
    ],
)
async def test_a_path_that_nobody_serves_is_a_plain_404(raw: Raw, path: str) -> None:
    answer = await raw("GET", path)
    assert answer.code == 404
    assert answer.text() == "404 page not found\n"
    assert answer.headers["Content-Type"].startswith("text/plain")


@pytest.mark.parametrize(
    "resource",
    [
        Resource("", "v1", "things", "Thing"),
        Resource("apps", "v1", "things", "Thing"),
        Resource("apps", "v9", "deployments", "Deployment"),
    ],
)
async def test_an_unknown_resource_of_a_built_in_group_is_a_status_about_no_object(
    raw: Raw, client: Client, resource: Resource
) -> None:
    answer = await raw("GET", resource.path("default", "a"))
    assert answer.code == 404
    assert answer.json() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the server could not find the requested resource",
        "reason": "NotFound",
        "details": {},
        "code": 404,
    }
    with pytest.raises(NotServed):
        await client.get(resource, "a", "default")


async def test_a_method_that_does_not_fit_is_405(raw: Raw, namespace: str) -> None:
    answer = await raw("POST", CONFIG_MAPS.path(namespace, "a"), config_map("a"))
    assert answer.code == 405
    assert answer.json()["reason"] == "MethodNotAllowed"


async def test_an_answer_in_a_form_nobody_knows_is_406(raw: Raw, namespace: str) -> None:
    answer = await raw("GET", CONFIG_MAPS.path(namespace), accept="text/html")
    assert answer.code == 406
    assert answer.json()["reason"] == "NotAcceptable"


async def test_tables_show_rows(raw: Raw, client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map("a", x="1", y="2"), namespace)
    answer = await raw(
        "GET", f"{CONFIG_MAPS.path(namespace)}?fieldSelector=metadata.name%3Da", accept=TABLE
    )
    table = answer.json()
    assert table["kind"] == "Table"
    assert table["apiVersion"] == "meta.k8s.io/v1"
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    [row] = table["rows"]
    assert row["cells"][:2] == ["a", 2]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert row["object"]["metadata"]["name"] == "a"
    one = (await raw("GET", CONFIG_MAPS.path(namespace, "a"), accept=TABLE)).json()
    assert len(one["rows"]) == 1


async def test_objects_can_be_had_without_their_content(
    raw: Raw, client: Client, namespace: str
) -> None:
    made = await client.create(CONFIG_MAPS, config_map("a", x="1"), namespace)
    one = (await raw("GET", CONFIG_MAPS.path(namespace, "a"), accept=PARTIAL)).json()
    assert one == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": made["metadata"],
    }
    many = (await raw("GET", CONFIG_MAPS.path(namespace), accept=PARTIALS)).json()
    assert many["kind"] == "PartialObjectMetadataList"
    assert many["metadata"]["resourceVersion"]
    assert all("data" not in item for item in many["items"])


async def test_discovery_comes_in_both_forms_and_they_agree(raw: Raw) -> None:
    groups = (await raw("GET", "/apis")).json()
    assert groups["kind"] == "APIGroupList"
    apps = next(group for group in groups["groups"] if group["name"] == "apps")
    assert apps["preferredVersion"] == {"groupVersion": "apps/v1", "version": "v1"}
    assert apps["versions"] == [{"groupVersion": "apps/v1", "version": "v1"}]
    core = (await raw("GET", "/api")).json()
    assert core["kind"] == "APIVersions"
    assert core["versions"] == ["v1"]
    group = (await raw("GET", "/apis/apps")).json()
    assert group["kind"] == "APIGroup"
    assert group["preferredVersion"]["version"] == "v1"

    listed = (await raw("GET", "/apis/apps/v1")).json()
    assert listed["kind"] == "APIResourceList"
    assert listed["groupVersion"] == "apps/v1"
    deployments = next(one for one in listed["resources"] if one["name"] == "deployments")
    assert deployments["kind"] == "Deployment"
    assert deployments["namespaced"] is True
    assert deployments["singularName"] == "deployment"
    assert deployments["shortNames"] == ["deploy"]
    assert "deployments/status" in {one["name"] for one in listed["resources"]}

    aggregated = (await raw("GET", "/apis", accept=ACCEPT_AGGREGATED)).json()
    assert aggregated["kind"] == "APIGroupDiscoveryList"
    assert aggregated["apiVersion"] == "apidiscovery.k8s.io/v2"
    apps = next(item for item in aggregated["items"] if item["metadata"]["name"] == "apps")
    [version] = apps["versions"]
    assert version["version"] == "v1"
    assert version["freshness"] == "Current"
    found = next(one for one in version["resources"] if one["resource"] == "deployments")
    assert found["responseKind"]["kind"] == "Deployment"
    assert found["scope"] == "Namespaced"
    assert found["singularResource"] == "deployment"
    assert set(found["verbs"]) == set(deployments["verbs"])
    assert "status" in {one["subresource"] for one in found["subresources"]}


async def test_discovery_says_in_its_content_type_what_it_is(raw: Raw) -> None:
    answer = await raw("GET", "/api", accept=ACCEPT_AGGREGATED)
    assert answer.headers["Content-Type"] == (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    )
    [core] = answer.json()["items"]
    assert core["metadata"].get("name", "") == ""
    names = {one["resource"] for one in core["versions"][0]["resources"]}
    assert {"configmaps", "secrets", "namespaces", "events", "pods", "services"} <= names


async def test_kinds_fairlead_uses_are_served(client: Client) -> None:
    for kind, api_version in (
        ("ConfigMap", "v1"),
        ("Secret", "v1"),
        ("Namespace", "v1"),
        ("Event", "v1"),
        ("ServiceAccount", "v1"),
        ("Service", "v1"),
        ("Pod", "v1"),
        ("Deployment", "apps/v1"),
        ("Lease", "coordination.k8s.io/v1"),
        ("CustomResourceDefinition", "apiextensions.k8s.io/v1"),
        ("Role", "rbac.authorization.k8s.io/v1"),
        ("ClusterRole", "rbac.authorization.k8s.io/v1"),
    ):
        assert (await client.discovery.find(kind, api_version)).kind == kind
