"""Server-side apply: ownership, conflicts, force, removal, lists, status."""

from __future__ import annotations

import pytest

from fairlead.kube import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    ApplyConflict,
    Client,
    Invalid,
    MergePatch,
    Object,
    StaleResource,
)
from tests.contract.targets import Raw, Widgets, config_map

APPLY = "application/apply-patch+yaml"


def managers(obj: Object) -> list[tuple[str, str, str]]:
    return sorted(
        (entry["manager"], entry["operation"], entry.get("subresource", ""))
        for entry in obj["metadata"]["managedFields"]
    )


def fields_of(obj: Object, manager: str) -> Object:
    [entry] = [one for one in obj["metadata"]["managedFields"] if one["manager"] == manager]
    assert entry["fieldsType"] == "FieldsV1"
    assert entry["apiVersion"] == obj["apiVersion"]
    return dict(entry["fieldsV1"])


async def test_apply_creates_what_is_missing_and_owns_it(client: Client, namespace: str) -> None:
    made = await client.apply(CONFIG_MAPS, config_map("a", x="1"), namespace)
    assert made["data"] == {"x": "1"}
    assert managers(made) == [("fairlead", "Apply", "")]
    assert fields_of(made, "fairlead") == {"f:data": {"f:x": {}}}


async def test_apply_answers_201_then_200(raw: Raw, namespace: str) -> None:
    path = f"{CONFIG_MAPS.path(namespace, 'a')}?fieldManager=m"
    codes = [(await raw("PATCH", path, config_map("a"), content_type=APPLY)).code for _ in range(2)]
    assert codes == [201, 200]


async def test_applying_the_same_again_changes_nothing(client: Client, namespace: str) -> None:
    made = await client.apply(CONFIG_MAPS, config_map("a", x="1"), namespace)
    assert await client.apply(CONFIG_MAPS, config_map("a", x="1"), namespace) == made


async def test_what_is_no_longer_applied_is_removed(client: Client, namespace: str) -> None:
    await client.apply(CONFIG_MAPS, config_map("a", x="1", y="2"), namespace)
    changed = await client.apply(CONFIG_MAPS, config_map("a", y="2"), namespace)
    assert changed["data"] == {"y": "2"}
    emptied = await client.apply(CONFIG_MAPS, {"metadata": {"name": "a"}}, namespace)
    assert "data" not in emptied


async def test_what_others_own_stays(client: Client, namespace: str) -> None:
    await client.apply(CONFIG_MAPS, config_map("a", x="1"), namespace, manager="one")
    both = await client.apply(CONFIG_MAPS, config_map("a", y="2"), namespace, manager="two")
    assert both["data"] == {"x": "1", "y": "2"}
    assert managers(both) == [("one", "Apply", ""), ("two", "Apply", "")]
    alone = await client.apply(CONFIG_MAPS, {"metadata": {"name": "a"}}, namespace, manager="one")
    assert alone["data"] == {"y": "2"}


async def test_a_field_that_both_own_stays_until_both_give_it_up(
    client: Client, namespace: str
) -> None:
    for manager in ("one", "two"):
        await client.apply(CONFIG_MAPS, config_map("a", x="1"), namespace, manager=manager)
    empty = {"metadata": {"name": "a"}}
    kept = await client.apply(CONFIG_MAPS, empty, namespace, manager="one")
    assert kept["data"] == {"x": "1"}
    gone = await client.apply(CONFIG_MAPS, empty, namespace, manager="two")
    assert "data" not in gone


