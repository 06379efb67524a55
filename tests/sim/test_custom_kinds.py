"""Custom resource definitions and the kinds they make."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead_sim import SimCluster
from tests.sim.conftest import APPLY, STRATEGIC, Api

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
PORT = {"type": "object", "properties": {"name": {"type": "string"}, "port": {"type": "integer"}}}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "replicas": {"type": "integer", "default": 1, "minimum": 0},
                "color": {"type": "string", "enum": ["red", "blue"]},
                "ports": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {**PORT, "required": ["name"]},
                },
            },
            "x-kubernetes-validations": [
                {"rule": "self.replicas < 100", "message": "too many widgets"}
            ],
        },
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
    },
}


def definition() -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": SCHEMA},
                    "subresources": {
                        "status": {},
                        "scale": {
                            "specReplicasPath": ".spec.replicas",
                            "statusReplicasPath": ".status.replicas",
                        },
                    },
                    "additionalPrinterColumns": [
                        {"name": "Size", "type": "integer", "jsonPath": ".spec.replicas"}
                    ],
                },
                {
                    "name": "v1beta1",
                    "served": True,
                    "storage": False,
                    "schema": {"openAPIV3Schema": SCHEMA},
                    "deprecated": True,
                },
            ],
        },
    }


def widget(name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, **fields}


@pytest.fixture
async def defined(cluster: SimCluster, api: Api) -> Api:
    await api.create(CRDS, definition())
    await cluster.settle()
    return api


async def test_a_definition_is_established_and_served(defined: Api) -> None:
    stored = (await defined.get(f"{CRDS}/widgets.example.com")).body
    conditions = {each["type"]: each["status"] for each in stored["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert stored["status"]["storedVersions"] == ["v1"]
    assert stored["status"]["acceptedNames"]["listKind"] == "WidgetList"
    assert (await defined.get(WIDGETS)).body["kind"] == "WidgetList"


async def test_before_its_definition_a_kind_is_an_unknown_page(api: Api) -> None:
    reply = await api.get(WIDGETS)
    assert (reply.status, reply.text) == (404, "404 page not found\n")
    assert reply.headers["Content-Type"].startswith("text/plain")


async def test_objects_are_defaulted_pruned_and_validated(defined: Api) -> None:
    made = await defined.create(WIDGETS, widget("a", spec={"color": "red", "extra": 1}))
    assert made["spec"] == {"color": "red", "replicas": 1}
    for spec, problem in (
        ({"color": "green"}, "spec.color: Unsupported value"),
        ({"replicas": "x"}, "spec.replicas in body must be of type integer"),
        ({"replicas": 100}, "too many widgets"),
    ):
        reply = await defined.post(WIDGETS, widget("b", spec=spec))
        assert (reply.status, reply.reason) == (422, "Invalid")
        assert problem in reply.message


async def test_status_and_generation_behave_as_with_built_in_kinds(defined: Api) -> None:
    made = await defined.create(WIDGETS, widget("a", spec={}, status={"replicas": 5}))
    assert "status" not in made
    change = {"status": {"replicas": 2}, "spec": {"replicas": 9}}
    after = (await defined.patch(f"{WIDGETS}/a/status", change)).body
    assert (after["status"], after["spec"]["replicas"]) == ({"replicas": 2}, 1)
    assert after["metadata"]["generation"] == 1
    after = (await defined.patch(f"{WIDGETS}/a", change)).body
    assert (after["status"], after["spec"]["replicas"]) == ({"replicas": 2}, 9)
    assert after["metadata"]["generation"] == 2


async def test_scale_follows_its_paths(defined: Api) -> None:
    await defined.create(WIDGETS, widget("a", spec={"replicas": 2}))
    reply = await defined.patch(f"{WIDGETS}/a/scale", {"spec": {"replicas": 4}})
    assert reply.body["spec"] == {"replicas": 4}
    assert (await defined.get(f"{WIDGETS}/a")).body["spec"]["replicas"] == 4


async def test_all_served_versions_show_the_same_object(defined: Api) -> None:
    await defined.create(WIDGETS, widget("a", spec={"color": "red"}))
    old = await defined.get("/apis/example.com/v1beta1/namespaces/default/widgets/a")
    assert old.body["apiVersion"] == "example.com/v1beta1"
    assert old.body["spec"]["color"] == "red"
    assert "is deprecated" in old.headers["Warning"]


async def test_apply_merges_lists_by_their_keys(defined: Api) -> None:
    async def apply(manager: str, spec: dict[str, Any], query: str = "") -> Any:
        path = f"{WIDGETS}/a?fieldManager={manager}{query}"
        return await defined.patch(path, widget("a", spec=spec), APPLY)

    assert (await apply("one", {"color": "red", "ports": [{"name": "x", "port": 1}]})).status == 201
    both = await apply("two", {"ports": [{"name": "y", "port": 2}]})
    assert [port["name"] for port in both.body["spec"]["ports"]] == ["x", "y"]
    conflict = await apply("two", {"color": "blue"})
    assert (conflict.status, conflict.reason) == (409, "Conflict")
    assert conflict.body["details"]["causes"][0]["field"] == ".spec.color"
    forced = await apply("two", {"color": "blue"}, "&force=true")
    assert forced.body["spec"]["color"] == "blue"
    assert [port["name"] for port in forced.body["spec"]["ports"]] == ["x"]
    undeclared = await apply("two", {"nope": 1})
    assert undeclared.status == 500
    assert ".spec.nope: field not declared in schema" in undeclared.message


async def test_strategic_patches_are_for_built_in_kinds_only(defined: Api) -> None:
    await defined.create(WIDGETS, widget("a", spec={}))
    reply = await defined.patch(f"{WIDGETS}/a", {"spec": {}}, STRATEGIC)
    assert (reply.status, reply.reason) == (415, "UnsupportedMediaType")


async def test_an_update_must_name_the_version_it_is_based_on(defined: Api) -> None:
    await defined.create(WIDGETS, widget("a", spec={}))
    reply = await defined.put(f"{WIDGETS}/a", widget("a", spec={}))
    assert reply.status == 422
    assert "metadata.resourceVersion" in reply.message


async def test_changing_a_definition_changes_what_is_served(
    cluster: SimCluster, defined: Api
) -> None:
    body = (await defined.get(f"{CRDS}/widgets.example.com")).body
    body["spec"]["versions"][1]["served"] = False
    assert (await defined.put(f"{CRDS}/widgets.example.com", body)).status == 200
    await cluster.settle()
    versions = (await defined.get("/apis/example.com")).body["versions"]
    assert [each["version"] for each in versions] == ["v1"]


async def test_deleting_a_definition_deletes_its_objects(cluster: SimCluster, defined: Api) -> None:
    held = widget("held", spec={})
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await defined.create(WIDGETS, held)
    await defined.create(WIDGETS, widget("free", spec={}))
    await defined.delete(f"{CRDS}/widgets.example.com")
    await cluster.settle()
    assert await defined.names(WIDGETS) == ["held"]
    assert (await defined.post(WIDGETS, widget("late", spec={}))).status == 405
    await defined.patch(f"{WIDGETS}/held", {"metadata": {"finalizers": None}})
    await cluster.settle()
    assert (await defined.get(f"{CRDS}/widgets.example.com")).status == 404
    assert (await defined.get(WIDGETS)).text == "404 page not found\n"


def _break(change: str) -> dict[str, Any]:
    made = definition()
    spec = made["spec"]
    match change:
        case "not structural":
            spec["versions"][0]["schema"] = {"openAPIV3Schema": {"properties": {"a": {}}}}
        case "no schema":
            del spec["versions"][0]["schema"]
        case "two storage versions":
            spec["versions"][1]["storage"] = True
        case "wrong name":
            made["metadata"]["name"] = "gadgets.example.com"
        case "no scope":
            del spec["scope"]
        case "names of a wrong type":
            spec["names"] = "widgets"
    return made


@pytest.mark.parametrize(
    "change,code",
    [
        ("not structural", 422),
        ("no schema", 422),
        ("two storage versions", 422),
        ("wrong name", 422),
        ("no scope", 422),
        ("names of a wrong type", 400),
    ],
)
async def test_a_definition_that_cannot_work_is_refused(api: Api, change: str, code: int) -> None:
    assert (await api.post(CRDS, _break(change))).status == code


async def test_a_definition_whose_kind_is_taken_is_not_established(
    cluster: SimCluster, defined: Api
) -> None:
    other = definition()
    other["metadata"]["name"] = "gadgets.example.com"
    other["spec"]["names"] = {"plural": "gadgets", "kind": "Widget"}
    await defined.create(CRDS, other)
    await cluster.settle()
    status = (await defined.get(f"{CRDS}/gadgets.example.com")).body["status"]
    assert {each["type"]: each["status"] for each in status["conditions"]} == {
        "NamesAccepted": "False",
        "Established": "False",
    }
