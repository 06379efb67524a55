from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead_sim.patch import PatchError, schema_list_types
from fairlead_sim.patch.fields import FieldSet, print_path
from fairlead_sim.patch.typed import ABSENT, compare, field_set, merge, remove

_ELEMENTS = st.sampled_from(
    ["f:a", "f:b", 'k:{"name":"x"}', 'k:{"name":"y","port":1}', 'v:"s"', "v:1", "v:true"]
)
_PATHS = st.lists(st.lists(_ELEMENTS, min_size=1, max_size=4).map(tuple), max_size=6)
_SETS = _PATHS.map(lambda paths: FieldSet.of(*paths))

_VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "a"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(st.sampled_from("abc"), _VALUES, max_size=3)
_SHAPE = schema_list_types(None).root


@given(_SETS)
def test_a_set_survives_being_written_and_read(fields: FieldSet) -> None:
    assert FieldSet.from_fields(fields.to_fields()) == fields


@given(_SETS, _SETS)
def test_difference_and_intersection_make_up_the_set(left: FieldSet, right: FieldSet) -> None:
    assert (left - right) | (left & right) == left
    assert not (left - right) & right
    assert left | right == right | left


@given(_OBJECTS, _OBJECTS)
def test_what_a_merge_changed_is_what_the_patch_said(left: Any, right: Any) -> None:
    merged = merge(left, right, _SHAPE)
    if merged is ABSENT:
        merged = {}
    change = compare(left, merged, _SHAPE)
    assert not change.removed & field_set(right, _SHAPE)
    assert not compare(merged, merged, _SHAPE).written()


@given(_OBJECTS)
def test_removing_everything_leaves_nothing(value: Any) -> None:
    assert not remove(value, field_set(value, _SHAPE).with_named(_SHAPE), _SHAPE)


def test_elements_are_in_the_order_of_the_api_server() -> None:
    fields = FieldSet.of(
        ('v:"a"',),
        ("v:10",),
        ("v:9",),
        ('k:{"name":"b"}',),
        ('k:{"name":"a"}',),
        ("f:z",),
        ("f:a",),
    )
    assert list(fields.to_fields()) == [
        "f:a",
        "f:z",
        'k:{"name":"a"}',
        'k:{"name":"b"}',
        "v:9",
        "v:10",
        'v:"a"',
    ]


def test_a_member_with_members_below_it_says_so_by_a_dot() -> None:
    fields = FieldSet.of(("f:a",), ("f:a", "f:b"), ("f:c", "f:d"))
    assert fields.to_fields() == {"f:a": {".": {}, "f:b": {}}, "f:c": {"f:d": {}}}


def test_a_path_prints_as_kubectl_shows_it() -> None:
    path = ("f:spec", "f:ports", 'k:{"port":80,"protocol":"TCP"}', "f:tags", 'v:"x"')
    assert print_path(path) == '.spec.ports[port=80,protocol="TCP"].tags[="x"]'


@pytest.mark.parametrize("fields", [[], "x", {"k:{": {}}, {"f:a": 1}])
def test_what_is_no_field_set_is_refused(fields: Any) -> None:
    with pytest.raises(PatchError):
        FieldSet.from_fields(fields)


def test_true_is_not_one() -> None:
    assert compare({"a": True}, {"a": 1}, _SHAPE).modified
    assert not compare({"a": 1}, {"a": 1.0}, _SHAPE).modified
