"""Deleting objects: preconditions, propagation, finalizers, and the marks that controllers act on
later. Knows nothing of HTTP and nothing of how dependents are found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from fairlead_sim import answers
from fairlead_sim.display.views import object_of
from fairlead_sim.kinds.catalogue import Kind, Object
from fairlead_sim.objects.storage import Key, Record, clone
from fairlead_sim.objects.writing import NAMESPACES, Attempt, Writer, is_finished
from fairlead_sim.schema import FieldError
from fairlead_sim.serving.received import WriteOptions

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
CRD_CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")
_PROTECTED = ("default", "kube-system", "kube-public")
_POLICIES = {"Foreground": FOREGROUND, "Orphan": ORPHAN, "Background": ""}


class Preconditions(msgspec.Struct):
    uid: str | None = None
    resourceVersion: str | None = None


class DeleteOptions(msgspec.Struct):
    """The body of a DELETE, as far as it matters here."""

    gracePeriodSeconds: int | None = None
    preconditions: Preconditions | None = None
    orphanDependents: bool | None = None
    propagationPolicy: str | None = None
    dryRun: list[str] | None = None


def parse_options(body: Any, query: dict[str, str]) -> DeleteOptions:
    """From the body, or from the query where there is no body."""
    raw = body if isinstance(body, dict) else {}
    if not raw:
        raw = {
            name: query[name]
            for name in ("propagationPolicy", "gracePeriodSeconds")
            if name in query
        }
    try:
        options = msgspec.convert(raw, DeleteOptions, strict=False)
    except msgspec.ValidationError as cause:
        raise answers.bad_request(f"cannot decode DeleteOptions: {cause}") from cause
    policy = options.propagationPolicy
    if policy is not None and policy not in _POLICIES:
        supported = '"Foreground", "Background", "Orphan", "nil"'
        message = f'Unsupported value: "{policy}": supported values: {supported}'
        error = FieldError("propagationPolicy", "FieldValueNotSupported", message)
        raise answers.invalid_options("DeleteOptions.meta.k8s.io", [error])
    return options


class Deleter:
    """The one way objects leave the store."""

    def __init__(self, writer: Writer, admit: Callable[[Attempt], None]) -> None:
        self._writer = writer
        self._store = writer.store
        self._admit = admit

    def delete(
        self, kind: Kind, key: Key, request: DeleteOptions, options: WriteOptions
    ) -> tuple[Record, bool]:
        """The last or present state, and whether the object is gone for good."""
        record = self._store.get(kind.storage, key)
        if record is None:
            raise answers.not_found(kind, key[1])
        self._check_preconditions(kind, record, request.preconditions)
        if kind.storage == NAMESPACES and key[1] in _PROTECTED:
            raise answers.forbidden_object(kind, key[1], "this namespace may not be deleted")
        old = object_of(kind, record)
        self._admit(Attempt("DELETE", kind, key, "", None, old, options))
        obj = self._marked(kind, old, request)
        if is_finished(kind, obj):
            return (record if options.dry_run else self._store.remove(kind.storage, key)), True
        if options.dry_run:
            return record, False
        if obj == old:
            return record, False
        return self._store.put(kind.storage, self._stored(kind, record, obj)), False

    def _stored(self, kind: Kind, record: Record, obj: Object) -> Object:
        # A mark touches nothing but what every form of an object has in common.
        return {**record.object, **{k: obj[k] for k in ("metadata", "status") if k in obj}}

    def _check_preconditions(
        self, kind: Kind, record: Record, wanted: Preconditions | None
    ) -> None:
        if wanted is None:
            return
        why = ""
        if wanted.uid is not None and wanted.uid != record.uid:
            why = (
                f"the UID in the precondition ({wanted.uid}) does not match the UID in record "
                f"({record.uid}). The object might have been deleted and then recreated"
            )
        elif wanted.resourceVersion is not None and wanted.resourceVersion != str(record.revision):
            why = (
                f"the ResourceVersion in the precondition ({wanted.resourceVersion}) does not "
                f"match the ResourceVersion in record ({record.revision}). The object might have "
                "been modified"
            )
        if why:
            qualified = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
            message = f'Operation cannot be fulfilled on {qualified} "{record.key[1]}": {why}'
            details = {"name": record.key[1], "kind": kind.kind}
            if kind.group:
                details["group"] = kind.group
            raise answers.Refusal(409, "Conflict", message, details)

    def _marked(self, kind: Kind, old: Object, request: DeleteOptions) -> Object:
        obj = clone(old)
        meta = obj["metadata"]
        finalizers = propagation_finalizers(meta.get("finalizers") or [], request)
        if kind.storage == DEFINITIONS and CRD_CLEANUP not in finalizers:
            finalizers.append(CRD_CLEANUP)
        if finalizers:
            meta["finalizers"] = finalizers
        else:
            meta.pop("finalizers", None)
        if not meta.get("deletionTimestamp"):
            meta["deletionTimestamp"] = self._writer.now()
            if kind.storage == NAMESPACES:
                obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}
            elif kind.storage == DEFINITIONS:
                _announce_end(obj, self._writer.now())
            else:
                meta["deletionGracePeriodSeconds"] = 0
                if "generation" in meta:
                    meta["generation"] += 1
        return obj


def _announce_end(definition: Object, now: str) -> None:
    message = (
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    )
    condition = {
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "InstanceDeletionPending",
        "message": message,
    }
    status = definition.setdefault("status", {})
    status["conditions"] = [*(status.get("conditions") or ()), condition]


def propagation_finalizers(present: list[str], request: DeleteOptions) -> list[str]:
    policy = request.propagationPolicy
    if policy is None and request.orphanDependents is not None:
        policy = "Orphan" if request.orphanDependents else "Background"
    if policy is None:
        return list(present)
    kept = [each for each in present if each not in (FOREGROUND, ORPHAN)]
    wanted = _POLICIES[policy]
    return [*kept, wanted] if wanted else kept
