"""Server-side apply: what is checked before fields are merged, and what becomes of the result. The
merging itself is a pure function elsewhere. Knows nothing of HTTP."""

from __future__ import annotations

from fairlead_sim import answers
from fairlead_sim.display.views import object_of
from fairlead_sim.kinds import builtin_rules
from fairlead_sim.kinds.catalogue import Kind, Object
from fairlead_sim.objects import metadata
from fairlead_sim.objects.storage import Key, Record, clone
from fairlead_sim.objects.writing import Writer
from fairlead_sim.patch import ApplyConflict, PatchError, server_side_apply
from fairlead_sim.serving.received import (
    WriteOptions,
    check_name,
    check_namespace,
    drop_undeclared,
    report_unknown,
)

_IDENTITY = ("name", "namespace", "uid", "resourceVersion")


class Applier:
    """Applies configurations through a Writer."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._store = writer.store

    def apply(
        self, kind: Kind, key: Key, subresource: str, applied: Object, options: WriteOptions
    ) -> tuple[Record, bool]:
        """The flag tells whether the object was created by it."""
        applied = _configuration(kind, key, subresource, applied, options)
        old = self._store.get(kind.storage, key)
        if old is None and subresource:
            raise answers.not_found(kind, key[1])
        self._check_preconditions(kind, key, applied["metadata"], old)
        live = object_of(kind, old) if old else None
        result = self._merge(kind, live, subresource, applied, options)
        if old is None:
            return self._writer.create(kind, key[0], result, options, applied=True), True
        if result is live:
            return old, False
        record = self._writer.update(kind, old, clone(result), subresource, options, applied=True)
        return record, False

    def _merge(
        self,
        kind: Kind,
        live: Object | None,
        subresource: str,
        applied: Object,
        options: WriteOptions,
    ) -> Object:
        try:
            return server_side_apply(
                live,
                applied,
                manager=options.manager,
                force=options.force,
                api_version=kind.api_version,
                subresource=subresource,
                time=self._writer.now(),
                lists=kind.list_types,
            )
        except ApplyConflict as error:
            raise answers.apply_conflict(str(error), error.causes()) from error
        except PatchError as error:
            raise answers.Refusal(error.code, "", str(error)) from error

    def _check_preconditions(self, kind: Kind, key: Key, meta: Object, old: Record | None) -> None:
        wanted = meta.get("resourceVersion")
        if wanted and (old is None or wanted != str(old.revision)):
            raise answers.conflict(kind, key[1])
        uid = meta.get("uid")
        if uid and old is None:
            why = (
                f"uid mismatch: the provided object specified uid {uid}, "
                "and no existing object was found"
            )
            raise answers.conflict(kind, key[1], why)


def _configuration(
    kind: Kind, key: Key, subresource: str, applied: Object, options: WriteOptions
) -> Object:
    """Our own copy of the applied configuration, reduced to what the endpoint takes."""
    _check_kind(kind, applied)
    applied = clone(applied)
    report_unknown(kind, metadata.check_types(kind, applied), options)
    meta = applied["metadata"]
    if meta.pop("managedFields", None):
        raise answers.bad_request("metadata.managedFields must be nil")
    check_name(applied, key)
    _refuse_undeclared(kind, applied)
    check_namespace(kind, meta, key[0])
    if subresource == "status":
        identity = {name: meta[name] for name in _IDENTITY if name in meta}
        kept: Object = {
            name: applied[name] for name in ("apiVersion", "kind", "status") if name in applied
        }
        return {**kept, "metadata": identity}
    if kind.has_status:
        applied.pop("status", None)
    if kind.storage == ("", "secrets"):
        builtin_rules.move_string_data(kind, applied)
    return applied


def _check_kind(kind: Kind, applied: Object) -> None:
    api_version, name = applied.get("apiVersion") or "", applied.get("kind") or ""
    if (api_version, name) != (kind.api_version, kind.kind):
        group, _, version = str(api_version).rpartition("/")
        raise answers.bad_request(f"invalid object type: {group}/{version}, Kind={name}")


def _refuse_undeclared(kind: Kind, applied: Object) -> None:
    dropped = drop_undeclared(kind, clone(applied))
    if dropped:
        meta = applied["metadata"]
        place = f"{meta.get('namespace', '')}/{meta['name']}"
        why = ", ".join(f".{each}: field not declared in schema" for each in dropped)
        identity = f"{place}; {kind.group}/{kind.version}, Kind={kind.kind}"
        raise answers.unspecified(f"failed to create typed patch object ({identity}): {why}")
