"""Custom resources: from definition to discovery, schemas, defaults, rules, columns, removal."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fairlead.errors import NotFound
from fairlead.kube import (
    CUSTOM_RESOURCE_DEFINITIONS,
    Absent,
    Client,
    Invalid,
    MergePatch,
    NotServed,
    Object,
    Reading,
    Resource,
    read,
)
from tests.contract.targets import (
    Raw,
    Widgets,
    condition,
    eventually,
    serve,
    unique,
    widget_definition,
)


async def test_a_definition_is_established_and_its_names_accepted(
    client: Client, widgets: Widgets
) -> None:
    found = await client.get(CUSTOM_RESOURCE_DEFINITIONS, str(widgets.resource))
    assert condition(found, "NamesAccepted") == "True"
    assert condition(found, "Established") == "True"
    assert found["status"]["acceptedNames"] == found["spec"]["names"]
    assert found["status"]["storedVersions"] == ["v1"]
    assert found["spec"]["conversion"] == {"strategy": "None"}


async def test_a_new_kind_is_discovered(client: Client, widgets: Widgets) -> None:
    async def look() -> Resource | None:
        client.discovery.invalidate()
        try:
            return await client.discovery.find("Widget", widgets.resource.api_version)
        except NotServed:
            return None

    assert await eventually(look) == widgets.resource
    group = widgets.resource.group
    for name in (f"widgets.{group}", f"widget.{group}", f"wi.{group}", f"widgets.v1.{group}"):
        assert await client.discovery.find_resource(name) == widgets.resource
    served = (await client.discovery.served()).resources
    [entry] = [one for one in served if one.resource == widgets.resource]
    assert entry.short_names == ("wi",)
    assert entry.singular == "widget"
    assert entry.categories == ("contract",)
    assert entry.subresources == ("status",)
    assert set(entry.verbs) == {
        "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"
    }  # fmt: skip


async def test_objects_of_the_kind_can_be_used_like_any_other(widgets: Widgets) -> None:
    client, namespace, resource = widgets.client, widgets.namespace, widgets.resource
    made = await widgets.create("a", size=1)
    assert made["apiVersion"] == resource.api_version
    assert made["kind"] == "Widget"
    assert (await client.list(resource, namespace)).items == [made]
    assert (await client.list(resource)).items == [made]
    await client.delete(resource, "a", namespace)
    with pytest.raises(NotFound, match=f'widgets.{resource.group} "a" not found'):
        await client.get(resource, "a", namespace)


async def test_defaults_are_filled_in(widgets: Widgets) -> None:
    made = await widgets.create("a", size=1, parts=[{"id": "p"}])
    assert made["spec"] == {"size": 1, "colour": "blue", "parts": [{"id": "p", "weight": 1}]}


async def test_null_for_a_field_with_a_default_gives_the_default(widgets: Widgets) -> None:
    made = await widgets.create("a", size=1, colour=None)
    assert made["spec"]["colour"] == "blue"


async def test_unknown_fields_are_pruned_unless_preserved(widgets: Widgets) -> None:
    made = await widgets.create("a", size=1, nope=1, free={"any": {"thing": [1, "x"]}})
    assert "nope" not in made["spec"]
    assert made["spec"]["free"] == {"any": {"thing": [1, "x"]}}
    wish = widgets.new("b", size=1) | {"extra": {"top": "level"}}
    assert "extra" not in await widgets.client.create(widgets.resource, wish, widgets.namespace)


async def test_strict_validation_refuses_unknown_fields(raw: Raw, widgets: Widgets) -> None:
    path = f"{widgets.resource.path(widgets.namespace)}?fieldValidation=Strict"
    answer = await raw("POST", path, widgets.new("a", size=1, nope=1))
    assert answer.code == 400
    assert answer.json()["message"].endswith('strict decoding error: unknown field "spec.nope"')
    path = f"{widgets.resource.path(widgets.namespace)}?fieldValidation=Warn"
    answer = await raw("POST", path, widgets.new("a", size=1, nope=1))
    assert answer.code == 201
    assert answer.headers["Warning"] == r'299 - "unknown field \"spec.nope\""'


FAULTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "missing": ({}, "spec.size", "Required value"),
    "wrong type": (
        {"size": "big"},
        "spec.size",
        'Invalid value: "string": spec.size in body must be of type integer: "string"',
    ),
    "too small": (
        {"size": 0},
        "spec.size",
        "Invalid value: 0: spec.size in body should be greater than or equal to 1",
    ),
    "too large": (
        {"size": 101},
        "spec.size",
        "Invalid value: 101: spec.size in body should be less than or equal to 100",
    ),
    "not listed": (
        {"size": 1, "colour": "pink"},
        "spec.colour",
        'Unsupported value: "pink": supported values: "red", "green", "blue"',
    ),
    "no match": (
        {"size": 1, "name": "UPPER"},
        "spec.name",
        "Invalid value: \"UPPER\": spec.name in body should match '^[a-z]+$'",
    ),
    "too long": (
        {"size": 1, "name": "muchtoolong"},
        "spec.name",
        "Too long: may not be more than 10 bytes",
    ),
    "missing within a list": (
        {"size": 1, "parts": [{}]},
        "spec.parts[0].id",
        "Required value",
    ),
    "a key twice": (
        {"size": 1, "parts": [{"id": "p"}, {"id": "p"}]},
        "spec.parts[1]",
        'Duplicate value: {"id":"p"}',
    ),
    "a value twice": (
        {"size": 1, "tags": ["x", "x"]},
        "spec.tags[1]",
        'Duplicate value: "x"',
    ),
    "against a rule": (
        {"size": 9, "max": 5},
        "spec",
        "Invalid value: size must not exceed max",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_the_schema_judges_and_says_which_field(widgets: Widgets, fault: str) -> None:
    spec, field, message = FAULTS[fault]
    with pytest.raises(Invalid) as raised:
        await widgets.create("a", **spec)
    assert raised.value.reason == "Invalid"
    assert f'Widget.{widgets.resource.group} "a" is invalid: ' in str(raised.value)
    causes = {cause.field: cause.message for cause in raised.value.causes}
    assert causes[field] == message


async def test_several_faults_are_all_told(widgets: Widgets) -> None:
    with pytest.raises(Invalid) as raised:
        await widgets.create("a", size=0, colour="pink")
    assert {cause.field for cause in raised.value.causes} >= {"spec.size", "spec.colour"}


async def test_rules_see_the_old_object(widgets: Widgets) -> None:
    await widgets.create("a", size=1, frozen="x")
    patch = MergePatch({"spec": {"frozen": "y"}})
    with pytest.raises(Invalid, match="frozen is immutable"):
        await widgets.client.patch(widgets.resource, "a", patch, widgets.namespace)
    patch = MergePatch({"spec": {"frozen": "x", "size": 2}})
    changed = await widgets.client.patch(widgets.resource, "a", patch, widgets.namespace)
    assert changed["spec"]["size"] == 2


async def test_the_status_is_judged_too(widgets: Widgets) -> None:
    await widgets.create("a", size=1)
    patch = MergePatch({"status": {"phase": 7}})
    with pytest.raises(Invalid, match=r"status\.phase"):
        await widgets.client.patch(
            widgets.resource, "a", patch, widgets.namespace, subresource="status"
        )


async def test_columns_are_shown_in_tables(raw: Raw, widgets: Widgets) -> None:
    await widgets.create("a", size=3)
    table = (
        await raw(
            "GET",
            widgets.resource.path(widgets.namespace),
            accept="application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
        )
    ).json()
    assert table["kind"] == "Table"
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size", "Phase"]
    assert [column["priority"] for column in table["columnDefinitions"]] == [0, 0, 1]
    [row] = table["rows"]
    assert row["cells"] == ["a", 3, None]
    assert row["object"]["kind"] == "PartialObjectMetadata"


@pytest.mark.parametrize(
    "change, message",
    [
        ({"metadata": {"name": "wrong"}}, "metadata.name"),
        ({"spec": {"group": "nodots"}}, "spec.group"),
        ({"spec": {"scope": "Galaxy"}}, "spec.scope"),
        ({"spec": {"versions": []}}, "spec.versions"),
        ({"spec": {"names": {"plural": "UPPER"}}}, "spec.names.plural"),
        ({"spec": {"names": {"kind": ""}}}, "spec.names.kind"),
    ],
)
async def test_a_definition_is_judged_itself(client: Client, change: Object, message: str) -> None:
    definition = widget_definition(f"{unique('g')}.example.com")
    for part, values in change.items():
        for name, value in values.items():
            if isinstance(value, dict):
                definition[part][name] |= value
            else:
                definition[part][name] = value
    with pytest.raises(Invalid, match=message.replace(".", r"\.")):
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)


async def test_a_schema_must_be_structural(client: Client) -> None:
    definition = widget_definition(f"{unique('g')}.example.com")
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["untyped"] = {"description": "no type"}
    with pytest.raises(Invalid, match="must not be empty for specified object fields"):
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)


async def test_a_version_must_be_stored_exactly_once(client: Client) -> None:
    definition = widget_definition(f"{unique('g')}.example.com", storage=False)
    with pytest.raises(Invalid, match="must have exactly one version marked as storage version"):
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)


async def test_every_served_version_shows_the_same_objects(client: Client, namespace: str) -> None:
    definition = widget_definition(f"{namespace}.example.com")
    first = definition["spec"]["versions"][0]
    definition["spec"]["versions"].append(first | {"name": "v2beta1", "storage": False})
    resource = await serve(client, definition)
    newer = Resource(resource.group, "v2beta1", "widgets", "Widget")
    wish = {"metadata": {"name": "a"}, "spec": {"size": 1}}
    made = await client.apply(resource, wish, namespace)

    async def look() -> Reading:
        return await read(client, newer, "a", namespace)

    await eventually(look, lambda seen: getattr(seen, "object", None) is not None)
    found = await client.get(newer, "a", namespace)
    assert found["apiVersion"] == newer.api_version
    assert found["metadata"]["uid"] == made["metadata"]["uid"]
    await client.delete(CUSTOM_RESOURCE_DEFINITIONS, definition["metadata"]["name"])


async def test_a_changed_schema_is_used_soon(widgets: Widgets) -> None:
    client = widgets.client
    definition = await client.get(CUSTOM_RESOURCE_DEFINITIONS, str(widgets.resource))
    version = definition["spec"]["versions"][0]
    properties = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["added"] = {"type": "string", "default": "new"}
    await client.replace(CUSTOM_RESOURCE_DEFINITIONS, definition)

    async def look() -> Object:
        wish = widgets.new("a", size=1)
        return await client.apply(widgets.resource, wish, widgets.namespace, dry_run=True)

    await eventually(look, lambda made: made["spec"].get("added") == "new")


async def test_a_removed_definition_takes_its_objects_along(client: Client, namespace: str) -> None:
    definition = widget_definition(f"{namespace}.example.com")
    resource = await serve(client, definition)
    name = definition["metadata"]["name"]
    held = {"metadata": {"name": "a", "finalizers": ["example.com/hold"]}, "spec": {"size": 1}}
    await client.create(resource, held, namespace)
    told = await client.delete(CUSTOM_RESOURCE_DEFINITIONS, name)
    assert told["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]

    async def object_now() -> Object:
        return await client.get(resource, "a", namespace)

    await eventually(object_now, lambda obj: "deletionTimestamp" in obj["metadata"])
    released = MergePatch({"metadata": {"finalizers": None}})
    await client.patch(resource, "a", released, namespace)

    async def look() -> Reading:
        return await read(client, CUSTOM_RESOURCE_DEFINITIONS, name)

    await eventually(look, lambda reading: reading == Absent())

    async def served() -> bool:
        try:
            await client.list(resource, namespace)
        except NotServed:
            return False
        return True

    await eventually(served, lambda yes: not yes)
    with pytest.raises(NotServed):
        await client.get(resource, "a", namespace)


async def test_a_cluster_scoped_kind_has_no_namespaces(client: Client) -> None:
    definition = widget_definition(f"{unique('g')}.example.com")
    definition["spec"]["scope"] = "Cluster"
    resource = await serve(client, definition)
    made = await client.apply(resource, {"metadata": {"name": "a"}, "spec": {"size": 1}})
    assert "namespace" not in made["metadata"]
    assert await client.get(resource, "a") == made
    await client.delete(CUSTOM_RESOURCE_DEFINITIONS, definition["metadata"]["name"])


async def test_scale_is_a_view_of_the_spec(raw: Raw, client: Client, namespace: str) -> None:
    definition = widget_definition(
        f"{namespace}.example.com",
        subresources={
            "status": {},
            "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.phase"},
        },
    )
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"] = {
        "type": "object",
        "properties": {"phase": {"type": "integer"}},
    }
    resource = await serve(client, definition)
    await client.apply(resource, {"metadata": {"name": "a"}, "spec": {"size": 1}}, namespace)
    scale = await client.get(resource, "a", namespace, subresource="scale")
    assert scale["kind"] == "Scale"
    assert scale["apiVersion"] == "autoscaling/v1"
    assert scale["spec"] == {"replicas": 1}
    patch = MergePatch({"spec": {"replicas": 4}})
    await client.patch(resource, "a", patch, namespace, subresource="scale")
    assert (await client.get(resource, "a", namespace))["spec"]["size"] == 4
    await client.delete(CUSTOM_RESOURCE_DEFINITIONS, definition["metadata"]["name"])


async def test_many_definitions_at_once_are_all_served(client: Client) -> None:
    definitions = [widget_definition(f"{unique('g')}.example.com") for _ in range(4)]
    resources = await asyncio.gather(*(serve(client, definition) for definition in definitions))
    assert len(set(resources)) == 4
    for definition in definitions:
        await client.delete(CUSTOM_RESOURCE_DEFINITIONS, definition["metadata"]["name"])
