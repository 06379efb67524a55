"""The bridge from `kubectl apply` to `kubectl apply --server-side`: the annotation that client-
side apply leaves lets kubectl's first server-side apply take over without conflicts, and is
kept up to date afterwards. Only the manager named `kubectl` gets this."""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead_sim.patch.errors import PatchError
from fairlead_sim.patch.fields import FieldSet
from fairlead_sim.patch.json_values import go_json
from fairlead_sim.patch.list_types import ListTypes
from fairlead_sim.patch.typed import check_applied, compare, field_set

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
MAX_ANNOTATIONS = 256 * 1024

Object = dict[str, Any]


def allowed_conflicts(live: Object, manager: str, api_version: str, lists: ListTypes) -> FieldSet:
    """The fields that the last client-side apply set and that still have its values."""
    text = _annotations(live).get(ANNOTATION)
    if manager != "kubectl" or not text:
        return FieldSet()
    try:
        last = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return FieldSet()
    if not isinstance(last, dict) or last.get("apiVersion") != api_version:
        return FieldSet()
    try:
        check_applied(last, lists.root)
    except PatchError:
        return FieldSet()
    change = compare(last, live, lists.root)
    return field_set(last, lists.root) - change.written() - change.removed


def refreshed(merged: Object, applied: Object, manager: str) -> Object:
    """`merged` with the annotation, if it has one, telling what was applied now."""
    annotations = _annotations(merged)
    if manager != "kubectl" or not annotations.get(ANNOTATION):
        return merged
    config = applied
    if ANNOTATION in _annotations(applied):
        rest = {k: v for k, v in _annotations(applied).items() if k != ANNOTATION}
        config = {**applied, "metadata": {**applied["metadata"], "annotations": rest}}
    annotations = {**annotations, ANNOTATION: go_json(config) + "\n"}
    if sum(len(k.encode()) + len(v.encode()) for k, v in annotations.items()) > MAX_ANNOTATIONS:
        del annotations[ANNOTATION]
    return {**merged, "metadata": {**merged["metadata"], "annotations": annotations}}


def _annotations(obj: Object) -> dict[str, str]:
    return (obj.get("metadata") or {}).get("annotations") or {}
