"""Creating and changing objects: from a received object to a stored record, in the order
kube-apiserver works: metadata, what the endpoint lets through, defaults, validation, field
ownership, what only the server sets, admission, storage. Knows nothing of HTTP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fairlead_sim import answers
from fairlead_sim.display.views import object_of, stored_form
from fairlead_sim.kinds import builtin_rules
from fairlead_sim.kinds.catalogue import Kind, Object
from fairlead_sim.objects import metadata
from fairlead_sim.objects.storage import Key, Record, Store, clone, encode_tail, make_record
from fairlead_sim.patch import PatchError, track_update
from fairlead_sim.schema import FieldError
from fairlead_sim.serving.received import WriteOptions, check_name, check_namespace, received

NAMESPACES = ("", "namespaces")
_NAME_TRIES = 8


@dataclass(frozen=True, slots=True)
class Attempt:
    """A write that is about to happen, for admission to judge."""

    operation: str  # CREATE, UPDATE, DELETE
    kind: Kind
    key: Key
    subresource: str
    object: Object | None
    old: Object | None
    options: WriteOptions


Admit = Callable[[Attempt], None]
"""Raises a Refusal, or adds warnings to the attempt's options."""
Prepare = Callable[[Object, Object | None], list[FieldError]]
"""Defaults and checks of a kind that means something to the server itself."""
Change = Callable[[Object], Any]


class Writer:
    """The one way objects enter the store."""

    def __init__(self, store: Store, clock: Callable[[], datetime], admit: Admit) -> None:
        self.store = store
        self._clock = clock
        self._admit = admit
        self.special: dict[tuple[str, str], Prepare] = {}

    def now(self) -> str:
        return metadata.timestamp(self._clock())

    # ---- create

    def create(
        self,
        kind: Kind,
        namespace: str,
        obj: Object,
        options: WriteOptions,
        *,
        applied: bool = False,
    ) -> Record:
        """`applied`: `obj` comes from a server-side apply and already names its field owners."""
        obj = received(kind, obj, options)
        meta = obj["metadata"]
        check_namespace(kind, meta, namespace)
        options.warnings += metadata.finalizer_warnings(kind, meta)
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = self._free_name(kind, namespace, meta["generateName"])
        if meta.pop("resourceVersion", "") not in ("", "0"):
            raise answers.unspecified("resourceVersion should not be set on objects to be created")
        self._require_namespace(kind, namespace, meta.get("name", ""))
        self._brand(kind, meta)
        if kind.has_status:
            obj.pop("status", None)
        self._complete(kind, obj, None)
        key = (meta.get("namespace") or "", meta["name"])
        if self.store.get(kind.storage, key) is not None:
            raise answers.already_exists(kind, meta["name"])
        if not applied:
            obj = self._tracked(kind, None, obj, "", options)
        builtin_rules.finish(kind, obj)
        self._admit(Attempt("CREATE", kind, key, "", obj, None, options))
        if options.dry_run:
            return _unsaved(kind, obj, 0)
        return self.store.put(kind.storage, stored_form(kind, obj))

    def _free_name(self, kind: Kind, namespace: str, prefix: str) -> str:
        for _ in range(_NAME_TRIES):
            name = metadata.generated_name(prefix)
            if self.store.get(kind.storage, (namespace, name)) is None:
                return name
        raise answers.already_exists(kind, prefix)

    def _require_namespace(self, kind: Kind, namespace: str, name: str) -> None:
        if not kind.namespaced:
            return
        found = self.store.get(NAMESPACES, ("", namespace))
        if found is None:
            raise answers.namespace_not_found(namespace)
        if found.object["metadata"].get("deletionTimestamp"):
            raise answers.namespace_terminating(kind, name, namespace)

    def _brand(self, kind: Kind, meta: Object) -> None:
        for name in metadata.SYSTEM_FIELDS:
            meta.pop(name, None)
        meta["uid"] = metadata.new_uid()
        meta["creationTimestamp"] = self.now()
        if kind.tracks_generation:
            meta["generation"] = 1

    # ---- update

    def replace(
        self, kind: Kind, key: Key, subresource: str, obj: Object, options: WriteOptions
    ) -> tuple[Record, bool]:
        """PUT. The flag tells whether the object was created by it."""
        old = self.store.get(kind.storage, key)
        if old is None:
            check_name(obj, key)
            if not kind.create_on_update or subresource:
                raise answers.not_found(kind, key[1])
            self._refuse_preconditions(kind, key, obj)
            return self.create(kind, key[0], obj, options), True
        obj = received(kind, obj, options)
        check_name(obj, key)
        check_namespace(kind, obj["metadata"], key[0])
        uid = obj["metadata"].get("uid")
        if uid and uid != old.uid:
            raise answers.conflict(kind, key[1], uid_mismatch(uid, old.uid))
        if not obj["metadata"].get("resourceVersion") and not kind.unconditional_update:
            raise answers.unconditional_update(kind, key[1])
        return self.update(kind, old, obj, subresource, options), False

    def _refuse_preconditions(self, kind: Kind, key: Key, obj: Object) -> None:
        meta = obj.get("metadata") or {}
        if meta.get("uid"):
            raise answers.conflict(kind, key[1], uid_mismatch(meta["uid"], ""))
        if meta.get("resourceVersion"):
            raise answers.not_found(kind, key[1])

    def change(
        self, kind: Kind, key: Key, subresource: str, change: Change, options: WriteOptions
    ) -> Record:
        """PATCH other than apply: `change` computes the new object from the present one."""
        old = self.store.get(kind.storage, key)
        if old is None:
            raise answers.not_found(kind, key[1])
        try:
            obj = change(object_of(kind, old))
        except PatchError as error:
            if error.code == 422:
                raise answers.rejected_patch() from error
            raise answers.bad_request(str(error)) from error
        if not isinstance(obj, dict):
            raise answers.rejected_patch()
        obj = received(kind, obj, options, patched=True)
        check_name(obj, key)
        check_namespace(kind, obj["metadata"], key[0])
        return self.update(kind, old, obj, subresource, options)

    def update(
        self,
        kind: Kind,
        old: Record,
        obj: Object,
        subresource: str,
        options: WriteOptions,
        *,
        applied: bool = False,
    ) -> Record:
        """`obj` belongs to this method; its resourceVersion is a precondition."""
        before = object_of(kind, old)
        meta = obj["metadata"]
        if meta.get("resourceVersion", "0") not in ("0", "", str(old.revision)):
            raise answers.conflict(kind, old.key[1])
        errors = metadata.new_uid_errors(before["metadata"], meta)
        obj = _let_through(kind, before, obj, subresource)
        errors += metadata.new_finalizer_errors(before["metadata"], obj["metadata"])
        if errors:
            raise answers.invalid(kind, old.key[1], errors)
        self._complete(kind, obj, before, subresource)
        _count_generation(kind, before, obj)
        if not applied:
            if _same(before, obj):
                return old
            obj = self._tracked(kind, before, obj, subresource, options)
        elif _same_with_owners(before, obj):
            return old
        self._admit(Attempt("UPDATE", kind, old.key, subresource, obj, before, options))
        if options.dry_run:
            return _unsaved(kind, obj, old.revision)
        if is_finished(kind, obj):
            return self.store.remove(kind.storage, old.key, stored_form(kind, obj))
        return self.store.put(kind.storage, stored_form(kind, obj))

    # ---- shared

    def _complete(self, kind: Kind, obj: Object, old: Object | None, subresource: str = "") -> None:
        """Defaults and validation."""
        errors = metadata.validate(kind, obj["metadata"])
        if kind.custom:
            kind.custom.schema.default(obj)
            errors += kind.custom.schema.validate(obj, old)
        elif subresource in ("", "scale"):
            if special := self.special.get((kind.group, kind.kind)):
                errors += special(obj, old)
            errors += builtin_rules.prepare(kind, obj, old)
        if errors:
            raise answers.invalid(kind, obj["metadata"].get("name", ""), errors)

    def _tracked(
        self, kind: Kind, old: Object | None, obj: Object, subresource: str, options: WriteOptions
    ) -> Object:
        return track_update(
            old,
            obj,
            manager=options.manager,
            subresource=subresource,
            api_version=kind.api_version,
            time=self.now(),
            lists=kind.list_types,
        )


