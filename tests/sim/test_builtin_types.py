"""The table of built-in types: how it is made, and what it knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairlead_sim.kinds.builtin_kinds import builtin_kinds
from fairlead_sim.kinds.builtin_types import WrongType, drop_unknown
from fairlead_sim.kinds.builtin_types.shapes import message_of
from fairlead_sim.kinds.builtin_types.table import build_table

SOURCE = """
package v1

import (
\tmetav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type Color string

type Thing struct {
\tmetav1.TypeMeta `json:",inline"`
\t// Words.
\tSpec ThingSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

type ThingSpec struct {
\tShape `json:",inline" protobuf:"bytes,1,opt,name=shape"`
\tColor Color `json:"color" protobuf:"bytes,2,opt,name=color"`
\tSize *int32 `json:"size,omitempty" protobuf:"varint,3,opt,name=size"`
\tParts []ThingSpec `json:"parts,omitempty" protobuf:"bytes,4,rep,name=parts"`
\tNotes map[string]string `json:"notes,omitempty" protobuf:"bytes,5,rep,name=notes"`
\tHidden string `json:"-"`
}

type Shape struct {
\tSides int64 `json:"sides,omitempty" protobuf:"varint,1,opt,name=sides"`
}
"""


def test_the_table_is_made_from_go_sources(tmp_path: Path) -> None:
    file = tmp_path / "toys" / "v1" / "types.go"
    file.parent.mkdir(parents=True)
    file.write_text(SOURCE)
    table = build_table([file], {"toys/v1/Thing": "toys.v1.Thing"})
    assert table["kinds"]["toys/v1/Thing"] == "toys.v1.Thing"
    assert table["types"]["toys.v1.ThingSpec"] == {
        "+Shape": [1, "M:toys.v1.Shape"],
        "color": [2, "!s"],
        "size": [3, "*i"],
        "parts": [4, "[]M:toys.v1.ThingSpec"],
        "notes": [5, "{}s"],
    }


def test_a_kind_without_a_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no Go struct for a\.v1\.B"):
        build_table([], {"a/v1/B": "a.v1.B"})


def test_every_built_in_kind_is_described() -> None:
    missing = [kind.kind for kind in builtin_kinds() if not message_of(kind.api_version, kind.kind)]
    assert missing == []


def test_unknown_fields_are_dropped_wherever_they_are() -> None:
    obj: dict[str, Any] = {
        "kind": "Pod",
        "spec": {
            "typo": 1,
            "nodeName": None,
            "containers": [{"name": "c", "imagge": "x", "livenessProbe": {"exec": {}, "no": 1}}],
            "volumes": [{"name": "v", "configMap": {"name": "c"}}],
        },
    }
    dropped = drop_unknown("v1", "Pod", obj)
    assert dropped == [
        "spec.containers[0].imagge",
        "spec.containers[0].livenessProbe.no",
        "spec.typo",
    ]
    assert obj["spec"] == {
        "containers": [{"name": "c", "livenessProbe": {"exec": {}}}],
        "volumes": [{"name": "v", "configMap": {"name": "c"}}],
    }


@pytest.mark.parametrize(
    "spec,problem",
    [
        ("x", "cannot unmarshal string into Go struct field Deployment.spec"),
        ({"replicas": "x"}, "DeploymentSpec.spec.replicas of type int32"),
        ({"replicas": True}, "cannot unmarshal bool"),
        ({"paused": 1}, "of type bool"),
        ({"template": {"spec": {"containers": {}}}}, "of type []v1.Container"),
        ({"selector": {"matchLabels": {"a": 1}}}, "LabelSelector.spec.selector.matchLabels"),
    ],
)
def test_values_that_do_not_fit_are_named_in_gos_words(spec: Any, problem: str) -> None:
    with pytest.raises(WrongType) as raised:
        drop_unknown("apps/v1", "Deployment", {"spec": spec})
    assert problem in str(raised.value)
