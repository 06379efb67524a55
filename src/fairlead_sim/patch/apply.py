"""Server-side apply and the bookkeeping of managedFields, as kube-apiserver's field manager
does them: pure functions from (live object, request) to the object to store. Knows nothing of
HTTP, defaulting, validation or storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairlead_sim.patch import last_applied
from fairlead_sim.patch.errors import ApplyConflict, PatchError
from fairlead_sim.patch.fields import FieldSet, Path, print_path
from fairlead_sim.patch.json_values import same
from fairlead_sim.patch.list_types import ListTypes
from fairlead_sim.patch.managers import Managed, Manager, Owned, capped, decode, encode
from fairlead_sim.patch.typed import Comparison, check_applied, compare, field_set, merge, remove

Object = dict[str, Any]

# Nobody owns these: the server sets them, or they name the object.
_UNTRACKED = FieldSet.of(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    ("f:metadata", "f:name"),
    ("f:metadata", "f:namespace"),
    ("f:metadata", "f:creationTimestamp"),
    ("f:metadata", "f:selfLink"),
    ("f:metadata", "f:uid"),
    ("f:metadata", "f:clusterName"),
    ("f:metadata", "f:generation"),
    ("f:metadata", "f:managedFields"),
    ("f:metadata", "f:resourceVersion"),
)


def server_side_apply(
    live: Object | None,
    applied: Object,
    *,
    manager: str,
    force: bool,
    api_version: str,
    subresource: str = "",
    time: str,
    lists: ListTypes,
) -> Object:
    """The merged object including `metadata.managedFields`; raises ApplyConflict or PatchError.

    Returns `live` itself (the very same object) when the apply changes nothing at all, so
    `result is live` means: no new resourceVersion, no event. `time` is RFC 3339 in whole seconds.
    What the endpoint does not write (status, or everything else) stays as it was. The caller
    defaults and validates the result. Arguments are never changed.
    """
    _check_request(applied, api_version, lists)
    request = _Request(manager, "Apply", api_version, subresource, time, lists)
    start = _unmanaged(lists.typed_form(live)) if live is not None else _empty(applied, lists)
    managed = decode((live or {}).get("metadata", {}).get("managedFields"))
    if not managed:
        first = _Request("before-first-apply", "Update", api_version, subresource, time, lists)
        managed = first.booked(_empty(applied, lists), start, managed)
    try:
        merged, managed = request.applied(start, applied, managed, force)
    except _Refused as refused:
        allowed = last_applied.allowed_conflicts(start, manager, api_version, lists)
        left = [(who, path) for who, path in refused.conflicts if path not in allowed]
        if left:
            raise ApplyConflict([(w.described(), print_path(p)) for w, p in left]) from None
        merged, managed = request.applied(start, applied, managed, force=True)
    merged = last_applied.refreshed(merged, applied, manager)
    for element in lists.reset_by(subresource).members:
        merged = _with_field_of(start, element.removeprefix("f:"), merged)
    return _settled(live, merged, managed, lists)


def track_update(
    old: Object | None,
    new: Object,
    *,
    manager: str,
    operation: str = "Update",
    subresource: str = "",
    api_version: str,
    time: str,
    lists: ListTypes,
) -> Object:
    """`new` with the managedFields that a create (old=None), update or patch leaves behind.

    Call it after defaulting, with uid, resourceVersion and so on carried over, with what the
    endpoint ignores (spec or status) kept from `old`, and before the server adds fields that the
    writer shall not own (clusterIP, the phase of a namespace). Never call it for a deletion.
    managedFields in `new`: absent keeps those of `old`; `[]` or `[{}]` clears them, and nothing is
    tracked until the next apply; anything else is the writer's edit of them. Returns `old` itself
    when nothing changed. Arguments are never changed.
    """
    managed = _live_or_requested(old, new, subresource)
    if managed or old is None:
        start = _empty(new, lists) if old is None else _unmanaged(lists.typed_form(old))
        request = _Request(manager, operation, api_version, subresource, time, lists)
        managed = request.booked(start, _unmanaged(lists.typed_form(new)), managed)
    return _settled(old, new, managed, lists)


class _Refused(Exception):
    def __init__(self, conflicts: list[tuple[Manager, Path]]) -> None:
        self.conflicts = conflicts
        super().__init__()


@dataclass(frozen=True, slots=True)
class _Request:
    """One write by one manager."""

    manager: str
    operation: str
    api_version: str
    subresource: str
    time: str
    lists: ListTypes

    @property
    def who(self) -> Manager:
        return Manager.of(self.manager, self.operation, self.api_version, self.subresource)

    def booked(self, old: Object, new: Object, managed: Managed) -> Managed:
        """Who owns what after a write that is not an apply."""
        change = self._compared(old, new)
        managed = _taken(managed, change)
        mine = change.written() - _UNTRACKED
        if mine:
            before = managed.get(self.who)
            fields = mine if before is None else mine | before.fields
            managed[self.who] = Owned(fields, self.api_version, self.time)
        return capped(managed)

    def applied(
        self, live: Object, config: Object, managed: Managed, force: bool
    ) -> tuple[Object, Managed]:
        """The merged object and who owns what; raises _Refused."""
        shape = self.lists.root
        merged: Object = merge(live, config, shape)
        owned = field_set(config, shape).without_trees(self.lists.reset_by(self.subresource))
        last = managed.get(self.who)
        last_time = None if last is None else last.time
        managed = {**managed, self.who: Owned(owned, self.api_version, last_time)}
        if last is not None and last.fields - owned:
            merged = self._pruned(merged, managed, last.fields)
        change = self._compared(live, merged)
        others = {who: entry for who, entry in managed.items() if who != self.who}
        if not force:
            _refuse_conflicts(others, change)
        out = _taken(others, change)
        if mine := owned - _UNTRACKED:
            time = last_time if same(live, merged) else self.time
            out[self.who] = Owned(mine, self.api_version, time)
        return merged, out

    def _compared(self, old: Object, new: Object) -> Comparison:
        change = compare(old, new, self.lists.root)
        reset = self.lists.reset_by(self.subresource)
        return Comparison(
            change.removed.without_trees(reset),
            change.modified.without_trees(reset),
            change.added.without_trees(reset),
        )

    def _pruned(self, merged: Object, managed: Managed, last: FieldSet) -> Object:
        """Without what this manager applied last time, not this time, and nobody else owns."""
        shape = self.lists.root
        last = last.with_named(shape)
        everything = field_set(merged, shape).with_named(shape)
        kept = field_set(remove(merged, last, shape) or {}, shape).with_named(shape)
        for entry in managed.values():
            kept = kept | entry.fields.with_named(shape)
        left = remove(merged, everything - kept, shape)
        left_set = field_set(left or {}, shape).with_named(shape)
        pruned: Object = remove(merged, (everything - left_set) & last, shape)
        return pruned


def _taken(managed: Managed, change: Comparison) -> Managed:
    """The entries of other managers without the fields that this change set or removed."""
    gone = change.written() | change.removed
    out = {}
    for who, entry in managed.items():
        if left := entry.fields - gone:
            out[who] = entry.having(left)
    return out


def _refuse_conflicts(others: Managed, change: Comparison) -> None:
    written = change.written()
    conflicts = [
        (who, path)
        for who in sorted(others, key=Manager.sort_key)
        for path in (others[who].fields & written).paths()
    ]
    if conflicts:
        raise _Refused(conflicts)


def _check_request(applied: Object, api_version: str, lists: ListTypes) -> None:
    group, _, version = str(applied.get("apiVersion", "")).rpartition("/")
    kind = f"{group}/{version}, Kind={applied.get('kind', '')}"
    if applied.get("apiVersion") != api_version:
        raise PatchError(f"invalid object type: {kind}", 400)
    metadata = applied.get("metadata", {})
    if metadata.get("managedFields") is not None:
        raise PatchError("metadata.managedFields must be nil", 400)
    try:
        check_applied(applied, lists.root)
    except PatchError as cause:
        name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}; {kind}"
        raise PatchError(f"failed to create typed patch object ({name}): {cause}", 500) from None


def _empty(obj: Object, lists: ListTypes) -> Object:
    """What the server compares a new object with."""
    return lists.typed_form({k: obj[k] for k in ("apiVersion", "kind") if k in obj})


def _unmanaged(obj: Object) -> Object:
    metadata = obj.get("metadata") or {}
    if "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {k: v for k, v in metadata.items() if k != "managedFields"}}


def _with_field_of(start: Object, name: str, obj: Object) -> Object:
    """`obj` with one top-level field as it was before; the endpoint does not write it."""
    kept = {name: start[name]} if name in start else {}
    return {**{k: v for k, v in obj.items() if k != name}, **kept}


def _live_or_requested(old: Object | None, new: Object, subresource: str) -> Managed:
    requested = new.get("metadata", {}).get("managedFields")
    before = (old or {}).get("metadata", {}).get("managedFields")
    if not subresource and requested is not None:
        if requested in ([], [{}]):
            return {}
        managed = _decoded_or_empty(requested)
        if managed:
            return managed
    return _decoded_or_empty(before)


def _decoded_or_empty(entries: Any) -> Managed:
    # The API server, too, forgets managedFields that it cannot read rather than failing a write.
    try:
        return decode(entries)
    except PatchError:
        return {}


def _settled(old: Object | None, new: Object, managed: Managed, lists: ListTypes) -> Object:
    """The object to store: `old` itself when only timestamps of managedFields would differ."""
    new = _unmanaged(lists.typed_form(new))
    entries = encode(managed)
    if old is not None and same(_unmanaged(lists.typed_form(old)), new):
        before = old.get("metadata", {}).get("managedFields") or []
        if same([_timeless(e) for e in before], [_timeless(e) for e in entries]):
            return old
    if entries:
        new = {**new, "metadata": {**new.get("metadata", {}), "managedFields": entries}}
    return new


def _timeless(entry: Object) -> Object:
    return {k: v for k, v in entry.items() if k != "time"}