def _let_through(kind: Kind, before: Object, obj: Object, subresource: str) -> Object:
    """What an endpoint may change: the status, the finalizers, or all but the status."""
    old_meta = before["metadata"]
    if subresource == "status":
        kept = dict(old_meta)
        if "managedFields" in obj["metadata"]:
            kept["managedFields"] = obj["metadata"]["managedFields"]
        merged = {name: value for name, value in before.items() if name != "status"}
        if obj.get("status") is not None:
            merged["status"] = obj["status"]
        return clone({**merged, "metadata": kept})
    if subresource == "finalize":
        finalizers = (obj.get("spec") or {}).get("finalizers")
        spec = {**before.get("spec", {}), "finalizers": finalizers}
        return clone({**before, "spec": spec})
    meta = obj["metadata"]
    for name in (*metadata.SYSTEM_FIELDS, "resourceVersion"):
        meta.pop(name, None)
        if name in old_meta:
            meta[name] = old_meta[name]
    if kind.has_status:
        obj.pop("status", None)
        if "status" in before:
            obj["status"] = clone(before["status"])
    return obj


def _unsaved(kind: Kind, obj: Object, revision: int) -> Record:
    """What a dry run answers: an update shows the present version, a creation none."""
    record = make_record(stored_form(kind, obj), revision)
    if not revision:
        del record.object["metadata"]["resourceVersion"]
        record.tail = encode_tail(record.object)
    return record


def uid_mismatch(wanted: str, found: str) -> str:
    return f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"


def is_finished(kind: Kind, obj: Object) -> bool:
    """Marked for deletion, and nothing holds it any more."""
    meta = obj["metadata"]
    if not meta.get("deletionTimestamp") or meta.get("finalizers"):
        return False
    return kind.storage != NAMESPACES or not (obj.get("spec") or {}).get("finalizers")


def _count_generation(kind: Kind, before: Object, obj: Object) -> None:
    """The generation grows with what is desired, not with metadata or status."""
    if kind.tracks_generation and _desired(kind, obj) != _desired(kind, before):
        obj["metadata"]["generation"] = before["metadata"].get("generation", 0) + 1


def _desired(kind: Kind, obj: Object) -> Object:
    ignored = {"apiVersion", "kind", "metadata"} | ({"status"} if kind.has_status else set())
    return {name: value for name, value in obj.items() if name not in ignored}


def _bare(obj: Object, *ignored: str) -> Object:
    meta = {k: v for k, v in obj["metadata"].items() if k not in ignored}
    return {**obj, "metadata": meta}


def _same(before: Object, obj: Object) -> bool:
    """Nothing changed, owners included: an absent managedFields keeps the old ones."""
    owners = obj["metadata"].get("managedFields")
    if owners is not None and owners != before["metadata"].get("managedFields"):
        return False
    ignored = ("managedFields", "resourceVersion")
    return _bare(before, *ignored) == _bare(obj, *ignored)


def _same_with_owners(before: Object, obj: Object) -> bool:
    return _bare(before, "resourceVersion") == _bare(obj, "resourceVersion")