async def test_another_value_for_a_field_of_others_conflicts(
    raw: Raw, client: Client, namespace: str
) -> None:
    made = await client.apply(CONFIG_MAPS, config_map("a", x="1", y="2"), namespace, manager="one")
    with pytest.raises(ApplyConflict, match='conflict with "one"') as raised:
        await client.apply(CONFIG_MAPS, config_map("a", x="9"), namespace, manager="two")
    assert [cause.field for cause in raised.value.causes] == [".data.x"]
    path = f"{CONFIG_MAPS.path(namespace, 'a')}?fieldManager=two"
    answer = await raw("PATCH", path, config_map("a", x="9"), content_type=APPLY)
    assert answer.code == 409
    status = answer.json()
    assert status["reason"] == "Conflict"
    assert status["message"] == 'Apply failed with 1 conflict: conflict with "one": .data.x'
    assert status["details"] == {
        "causes": [
            {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.x"}
        ]
    }
    assert await client.get(CONFIG_MAPS, "a", namespace) == made


async def test_several_conflicts_are_all_told(client: Client, namespace: str) -> None:
    await client.apply(CONFIG_MAPS, config_map("a", x="1", y="2"), namespace, manager="one")
    with pytest.raises(ApplyConflict) as raised:
        await client.apply(CONFIG_MAPS, config_map("a", x="8", y="9"), namespace, manager="two")
    assert sorted(str(cause) for cause in raised.value.causes) == [
        '.data.x: conflict with "one"',
        '.data.y: conflict with "one"',
    ]


async def test_force_takes_the_field_and_its_ownership(client: Client, namespace: str) -> None:
    await client.apply(CONFIG_MAPS, config_map("a", x="1", y="2"), namespace, manager="one")
    taken = await client.apply(
        CONFIG_MAPS, config_map("a", x="9"), namespace, manager="two", force=True
    )
    assert taken["data"] == {"x": "9", "y": "2"}
    assert fields_of(taken, "one") == {"f:data": {"f:y": {}}}
    assert fields_of(taken, "two") == {"f:data": {"f:x": {}}}


async def test_an_update_takes_ownership_without_asking(client: Client, namespace: str) -> None:
    await client.apply(CONFIG_MAPS, config_map("a", x="1"), namespace, manager="one")
    patch = MergePatch({"data": {"x": "9"}})
    changed = await client.patch(CONFIG_MAPS, "a", patch, namespace, manager="hand")
    assert managers(changed) == [("hand", "Update", "")]
    with pytest.raises(ApplyConflict, match='conflict with "hand" using v1') as raised:
        await client.apply(CONFIG_MAPS, config_map("a", x="1"), namespace, manager="one")
    assert raised.value.causes[0].field == ".data.x"


async def test_an_unchanged_update_shares_nothing_and_takes_nothing(
    client: Client, namespace: str
) -> None:
    made = await client.apply(CONFIG_MAPS, config_map("a", x="1"), namespace, manager="one")
    patch = MergePatch({"data": {"x": "1"}})
    assert await client.patch(CONFIG_MAPS, "a", patch, namespace, manager="hand") == made


async def test_apply_with_a_stale_version_conflicts(client: Client, namespace: str) -> None:
    made = await client.apply(CONFIG_MAPS, config_map("a", x="1"), namespace)
    await client.apply(CONFIG_MAPS, config_map("a", x="2"), namespace)
    wish = config_map("a", x="3")
    wish["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"]
    with pytest.raises(StaleResource):
        await client.apply(CONFIG_MAPS, wish, namespace)


async def test_apply_cannot_change_the_uid(client: Client, namespace: str) -> None:
    await client.apply(CONFIG_MAPS, config_map("a"), namespace)
    wish = config_map("a")
    wish["metadata"]["uid"] = "11111111-1111-1111-1111-111111111111"
    with pytest.raises(Invalid, match=r"metadata\.uid: Invalid value: .*field is immutable"):
        await client.apply(CONFIG_MAPS, wish, namespace)


async def test_a_dry_run_of_apply_keeps_nothing(client: Client, namespace: str) -> None:
    await client.apply(CONFIG_MAPS, config_map("a", x="1"), namespace)
    shown = await client.apply(CONFIG_MAPS, config_map("a", x="2"), namespace, dry_run=True)
    assert shown["data"] == {"x": "2"}
    assert (await client.get(CONFIG_MAPS, "a", namespace))["data"] == {"x": "1"}


@pytest.mark.parametrize(
    "query, change, code",
    [
        ("", {}, 422),  # no field manager
        ("?fieldManager=m", {"kind": ""}, 400),
        ("?fieldManager=m", {"metadata": {"name": "b"}}, 400),
        ("?fieldManager=m", {"metadata": {"name": "a", "managedFields": [{}]}}, 400),
    ],
)
async def test_an_apply_that_is_not_one_is_refused(
    raw: Raw, namespace: str, query: str, change: Object, code: int
) -> None:
    path = CONFIG_MAPS.path(namespace, "a") + query
    answer = await raw("PATCH", path, config_map("a") | change, content_type=APPLY)
    assert answer.code == code
    assert answer.json()["kind"] == "Status"


async def test_apply_understands_yaml(raw: Raw, namespace: str) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: 'y'\n"
    path = f"{CONFIG_MAPS.path(namespace, 'a')}?fieldManager=m"
    answer = await raw("PATCH", path, text, content_type=APPLY)
    assert answer.json()["data"] == {"x": "y"}


async def test_lists_with_keys_are_merged_item_by_item(widgets: Widgets) -> None:
    client, namespace, resource = widgets.client, widgets.namespace, widgets.resource
    first = widgets.new("a", size=1, parts=[{"id": "p", "weight": 1}, {"id": "q", "weight": 2}])
    await client.apply(resource, first, namespace, manager="one")
    second = widgets.new("a", size=1, parts=[{"id": "r", "weight": 3}])
    both = await client.apply(resource, second, namespace, manager="two")
    assert [part["id"] for part in both["spec"]["parts"]] == ["p", "q", "r"]
    second["spec"]["parts"] = [{"id": "p", "weight": 9}]
    with pytest.raises(ApplyConflict) as raised:
        await client.apply(resource, second, namespace, manager="two")
    assert raised.value.causes[0].field == '.spec.parts[id="p"].weight'
    fewer = widgets.new("a", size=1, parts=[{"id": "q", "weight": 2}])
    left = await client.apply(resource, fewer, namespace, manager="one")
    assert [part["id"] for part in left["spec"]["parts"]] == ["q", "r"]


async def test_lists_that_are_sets_are_merged_value_by_value(widgets: Widgets) -> None:
    client, namespace, resource = widgets.client, widgets.namespace, widgets.resource
    await client.apply(resource, widgets.new("a", size=1, tags=["x", "y"]), namespace, manager="1")
    both = await client.apply(
        resource, widgets.new("a", size=1, tags=["y", "z"]), namespace, manager="2"
    )
    assert sorted(both["spec"]["tags"]) == ["x", "y", "z"]
    left = await client.apply(resource, widgets.new("a", size=1), namespace, manager="1")
    assert sorted(left["spec"]["tags"]) == ["y", "z"]


async def test_other_lists_have_one_owner(widgets: Widgets) -> None:
    client, namespace, resource = widgets.client, widgets.namespace, widgets.resource
    await client.apply(resource, widgets.new("a", size=1, order=["x"]), namespace, manager="one")
    other = widgets.new("a", size=1, order=["y"])
    with pytest.raises(ApplyConflict) as raised:
        await client.apply(resource, other, namespace, manager="two")
    assert raised.value.causes[0].field == ".spec.order"
    taken = await client.apply(resource, other, namespace, manager="two", force=True)
    assert taken["spec"]["order"] == ["y"]


@pytest.mark.parametrize(
    "spec, message",
    [
        ({"parts": [{"id": "p"}, {"id": "p"}]}, '.spec.parts: duplicate entries for key [id="p"]'),
        ({"nope": 1}, ".spec.nope: field not declared in schema"),
    ],
)
async def test_what_the_schema_does_not_know_cannot_be_applied(
    widgets: Widgets, spec: Object, message: str
) -> None:
    with pytest.raises(Invalid, match="failed to create typed patch object") as raised:
        await widgets.client.apply(
            widgets.resource, widgets.new("a", size=1, **spec), widgets.namespace
        )
    assert message in str(raised.value)


async def test_built_in_lists_have_keys_too(client: Client, namespace: str) -> None:
    def deployment(*containers: Object) -> Object:
        return {
            "metadata": {"name": "d"},
            "spec": {
                "selector": {"matchLabels": {"app": "d"}},
                "template": {
                    "metadata": {"labels": {"app": "d"}},
                    "spec": {"containers": list(containers)},
                },
            },
        }

    one = {"name": "one", "image": "i:1", "env": [{"name": "A", "value": "1"}]}
    two = {"name": "two", "image": "i:2"}
    await client.apply(DEPLOYMENTS, deployment(one), namespace, manager="one")
    both = await client.apply(DEPLOYMENTS, deployment(two), namespace, manager="two")
    containers = both["spec"]["template"]["spec"]["containers"]
    assert [container["name"] for container in containers] == ["one", "two"]
    changed = {"name": "one", "env": [{"name": "A", "value": "2"}]}
    with pytest.raises(ApplyConflict) as raised:
        await client.apply(DEPLOYMENTS, deployment(two, changed), namespace, manager="two")
    assert raised.value.causes[0].field == (
        '.spec.template.spec.containers[name="one"].env[name="A"].value'
    )


async def test_the_status_is_applied_through_its_own_door(widgets: Widgets) -> None:
    client, namespace, resource = widgets.client, widgets.namespace, widgets.resource
    await client.apply(resource, widgets.new("a", size=1), namespace)
    status = {
        "metadata": {"name": "a"},
        "spec": {"size": 9},
        "status": {"phase": "Ready", "conditions": [{"type": "Ready", "status": "True"}]},
    }
    done = await client.apply(resource, status, namespace, manager="ctl", subresource="status")
    assert done["spec"]["size"] == 1
    assert done["status"] == status["status"]
    assert managers(done) == [("ctl", "Apply", "status"), ("fairlead", "Apply", "")]
    again = await client.apply(resource, status, namespace, manager="ctl", subresource="status")
    assert again == done
    other = {
        "metadata": {"name": "a"},
        "status": {"conditions": [{"type": "Synced", "status": "True"}]},
    }
    both = await client.apply(resource, other, namespace, manager="two", subresource="status")
    assert [one["type"] for one in both["status"]["conditions"]] == ["Ready", "Synced"]


async def test_a_status_is_not_applied_to_what_does_not_exist(raw: Raw, widgets: Widgets) -> None:
    path = widgets.resource.path(widgets.namespace, "a", "status")
    wish = widgets.new("a", size=1) | {"status": {"phase": "Ready"}}
    answer = await raw("PATCH", f"{path}?fieldManager=m", wish, content_type=APPLY)
    assert answer.code == 404
    assert answer.json()["reason"] == "NotFound"


async def test_a_status_in_the_main_door_is_dropped(widgets: Widgets) -> None:
    wish = widgets.new("a", size=1) | {"status": {"phase": "Ready"}}
    made = await widgets.client.apply(widgets.resource, wish, widgets.namespace)
    assert "status" not in made
    assert "f:status" not in fields_of(made, "fairlead")


async def test_a_default_is_not_owned_by_who_did_not_say_it(widgets: Widgets) -> None:
    client, namespace, resource = widgets.client, widgets.namespace, widgets.resource
    made = await client.apply(resource, widgets.new("a", size=1), namespace, manager="one")
    assert made["spec"]["colour"] == "blue"
    assert fields_of(made, "one") == {"f:spec": {"f:size": {}}}
    wish = {"metadata": {"name": "a"}, "spec": {"size": 1, "colour": "red"}}
    painted = await client.apply(resource, wish, namespace, manager="two")
    assert painted["spec"]["colour"] == "red"
    unpainted = await client.apply(resource, widgets.new("a", size=1), namespace, manager="two")
    assert unpainted["spec"]["colour"] == "blue"


async def test_ownership_of_labels_and_finalizers_is_item_by_item(
    client: Client, namespace: str
) -> None:
    def wish(label: str, finalizer: str) -> Object:
        metadata = {"name": "a", "labels": {label: "v"}, "finalizers": [f"example.com/{finalizer}"]}
        return {"metadata": metadata}

    await client.apply(CONFIG_MAPS, wish("one", "one"), namespace, manager="one")
    both = await client.apply(CONFIG_MAPS, wish("two", "two"), namespace, manager="two")
    assert both["metadata"]["labels"] == {"one": "v", "two": "v"}
    assert both["metadata"]["finalizers"] == ["example.com/one", "example.com/two"]
    bare = {"metadata": {"name": "a"}}
    for manager in ("one", "two"):
        left = await client.apply(CONFIG_MAPS, bare, namespace, manager=manager)
    assert "finalizers" not in left["metadata"]
    assert "labels" not in left["metadata"]
