"""Everything behind the API of one simulated cluster: catalogue, store, writers and controllers,
put together and given their first objects. Knows nothing of HTTP, TLS or faults."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from fairlead_sim.authorization import MASTERS, Authorizer, Tokens, User
from fairlead_sim.controllers.background import Background
from fairlead_sim.controllers.crds import DefinitionController
from fairlead_sim.controllers.garbage import GarbageCollector
from fairlead_sim.controllers.namespaces import INITIAL, NamespaceController
from fairlead_sim.kinds.builtin_kinds import builtin_kinds
from fairlead_sim.kinds.catalogue import Catalogue, Kind, Object
from fairlead_sim.objects.admission import Policies
from fairlead_sim.objects.deleting import DEFINITIONS, Deleter
from fairlead_sim.objects.resources import Resources
from fairlead_sim.objects.reviews import Reviews
from fairlead_sim.objects.storage import Record, Store
from fairlead_sim.objects.writing import Writer
from fairlead_sim.serving.received import WriteOptions

_CONTROLLER = User("system:kube-controller-manager", (MASTERS,))


class ControlPlane:
    """One cluster's memory and the rules it works by."""

    def __init__(
        self,
        tokens: Tokens,
        *,
        history: int,
        clock: Callable[[], datetime],
        ca_pem: str,
    ) -> None:
        self.store = Store(history)
        self.catalogue = Catalogue(builtin_kinds())
        self.authorizer = Authorizer(self.store)
        policies = Policies(self.store, self.catalogue)
        self.writer = Writer(self.store, clock, policies.judge)
        self.deleter = Deleter(self.writer, policies.judge)
        self.resources = Resources(
            self.catalogue,
            self.writer,
            self.deleter,
            Reviews(self.authorizer, tokens),
            tokens,
            clock,
        )
        options = WriteOptions(_CONTROLLER, "kube-controller-manager")
        parts = (self.catalogue, self.writer, self.deleter, options)
        self.background = Background(
            self.store,
            GarbageCollector(*parts),
            NamespaceController(*parts, ca_pem),
            DefinitionController(*parts),
        )
        self._bootstrap()

    def _bootstrap(self) -> None:
        for name in INITIAL:
            self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self.background.drain()

    def create(self, obj: Object) -> Record:
        """Create an object without going through HTTP, as the API server itself would."""
        kind = self._kind_of(obj)
        namespace = (obj.get("metadata") or {}).get("namespace") or "default"
        options = WriteOptions(_CONTROLLER, "kube-apiserver")
        record = self.writer.create(kind, namespace if kind.namespaced else "", obj, options)
        if kind.storage == DEFINITIONS:
            self.background.drain()
        return record

    def _kind_of(self, obj: Object) -> Kind:
        group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
        kind = self.catalogue.by_kind(group, version, str(obj.get("kind", "")))
        if kind is None:
            raise LookupError(f"{obj.get('apiVersion')} {obj.get('kind')} is not served")
        return kind

    @property
    def identity(self) -> str:
        """The uid of the kube-system namespace."""
        record = self.store.get(("", "namespaces"), ("", "kube-system"))
        return record.uid if record else ""
