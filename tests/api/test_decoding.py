from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from fairlead.api.cluster_registry import ClusterRegistry
from fairlead.api.kinds import kinds
from fairlead.api.meta import InvalidObject, ObjectMeta, decode, encode
from fairlead.errors import Terminal


def seed() -> dict[str, Any]:
    return {
        "apiVersion": "ramendr.openshift.io/v1alpha1",
        "kind": "ClusterRegistry",
        "metadata": {"name": "dr-clusters", "managedFields": [{"manager": "kubectl"}]},
        "spec": {
            "clusters": [
                {
                    "name": "cluster-1",
                    "region": "us-east-1",
                    "kubeconfigSecret": "cluster-1-kubeconfig",
                    "endpoint": "https://api.cluster-1.example.com:6443",
                    "status": "Available",
                }
            ]
        },
    }


def test_the_registry_of_the_seed_decodes_and_fields_nobody_knows_are_ignored() -> None:
    registry = decode(seed() | {"unheardOf": 1}, ClusterRegistry)

    assert registry.spec is not None
    assert registry.spec.clusters is not None
    cluster = registry.spec.clusters[0]
    assert cluster.kubeconfig_secret == "cluster-1-kubeconfig"
    assert cluster.weight is None


def test_encoding_leaves_out_what_was_not_given() -> None:
    plain = encode(decode(seed(), ClusterRegistry))

    assert plain["metadata"] == {"name": "dr-clusters"}
    assert plain["spec"] == seed()["spec"]
    assert "status" not in plain


@pytest.mark.parametrize(
    "change, path",
    [
        ({"name": 7}, "spec.clusters[0].name"),
        ({"name": "Not A Name"}, "spec.clusters[0].name"),
        ({"weight": -1}, "spec.clusters[0].weight"),
        ({"status": "Perhaps"}, "spec.clusters[0].status"),
        ({"healthCheck": {"interval": "soon"}}, "spec.clusters[0].healthCheck.interval"),
    ],
)
def test_a_mismatch_names_the_object_and_the_field(change: dict[str, Any], path: str) -> None:
    bad = seed()
    bad["spec"]["clusters"][0] |= change

    with pytest.raises(InvalidObject) as caught:
        decode(bad, ClusterRegistry)

    assert caught.value.path == path
    assert str(caught.value).startswith(f"ClusterRegistry dr-clusters: {path}: ")
    assert isinstance(caught.value, Terminal)
    assert isinstance(caught.value.__cause__, msgspec.ValidationError)


@pytest.mark.parametrize("junk", [None, 7, "text", [], {"metadata": 3}, {"metadata": {"name": 3}}])
def test_something_that_is_no_object_is_an_invalid_object(junk: Any) -> None:
    if junk is None or not isinstance(junk, dict):
        with pytest.raises(InvalidObject):
            decode(junk, ClusterRegistry)
    else:
        with pytest.raises(InvalidObject, match="metadata"):
            decode(junk, ClusterRegistry)


def test_times_are_read_from_and_written_as_rfc3339_in_utc() -> None:
    meta = decode({"creationTimestamp": "2024-01-02T03:04:05Z"}, ObjectMeta)

    assert meta.creation_timestamp == datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert encode(meta) == {"creationTimestamp": "2024-01-02T03:04:05Z"}


def structs_of(struct: type[msgspec.Struct]) -> set[type[msgspec.Struct]]:
    found: set[type[msgspec.Struct]] = set()

    def visit(node: Any) -> None:
        if isinstance(node, msgspec.inspect.StructType):
            if node.cls in found:
                return
            found.add(node.cls)
            for field in node.fields:
                visit(field.type)
        for part in ("type", "item_type", "value_type"):
            if hasattr(node, part):
                visit(getattr(node, part))
        for member in getattr(node, "types", ()):
            visit(member)

    visit(msgspec.inspect.type_info(struct))
    return found


def test_no_field_of_our_kinds_has_another_default_than_none() -> None:
    """Server-side apply would give up a field that equals its default."""
    structs = {struct for kind in kinds() for struct in structs_of(kind.struct)}

    assert len(structs) > 5
    for struct in structs:
        config = struct.__struct_config__
        assert config.frozen
        assert config.omit_defaults
        for field in msgspec.structs.fields(struct):
            assert field.default is None, f"{struct.__name__}.{field.name}"
        with pytest.raises(TypeError):
            struct("positional")
