"""How a stored record looks as one served kind: the same bytes with another head for most, a
conversion for events, which are stored once and served in two groups."""

from __future__ import annotations

from fairlead_sim.kinds.catalogue import Kind, Object
from fairlead_sim.objects.storage import Record, encode_tail

_EVENTS_GROUP = "events.k8s.io"
# core/v1 name -> events.k8s.io/v1 name, for fields that are only called differently.
_EVENT_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_CORE_NAMES = {new: old for old, new in _EVENT_NAMES.items()}


def _renamed(obj: Object, names: dict[str, str], api_version: str) -> Object:
    renamed = {names.get(name, name): value for name, value in obj.items()}
    renamed["apiVersion"] = api_version
    return renamed


def object_of(kind: Kind, record: Record) -> Object:
    """The object as this kind; shares its parts with the stored one, so do not change it."""
    obj = record.object
    if kind.group == _EVENTS_GROUP:
        return _renamed(obj, _EVENT_NAMES, kind.api_version)
    if obj.get("apiVersion") == kind.api_version:
        return obj
    return {**obj, "apiVersion": kind.api_version}


def stored_form(kind: Kind, obj: Object) -> Object:
    """The inverse: what a client sent as this kind, as it is stored."""
    if kind.group == _EVENTS_GROUP:
        return _renamed(obj, _CORE_NAMES, "v1")
    return obj


def tail(kind: Kind, record: Record) -> bytes:
    if kind.group == _EVENTS_GROUP:
        return encode_tail(object_of(kind, record))
    return record.tail


def encode(kind: Kind, record: Record) -> bytes:
    return kind.head + tail(kind, record)


def encode_item(kind: Kind, record: Record) -> bytes:
    return kind.item_head + tail(kind, record)


def partial_metadata(obj: Object, version: str = "v1") -> Object:
    """PartialObjectMetadata: only the metadata, as garbage collectors and caches ask for it."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": obj["metadata"],
    }
