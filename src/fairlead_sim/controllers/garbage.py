"""The garbage collector: dependents of owners that are gone, foreground deletion and orphaning.
Works on whatever the store's changes point at, one object at a time; knows nothing of HTTP."""

from __future__ import annotations

from collections.abc import Callable

from fairlead_sim.answers import Refusal
from fairlead_sim.kinds.catalogue import Catalogue, Kind, Object, StorageKey
from fairlead_sim.objects.deleting import FOREGROUND, ORPHAN, DeleteOptions, Deleter
from fairlead_sim.objects.storage import Event, Key, Record, clone, owner_uids
from fairlead_sim.objects.writing import Writer
from fairlead_sim.serving.received import WriteOptions

Place = tuple[StorageKey, Key]


class GarbageCollector:
    """What kube-controller-manager's garbage collector does, at once instead of soon."""

    def __init__(
        self, catalogue: Catalogue, writer: Writer, deleter: Deleter, options: WriteOptions
    ) -> None:
        self._catalogue = catalogue
        self._writer = writer
        self._store = writer.store
        self._deleter = deleter
        self._options = options

    def touched(self, storage: StorageKey, event: Event) -> list[Place]:
        """Which objects a change gives reason to look at."""
        obj = event.record.object
        owners = owner_uids(obj)
        places = [place for uid in owners if (place := self._store.place_of(uid))]
        if event.type == "DELETED":
            return places + self._store.dependents(event.record.uid)
        meta = obj["metadata"]
        finalizers = meta.get("finalizers") or ()
        marked = meta.get("deletionTimestamp") and (
            FOREGROUND in finalizers or ORPHAN in finalizers
        )
        if marked:
            places += [(storage, event.record.key), *self._store.dependents(event.record.uid)]
        elif owners:
            places.append((storage, event.record.key))
        return places

    def process(self, place: Place) -> None:
        record = self._store.get(*place)
        kind = self._catalogue.of_resource(*place[0])
        if record is None or kind is None:
            return
        meta = record.object["metadata"]
        finalizers = meta.get("finalizers") or ()
        if meta.get("deletionTimestamp"):
            if ORPHAN in finalizers:
                self._orphan(kind, record)
            elif FOREGROUND in finalizers:
                self._finish_foreground(kind, record)
            return
        if meta.get("ownerReferences"):
            self._judge(kind, record)

    def _orphan(self, kind: Kind, record: Record) -> None:
        for place in self._store.dependents(record.uid):
            self._drop_owners(place, {record.uid})
        self._drop_finalizer(kind, record, ORPHAN)

    def _finish_foreground(self, kind: Kind, record: Record) -> None:
        for place in self._store.dependents(record.uid):
            dependent = self._store.get(*place)
            if dependent and _blocks(dependent.object, record.uid):
                return
        self._drop_finalizer(kind, record, FOREGROUND)

    def _judge(self, kind: Kind, record: Record) -> None:
        """Keep it while a living owner exists; otherwise delete it."""
        solid, dead, waiting = [], set(), set()
        for reference in record.object["metadata"]["ownerReferences"]:
            owner = self._owner(reference["uid"], record)
            if owner is None:
                dead.add(reference["uid"])
            elif self._is_waiting(owner):
                waiting.add(reference["uid"])
            else:
                solid.append(reference["uid"])
        if solid:
            if dead or waiting:
                self._drop_owners((kind.storage, record.key), dead | waiting)
            return
        policy = "Background"
        if waiting and self._store.dependents(record.uid):
            policy = "Foreground"
        self._delete(kind, record, policy)

    def _owner(self, uid: str, dependent: Record) -> Record | None:
        place = self._store.place_of(uid)
        if place is None or place[1][0] not in ("", dependent.key[0]):
            return None
        return self._store.get(*place)

    @staticmethod
    def _is_waiting(owner: Record) -> bool:
        meta = owner.object["metadata"]
        return bool(meta.get("deletionTimestamp")) and FOREGROUND in (meta.get("finalizers") or ())

    def _delete(self, kind: Kind, record: Record, policy: str) -> None:
        def delete() -> None:
            request = DeleteOptions(propagationPolicy=policy)
            self._deleter.delete(kind, record.key, request, self._options)

        _unless_refused(delete)

    def _drop_owners(self, place: Place, uids: set[str]) -> None:
        kind = self._catalogue.of_resource(*place[0])
        if kind is not None:

            def change(obj: Object) -> Object:
                obj = clone(obj)
                meta = obj["metadata"]
                kept = [each for each in meta["ownerReferences"] if each["uid"] not in uids]
                meta["ownerReferences"] = kept
                return obj

            self._change(kind, place[1], change)

    def _drop_finalizer(self, kind: Kind, record: Record, finalizer: str) -> None:
        def change(obj: Object) -> Object:
            obj = clone(obj)
            meta = obj["metadata"]
            meta["finalizers"] = [each for each in meta["finalizers"] if each != finalizer]
            return obj

        self._change(kind, record.key, change)

    def _change(self, kind: Kind, key: Key, change: Callable[[Object], Object]) -> None:
        _unless_refused(lambda: self._writer.change(kind, key, "", change, self._options))


def _unless_refused(action: Callable[[], object]) -> None:
    try:
        action()
    except Refusal:
        # Admission or validation may refuse what the collector wants; the object then stays, and
        # the next change to it or to its owner brings the collector back.
        return


def _blocks(obj: Object, uid: str) -> bool:
    return any(
        reference["uid"] == uid and reference.get("blockOwnerDeletion")
        for reference in obj["metadata"].get("ownerReferences") or ()
    )
