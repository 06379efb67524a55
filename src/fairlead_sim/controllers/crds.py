"""The controller of custom resource definitions: keeps the catalogue equal to what is stored,
writes their status, and empties deleted ones. What a definition means is decided elsewhere."""

from __future__ import annotations

from fairlead_sim.answers import Refusal
from fairlead_sim.kinds.builtin_rules.field_errors import Errors, required
from fairlead_sim.kinds.catalogue import Catalogue, Kind, Object, StorageKey
from fairlead_sim.kinds.definitions import fill_in, kinds_of, problems, stored_versions
from fairlead_sim.objects.deleting import CRD_CLEANUP, DEFINITIONS, DeleteOptions, Deleter
from fairlead_sim.objects.storage import Event, Record, Store, clone
from fairlead_sim.objects.writing import Writer
from fairlead_sim.serving.received import WriteOptions


class DefinitionController:
    """Keeps the catalogue equal to the stored definitions, and empties deleted ones."""

    def __init__(
        self, catalogue: Catalogue, writer: Writer, deleter: Deleter, options: WriteOptions
    ) -> None:
        self._catalogue = catalogue
        self._writer = writer
        self._store = writer.store
        self._deleter = deleter
        self._options = options
        self._served: dict[str, list[Kind]] = {}
        writer.special["apiextensions.k8s.io", "CustomResourceDefinition"] = self.prepare

    # ---- the definition as an object

    def prepare(self, obj: Object, old: Object | None) -> Errors:
        """Defaults and validation; whether its names are accepted turns out a moment later."""
        spec = obj.get("spec")
        if not isinstance(spec, dict):
            return [required("spec")]
        try:
            fill_in(spec)
            errors = problems(obj, spec, old)
        except (AttributeError, TypeError, KeyError) as error:
            # A definition has no schema here; kube-apiserver's decoder answers this with a 400.
            raise Refusal(
                400,
                "BadRequest",
                'CustomResourceDefinition in version "v1" cannot be handled as a '
                "CustomResourceDefinition: json: cannot unmarshal a field of the wrong type",
            ) from error
        if not errors:
            obj["status"] = stored_versions(spec, (old or {}).get("status"))
        return errors

    def _status(self, obj: Object, spec: Object, before: Object) -> Object:
        clash = self._clash(obj["metadata"]["name"], spec)
        now = self._writer.now()
        present = {each["type"]: each for each in before.get("conditions") or ()}

        def condition(kind: str, good: bool, reason: str, message: str) -> Object:
            status = "True" if good else "False"
            old = present.get(kind, {})
            since = old.get("lastTransitionTime", now) if old.get("status") == status else now
            return {
                "type": kind, "status": status, "lastTransitionTime": since,
                "reason": reason, "message": message,
            }  # fmt: skip

        accepted = condition("NamesAccepted", True, "NoConflicts", "no conflicts found")
        established = condition(
            "Established", True, "InitialNamesAccepted", "the initial names have been accepted"
        )
        names = dict(spec["names"])
        if clash:
            field, taken = clash
            reason = f"{field[0].upper()}{field[1:]}Conflict"
            accepted = condition("NamesAccepted", False, reason, f'"{taken}" is already in use')
            message = "not all names are accepted"
            established = condition("Established", False, "NotAccepted", message)
            names = {"plural": names["plural"], "kind": ""}
        kept = [each for each in present.values() if each["type"] == "Terminating"]
        return {**before, "conditions": [accepted, established, *kept], "acceptedNames": names}

    def _clash(self, name: str, spec: Object) -> tuple[str, str] | None:
        """The field and the name that another definition of the group already has."""
        names = spec["names"]
        for record in self._store.records(DEFINITIONS):
            other = record.object
            if record.key[1] == name or other["spec"]["group"] != spec["group"]:
                continue
            taken = (other.get("status") or {}).get("acceptedNames") or {}
            short = set(names.get("shortNames") or ()) & set(taken.get("shortNames") or ())
            if short:
                return "shortNames", min(short)
            for field in ("listKind", "kind", "singular"):
                if taken.get(field) and names.get(field) == taken[field]:
                    return field, names[field]
        return None

    # ---- the kinds it serves

    def follow(self, storage: StorageKey, event: Event) -> None:
        """After each change: definitions become kinds at once."""
        if storage != DEFINITIONS:
            return
        name = event.record.key[1]
        if event.type == "MODIFIED" and event.previous is not None:
            same = event.previous.object["spec"] == event.record.object["spec"]
            if same and self._served.get(name):
                return
        for kind in self._served.pop(name, ()):
            self._catalogue.remove(kind)
        if event.type != "DELETED":
            kinds = list(kinds_of(event.record.object))
            self._served[name] = kinds
            for kind in kinds:
                self._catalogue.add(kind)
                self._store.begin(kind.storage)

    # ---- what follows from its changes

    def touched(self, storage: StorageKey, event: Event) -> str | None:
        """The definition a change gives reason to look at."""
        if storage == DEFINITIONS:
            return event.record.key[1] if event.type != "DELETED" else None
        if event.type == "DELETED" and f"{storage[1]}.{storage[0]}" in self._served:
            return f"{storage[1]}.{storage[0]}"
        return None

    def process(self, name: str) -> None:
        record = self._store.get(DEFINITIONS, ("", name))
        if record is None:
            return
        if not record.object["metadata"].get("deletionTimestamp"):
            self._accept(record)
            return
        if CRD_CLEANUP not in (record.object["metadata"].get("finalizers") or ()):
            return
        if not self._delete_instances(record):
            self._release(record)

    def _accept(self, record: Record) -> None:
        """Write the status that two controllers of kube-apiserver write."""
        obj = record.object
        status = self._status(obj, obj["spec"], obj.get("status") or {})
        if status != obj.get("status"):
            kind = self._catalogue.of_resource(*DEFINITIONS)
            if kind is not None:
                self._writer.change(
                    kind,
                    record.key,
                    "status",
                    lambda obj: {**obj, "status": status},
                    WriteOptions(self._options.user, "kube-apiserver"),
                )

    def _delete_instances(self, record: Record) -> int:
        """How many instances are left after all were told to go."""
        kinds = self._served.get(record.key[1]) or list(kinds_of(record.object))
        if not kinds:
            return 0
        collection = self._store.collection(kinds[0].storage)
        for key in list(collection.keys()):
            if not collection.records[key].object["metadata"].get("deletionTimestamp"):
                try:
                    self._deleter.delete(kinds[0], key, DeleteOptions(), self._options)
                except Refusal:
                    # Refused by admission: it stays, and so does its definition.
                    continue
        return len(collection.records)

    def _release(self, record: Record) -> None:
        def change(obj: Object) -> Object:
            obj = clone(obj)
            meta = obj["metadata"]
            meta["finalizers"] = [each for each in meta["finalizers"] if each != CRD_CLEANUP]
            return obj

        kind = self._catalogue.of_resource(*DEFINITIONS)
        if kind is not None:
            self._writer.change(kind, record.key, "", change, self._options)


def is_terminating(store: Store, kind: Kind) -> bool:
    """No instance may be created while the definition goes away."""
    if kind.custom is None:
        return False
    record = store.get(DEFINITIONS, ("", kind.custom.definition))
    return record is not None and bool(record.object["metadata"].get("deletionTimestamp"))
