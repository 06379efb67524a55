"""PATCH requests: which of the four kinds of patch a body is, and what it does to an object. Knows
nothing of HTTP beyond the media type's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead_sim import answers
from fairlead_sim.controllers.crds import is_terminating
from fairlead_sim.kinds.catalogue import Kind, Object
from fairlead_sim.objects.applying import Applier
from fairlead_sim.objects.storage import Record
from fairlead_sim.objects.writing import Writer
from fairlead_sim.patch import apply_json_patch, apply_merge_patch, apply_strategic_patch
from fairlead_sim.serving.calls import Call, read_object, write_options
from fairlead_sim.serving.negotiation import read_patch

APPLY = "application/apply-patch+yaml"
_JSON = "application/json-patch+json"
_MERGE = "application/merge-patch+json"
_STRATEGIC = "application/strategic-merge-patch+json"


class Patcher:
    """Applies patches through a Writer."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._applier = Applier(writer)

    def patch(self, kind: Kind, call: Call) -> tuple[Record, bool]:
        """The flag tells whether the object was created by it, which only apply does."""
        key, subresource = call.key, call.target.subresource
        check_patch(kind, call)
        if call.media_type != APPLY:
            change = patch_function(kind, call)
            options = write_options(call)
            return self._writer.change(kind, key, subresource, change, options), False
        absent = self._writer.store.get(kind.storage, key) is None
        if absent and is_terminating(self._writer.store, kind):
            raise answers.method_not_allowed()
        applied = read_object(call, kind)
        return self._applier.apply(kind, key, subresource, applied, write_options(call))


def check_patch(kind: Kind, call: Call) -> None:
    """A media type the kind takes, and options that go with it."""
    media_type = call.media_type
    if media_type not in (_JSON, _MERGE, _STRATEGIC, APPLY):
        raise answers.unsupported_patch()
    if kind.custom and media_type == _STRATEGIC:
        raise answers.unsupported_media_type(media_type, (_JSON, _MERGE, APPLY))
    if media_type == APPLY and not call.query.get("fieldManager"):
        message = "Required value: is required for apply patch"
        raise call.options_refused("fieldManager", "FieldValueRequired", message)
    if media_type != APPLY and call.query.get("force"):
        message = "Forbidden: may not be specified for non-apply patch"
        raise call.options_refused("force", "FieldValueForbidden", message)


def patch_function(kind: Kind, call: Call) -> Callable[[Object], Any]:
    """What a patch other than apply makes of an object."""
    patch = read_patch(call.body)
    if call.media_type == _JSON:
        if not isinstance(patch, list):
            raise answers.bad_request("error decoding patch: it is not an array of operations")
        return lambda obj: apply_json_patch(obj, patch)
    if not isinstance(patch, dict):
        raise answers.bad_request("error decoding patch: it is not an object")
    if call.media_type == _MERGE:
        return lambda obj: apply_merge_patch(obj, patch)
    return lambda obj: apply_strategic_patch(obj, patch, kind.list_types)
