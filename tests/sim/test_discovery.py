"""Discovery, OpenAPI, health, version and tables: what kubectl reads before it does anything."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from fairlead_sim import SimCluster
from fairlead_sim.display import jsonpath
from fairlead_sim.display.durations import age, human
from fairlead_sim.kinds.catalogue import version_priority
from tests.sim.conftest import Api, config_map
from tests.sim.test_custom_kinds import CRDS, WIDGETS, definition, widget

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


async def test_legacy_discovery_lists_groups_versions_and_resources(api: Api) -> None:
    assert (await api.get("/api")).body["versions"] == ["v1"]
    groups = (await api.get("/apis")).body["groups"]
    assert "apps" in [group["name"] for group in groups]
    resources = (await api.get("/api/v1")).body["resources"]
    found = {each["name"]: each for each in resources}
    assert found["configmaps"]["shortNames"] == ["cm"]
    assert found["configmaps"]["namespaced"] is True
    assert found["namespaces"]["namespaced"] is False
    assert "namespaces/status" in found
    scale = (await api.get("/apis/apps/v1")).body["resources"]
    assert {"name": "deployments/scale", "kind": "Scale", "group": "autoscaling"}.items() <= next(
        each for each in scale if each["name"] == "deployments/scale"
    ).items()


async def test_aggregated_discovery_tells_the_same_in_one_answer(api: Api) -> None:
    reply = await api.get("/apis", Accept=AGGREGATED)
    assert "as=APIGroupDiscoveryList" in reply.headers["Content-Type"]
    legacy = [group["name"] for group in (await api.get("/apis")).body["groups"]]
    assert [item["metadata"]["name"] for item in reply.body["items"]] == legacy
    core = (await api.get("/api", Accept=AGGREGATED)).body["items"][0]["versions"][0]
    pods = next(each for each in core["resources"] if each["resource"] == "pods")
    assert pods["scope"] == "Namespaced"
    assert "status" in [each["subresource"] for each in pods["subresources"]]


async def test_open_api_describes_custom_kinds_completely(cluster: SimCluster, api: Api) -> None:
    before = (await api.get("/openapi/v3")).body["paths"]
    assert "apis/example.com/v1" not in before
    await api.create(CRDS, definition())
    await cluster.settle()
    paths = (await api.get("/openapi/v3")).body["paths"]
    url = paths["apis/example.com/v1"]["serverRelativeURL"]
    document = (await api.get(url)).body
    schema = document["components"]["schemas"]["com.example.v1.Widget"]
    assert schema["properties"]["spec"]["properties"]["replicas"]["default"] == 1
    assert schema["x-kubernetes-group-version-kind"][0]["kind"] == "Widget"
    patch = document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"]
    assert "fieldValidation" in [each["name"] for each in patch["parameters"]]


async def test_open_api_knows_the_fields_of_built_in_kinds(api: Api) -> None:
    schemas = (await api.get("/openapi/v3/apis/apps/v1")).body["components"]["schemas"]
    spec = schemas["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]
    assert spec["replicas"] == {"type": "integer"}
    assert "io.k8s.api.core.v1.Container" in schemas


async def test_health_and_version_answer(api: Api) -> None:
    for path in ("/healthz", "/livez", "/readyz", "/livez/ping"):
        assert (await api.get(path)).text == "ok"
    assert "[+]etcd ok" in (await api.get("/readyz?verbose")).text
    version = (await api.get("/version")).body
    assert (version["major"], version["minor"], version["gitVersion"]) == ("1", "36", "v1.36.3")


async def test_unknown_places_are_answered_as_kube_apiserver_does(api: Api) -> None:
    for path in ("/nope", "/apis/nope", "/apis/nope/v1", "/apis/nope/v1/things"):
        reply = await api.get(path)
        assert (reply.status, reply.text) == (404, "404 page not found\n")
    for path in ("/api/v2", "/api/v1/things", "/apis/apps/v9", "/api/v1/namespaces/default/things"):
        reply = await api.get(path)
        assert (reply.status, reply.reason) == (404, "NotFound")
        assert reply.message == "the server could not find the requested resource"


async def test_a_table_has_columns_cells_and_metadata(api: Api) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    await api.create(path, config_map("a", {"k": "v"}))
    table = (await api.get(f"{path}?fieldSelector=metadata.name%3Da", Accept=TABLE)).body
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    [row] = table["rows"]
    assert row["cells"][:2] == ["a", 1]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert "data" not in row["object"]


async def test_printer_columns_of_custom_kinds_are_shown(cluster: SimCluster, api: Api) -> None:
    await api.create(CRDS, definition())
    await cluster.settle()
    await api.create(WIDGETS, widget("a", spec={"replicas": 3}))
    table = (await api.get(WIDGETS, Accept=TABLE)).body
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size"]
    assert table["rows"][0]["cells"] == ["a", 3]


async def test_every_built_in_list_can_be_shown_as_a_table(api: Api) -> None:
    groups = (await api.get("/apis")).body["groups"]
    bases = ["/api/v1", *(f"/apis/{each['preferredVersion']['groupVersion']}" for each in groups)]
    for base in bases:
        for resource in (await api.get(base)).body["resources"]:
            if "list" in resource["verbs"]:
                reply = await api.get(f"{base}/{resource['name']}", Accept=TABLE)
                assert reply.body["kind"] == "Table", resource["name"]


CONDITIONS = {"status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Old"}]}}


@pytest.mark.parametrize(
    "path,found",
    [
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='Nope')].status", []),
        (".status.conditions[0].type", ["Ready"]),
        (".status.conditions[-1].type", ["Old"]),
        (".status.conditions[*].type", ["Ready", "Old"]),
        ("{.status.conditions[9].type}", []),
        (".status['conditions'][1].type", ["Old"]),
        (".status.[", []),
        ("", [CONDITIONS]),
    ],
)
def test_json_paths_of_columns_are_followed(path: str, found: list[object]) -> None:
    assert jsonpath.find(CONDITIONS, path) == found


@pytest.mark.parametrize(
    "seconds,text",
    [
        (0, "0s"), (119, "119s"), (120, "2m"), (125, "2m5s"), (3600, "60m"), (3 * 3600, "3h"),
        (3 * 3600 + 60, "3h1m"), (47 * 3600, "47h"), (49 * 3600, "2d1h"), (30 * 86400, "30d"),
        (3 * 365 * 86400, "3y"), (-5, "<invalid>"),
    ],
)  # fmt: skip
def test_ages_are_worded_as_kubectl_words_them(seconds: float, text: str) -> None:
    assert human(seconds) == text


def test_an_age_of_nothing_is_unknown() -> None:
    assert age(None, datetime.now(UTC)) == "<unknown>"
    assert age("not a time", datetime.now(UTC)) == "<unknown>"


def test_versions_are_ordered_by_maturity() -> None:
    versions = ["v1alpha1", "v2beta1", "v1", "v10", "v2", "foo", "v1beta2", "v1beta1"]
    expected = ["v10", "v2", "v1", "v2beta1", "v1beta2", "v1beta1", "v1alpha1", "foo"]
    assert sorted(versions, key=version_priority) == expected
