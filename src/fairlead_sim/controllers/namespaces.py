"""The life of a namespace: what is put into a new one, and how a deleted one is emptied before it
goes. Knows nothing of HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fairlead_sim.answers import Refusal
from fairlead_sim.kinds.catalogue import Catalogue, Kind, Object, StorageKey
from fairlead_sim.objects.deleting import DeleteOptions, Deleter
from fairlead_sim.objects.storage import Event, Record, clone
from fairlead_sim.objects.writing import NAMESPACES, Writer
from fairlead_sim.serving.received import WriteOptions

INITIAL = ("default", "kube-node-lease", "kube-public", "kube-system")
_FINALIZER = "kubernetes"
_FURNITURE = ("default", "kube-root-ca.crt")


class NamespaceController:
    """What kube-controller-manager does for namespaces, at once instead of soon."""

    def __init__(
        self,
        catalogue: Catalogue,
        writer: Writer,
        deleter: Deleter,
        options: WriteOptions,
        ca_pem: str,
    ) -> None:
        self._catalogue = catalogue
        self._writer = writer
        self._store = writer.store
        self._deleter = deleter
        self._options = options
        self._ca_pem = ca_pem

    def touched(self, storage: StorageKey, event: Event) -> str | None:
        """The namespace a change gives reason to look at."""
        if storage == NAMESPACES:
            return event.record.key[1] if event.type != "DELETED" else None
        namespace = event.record.key[0]
        if not namespace or event.type != "DELETED":
            return None
        if event.record.key[1] in _FURNITURE:
            return namespace
        found = self._store.get(NAMESPACES, ("", namespace))
        marked = found and found.object["metadata"].get("deletionTimestamp")
        return namespace if marked else None

    def process(self, name: str) -> None:
        record = self._store.get(NAMESPACES, ("", name))
        if record is None:
            return
        if record.object["metadata"].get("deletionTimestamp"):
            self._empty(record)
        else:
            self._furnish(name)

    def _kind(self, group: str, plural: str) -> Kind:
        kind = self._catalogue.of_resource(group, plural)
        if kind is None:
            raise LookupError(f"{plural} is not served")
        return kind

    def _furnish(self, namespace: str) -> None:
        """The default service account and the certificate authority, as in every namespace."""
        account: Object = {"metadata": {"name": "default"}}
        note = (
            "Contains a CA bundle that can be used to verify the kube-apiserver when using "
            "internal endpoints such as the internal service IP or kubernetes.default.svc. "
            "No other usage is guaranteed across distributions of Kubernetes clusters."
        )
        trust: Object = {
            "metadata": {
                "name": "kube-root-ca.crt",
                "annotations": {"kubernetes.io/description": note},
            },
            "data": {"ca.crt": self._ca_pem},
        }
        for plural, obj in (("serviceaccounts", account), ("configmaps", trust)):
            kind = self._kind("", plural)
            if self._store.get(kind.storage, (namespace, obj["metadata"]["name"])) is None:
                self._writer.create(kind, namespace, obj, self._options)

    def _contents(self, namespace: str) -> Iterator[tuple[Kind, Record]]:
        for kind in self._catalogue.storage_kinds():
            if kind.namespaced:
                collection = self._store.collection(kind.storage)
                for key in list(collection.keys(namespace)):
                    yield kind, collection.records[key]

    def _empty(self, record: Record) -> None:
        namespace = record.key[1]
        request = DeleteOptions(propagationPolicy="Background")
        for kind, content in list(self._contents(namespace)):
            if content.object["metadata"].get("deletionTimestamp"):
                continue
            try:
                self._deleter.delete(kind, content.key, request, self._options)
            except Refusal:
                # Refused by admission, or gone through an owner meanwhile: what remains is
                # counted below and shows in the namespace's conditions.
                continue
        remaining = list(self._contents(namespace))
        if remaining:
            self._report(record, remaining)
        elif _FINALIZER in (record.object.get("spec") or {}).get("finalizers", ()):
            self._release(record)

    def _release(self, record: Record) -> None:
        def change(obj: Object) -> Object:
            obj = clone(obj)
            finalizers = [each for each in obj["spec"]["finalizers"] if each != _FINALIZER]
            obj["spec"] = {"finalizers": finalizers}
            return obj

        self._writer.change(
            self._kind("", "namespaces"), record.key, "finalize", change, self._options
        )

    def _report(self, record: Record, remaining: list[tuple[Kind, Record]]) -> None:
        counts: dict[str, int] = {}
        finalizers: dict[str, int] = {}
        for kind, content in remaining:
            counts[kind.resource] = counts.get(kind.resource, 0) + 1
            for finalizer in content.object["metadata"].get("finalizers") or ():
                finalizers[finalizer] = finalizers.get(finalizer, 0) + 1
        now = self._writer.now()
        what = ", ".join(f"{name} has {count} resource instances" for name, count in counts.items())
        held = ", ".join(
            f"{name} in {count} resource instances" for name, count in finalizers.items()
        )
        some = "Some content in the namespace has finalizers remaining: "
        conditions = [
            ("NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered",
             "All resources successfully discovered"),
            ("NamespaceDeletionGroupVersionParsingFailure", "False", "ParsedGroupVersions",
             "All legacy kube types successfully parsed"),
            ("NamespaceDeletionContentFailure", "False", "ContentDeleted",
             "All content successfully deleted, may be waiting on finalization"),
            ("NamespaceContentRemaining", "True", "SomeResourcesRemain",
             f"Some resources are remaining: {what}"),
            ("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain", some + held),
        ]  # fmt: skip
        fields = ("type", "status", "reason", "message")
        status = {
            "phase": "Terminating",
            "conditions": [
                {**dict(zip(fields, each, strict=True)), "lastTransitionTime": now}
                for each in conditions
            ],
        }
        present = (record.object.get("status") or {}).get("conditions") or []
        if [each.get("message") for each in present] == [each[3] for each in conditions]:
            return
        kind = self._kind("", "namespaces")
        change: Callable[[Object], Object] = lambda obj: {**obj, "status": status}  # noqa: E731
        self._writer.change(kind, record.key, "status", change, self._options)
