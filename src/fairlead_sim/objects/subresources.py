"""Subresources that are requests of their own: scale, service account tokens, eviction, binding.
The status and finalize subresources are ordinary writes and handled with those."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import msgspec

from fairlead_sim import answers
from fairlead_sim.authorization import Tokens, service_account_user
from fairlead_sim.display.views import object_of
from fairlead_sim.kinds.catalogue import Kind, Object
from fairlead_sim.objects.deleting import Deleter, parse_options
from fairlead_sim.objects.metadata import timestamp
from fairlead_sim.objects.patching import APPLY, check_patch, patch_function
from fairlead_sim.objects.scale import scale_of, scaled
from fairlead_sim.objects.storage import clone
from fairlead_sim.objects.writing import Writer
from fairlead_sim.patch import apply_merge_patch
from fairlead_sim.serving.calls import Answer, Call, read_object, write_options

_DEFAULT_SECONDS = 3600
_SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


class Subresources:
    """Answers by name."""

    def __init__(
        self, writer: Writer, deleter: Deleter, tokens: Tokens, clock: Callable[[], datetime]
    ) -> None:
        self._writer = writer
        self._store = writer.store
        self._deleter = deleter
        self._tokens = tokens
        self._clock = clock
        self._created: dict[str, Callable[[Kind, Call], Answer]] = {
            "token": self._issue_token,
            "eviction": self._evict,
            "binding": self._bind,
        }

    def serve(self, kind: Kind, call: Call) -> Answer:
        name = call.target.subresource
        if name == "scale":
            return self._scale(kind, call)
        if call.method != "POST":
            raise answers.method_not_allowed()
        return self._created[name](kind, call)

    def _scale(self, kind: Kind, call: Call) -> Answer:
        if call.verb == "get":
            record = self._store.get(kind.storage, call.key)
            if record is None:
                raise answers.not_found(kind, call.target.name)
        else:
            change = self._scale_change(kind, call)
            record = self._writer.change(kind, call.key, "scale", change, write_options(call))
        return Answer(msgspec.json.encode(scale_of(kind, object_of(kind, record))))

    def _scale_change(self, kind: Kind, call: Call) -> Callable[[Object], Any]:
        if call.verb == "update":
            wanted = read_object(call)
            return lambda obj: scaled(kind, obj, wanted)
        if call.verb != "patch":
            raise answers.method_not_allowed()
        check_patch(kind, call)
        if call.media_type == APPLY:
            applied = read_object(call)
            return lambda obj: scaled(kind, obj, apply_merge_patch(scale_of(kind, obj), applied))
        patch = patch_function(kind, call)
        return lambda obj: scaled(kind, obj, patch(scale_of(kind, obj)))

    def _issue_token(self, kind: Kind, call: Call) -> Answer:
        record = self._store.get(kind.storage, call.key)
        if record is None:
            raise answers.not_found(kind, call.target.name)
        spec = read_object(call).get("spec") or {}
        seconds = spec.get("expirationSeconds") if isinstance(spec, dict) else None
        seconds = seconds if isinstance(seconds, int) and seconds > 0 else _DEFAULT_SECONDS
        user = service_account_user(call.target.namespace, call.target.name, record.uid)
        expires = timestamp(self._clock() + timedelta(seconds=seconds))
        made = {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"name": call.target.name, "namespace": call.target.namespace},
            "spec": {**spec, "expirationSeconds": seconds},
            "status": {"token": self._tokens.issue(user), "expirationTimestamp": expires},
        }
        return Answer(msgspec.json.encode(made), 201)

    def _evict(self, kind: Kind, call: Call) -> Answer:
        request = parse_options(read_object(call).get("deleteOptions"), {})
        self._deleter.delete(kind, call.key, request, write_options(call))
        return Answer(msgspec.json.encode(_SUCCESS), 201)

    def _bind(self, kind: Kind, call: Call) -> Answer:
        target = read_object(call).get("target")
        node = target.get("name") if isinstance(target, dict) else None
        if not isinstance(node, str):
            raise answers.bad_request("the target of a Binding must name a node")

        def change(obj: Object) -> Object:
            obj = clone(obj)
            obj["spec"]["nodeName"] = node
            return obj

        self._writer.change(kind, call.key, "", change, write_options(call))
        return Answer(msgspec.json.encode(_SUCCESS), 201)
