"""The verbs on resources: from a request taken apart to an answer, through reading, writing,
patching, deleting and reviews. Knows nothing of HTTP."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from fairlead_sim import answers
from fairlead_sim.authorization import Tokens
from fairlead_sim.controllers.crds import is_terminating
from fairlead_sim.display import tables
from fairlead_sim.display.views import encode, encode_item, object_of, partial_metadata
from fairlead_sim.kinds.catalogue import Catalogue, Kind, Object
from fairlead_sim.objects.deleting import DeleteOptions, Deleter, parse_options
from fairlead_sim.objects.patching import Patcher
from fairlead_sim.objects.reading import Listed, asked_revision, list_records
from fairlead_sim.objects.reviews import Reviews
from fairlead_sim.objects.storage import Record, Store
from fairlead_sim.objects.subresources import Subresources
from fairlead_sim.objects.writing import Writer
from fairlead_sim.serving.calls import Answer, Call, read_object, write_options
from fairlead_sim.serving.negotiation import read_body
from fairlead_sim.serving.routes import Target

_ORDINARY = ("status", "finalize")
_NEEDS_NAME = ("get", "update", "patch", "delete")


class Resources:
    """Serves every resource of the catalogue."""

    def __init__(
        self,
        catalogue: Catalogue,
        writer: Writer,
        deleter: Deleter,
        reviews: Reviews,
        tokens: Tokens,
        clock: Callable[[], datetime],
    ) -> None:
        self._store: Store = writer.store
        self._catalogue = catalogue
        self._writer = writer
        self._patcher = Patcher(writer)
        self._deleter = deleter
        self._reviews = reviews
        self._subresources = Subresources(writer, deleter, tokens, clock)
        self._clock = clock
        self._verbs: dict[str, Callable[[Kind, Call], Answer]] = {
            "get": self._get,
            "list": self._list,
            "create": self._create,
            "update": self._replace,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }

    def kind(self, target: Target) -> Kind:
        """What is served at this place. Where nothing is, built-in groups answer with a Status
        and everything else with plain text, as kube-apiserver does."""
        kind = self._catalogue.find(target.group, target.version, target.resource)
        misplaced = kind and target.in_namespace and not kind.namespaced
        unknown = kind and target.subresource and target.subresource not in kind.subresources
        if kind is None or misplaced or unknown:
            raise self.nothing_there(target)
        return kind

    def nothing_there(self, target: Target) -> Exception:
        if self._catalogue.is_builtin(target.group):
            return answers.no_such_resource()
        return answers.page_not_found()

    def serve(self, call: Call) -> Answer:
        """Every verb but watch."""
        kind, target = self.kind(call.target), call.target
        if kind.custom and kind.custom.deprecation:
            call.warnings.append(kind.custom.deprecation)
        if target.subresource:
            return self._serve_subresource(kind, call)
        if call.verb not in kind.verbs or (call.method == "POST" and target.name):
            raise answers.method_not_allowed()
        if call.verb in _NEEDS_NAME and not target.name:
            raise answers.method_not_allowed()
        if kind.namespaced and not target.namespace and call.verb != "list":
            # Without a namespace there is only the list over all of them.
            raise self.nothing_there(target) if target.name else answers.method_not_allowed()
        return self._verbs[call.verb](kind, call)

    def _serve_subresource(self, kind: Kind, call: Call) -> Answer:
        if not call.target.name or (kind.namespaced and not call.target.namespace):
            raise self.nothing_there(call.target)
        if call.target.subresource not in _ORDINARY:
            return self._subresources.serve(kind, call)
        if call.verb not in ("get", "update", "patch"):
            raise answers.method_not_allowed()
        if call.target.subresource == "finalize" and call.verb != "update":
            raise answers.method_not_allowed()
        return self._verbs[call.verb](kind, call)

    # ---- reading

    def _get(self, kind: Kind, call: Call) -> Answer:
        asked = asked_revision(call.query)
        if asked > self._store.revision:
            raise answers.too_large_version(asked, self._store.revision)
        record = self._store.get(kind.storage, call.key)
        if record is None:
            raise answers.not_found(kind, call.target.name)
        return self._one(kind, record, call)

    def _one(self, kind: Kind, record: Record, call: Call, code: int = 200) -> Answer:
        form = call.form
        if form.kind == "Table":
            listed = Listed([record], record.revision)
            return Answer(self._table(kind, listed, call), code)
        if form.kind == "PartialObjectMetadata":
            partial = partial_metadata(object_of(kind, record), form.version)
            return Answer(msgspec.json.encode(partial), code)
        return Answer(encode(kind, record), code)

    def _table(self, kind: Kind, listed: Listed, call: Call) -> bytes:
        include = call.query.get("includeObject") or "Metadata"
        if include not in ("Metadata", "None", "Object"):
            why = f"\"{include}\": must be 'Metadata', 'Object', 'None', or empty"
            message = (
                f"Unable to convert to Table as requested: includeObject: Invalid value: {why}"
            )
            raise answers.bad_request(message)
        version = call.form.version
        rows = tables.rows(kind, listed.records, include, version, self._clock())
        made = tables.table(rows, listed.metadata(), version, tables.definitions(kind))
        return msgspec.json.encode(made)

    def _list(self, kind: Kind, call: Call) -> Answer:
        listed = list_records(self._store, kind, call.target.in_namespace, call.query)
        if call.form.kind == "Table":
            return Answer(self._table(kind, listed, call))
        if not call.form.kind.startswith("PartialObjectMetadata"):
            return Answer(_encode_list(kind, listed))
        version = call.form.version
        made = {
            "kind": "PartialObjectMetadataList",
            "apiVersion": f"meta.k8s.io/{version}",
            "metadata": listed.metadata(),
            "items": [partial_metadata(object_of(kind, each), version) for each in listed.records],
        }
        return Answer(msgspec.json.encode(made))

    # ---- writing

    def _create(self, kind: Kind, call: Call) -> Answer:
        body = read_object(call, kind)
        if "list" not in kind.verbs:
            review = self._reviews.answer(kind, body, call.user)
            return Answer(msgspec.json.encode(review), 201)
        if is_terminating(self._store, kind):
            message = "create not allowed while custom resource definition is terminating"
            raise answers.Refusal(405, "MethodNotAllowed", message)
        record = self._writer.create(kind, call.target.in_namespace, body, write_options(call))
        return self._one(kind, record, call, 201)

    def _replace(self, kind: Kind, call: Call) -> Answer:
        body, options = read_object(call, kind), write_options(call)
        record, created = self._writer.replace(
            kind, call.key, call.target.subresource, body, options
        )
        return self._one(kind, record, call, 201 if created else 200)

    def _patch(self, kind: Kind, call: Call) -> Answer:
        record, created = self._patcher.patch(kind, call)
        return self._one(kind, record, call, 201 if created else 200)

    # ---- deleting

    def _delete_options(self, call: Call) -> DeleteOptions:
        body = read_body(call.body, call.content_type, "DeleteOptions") if call.body else None
        return parse_options(body, dict(call.query))

    def _delete(self, kind: Kind, call: Call) -> Answer:
        request = self._delete_options(call)
        options = write_options(call, request.dryRun)
        record, gone = self._deleter.delete(kind, call.key, request, options)
        if not gone or kind.returns_deleted:
            return self._one(kind, record, call)
        details: Object = {"name": call.target.name}
        if kind.group:
            details["group"] = kind.group
        details |= {"kind": kind.plural, "uid": record.uid}
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return Answer(msgspec.json.encode({**status, "details": details}))

    def _delete_collection(self, kind: Kind, call: Call) -> Answer:
        request = self._delete_options(call)
        options = write_options(call, request.dryRun)
        query = {name: value for name, value in call.query.items() if name != "limit"}
        listed = list_records(self._store, kind, call.target.in_namespace, query)
        for record in listed.records:
            try:
                self._deleter.delete(kind, record.key, request, options)
            except answers.Refusal as refusal:
                if refusal.code != 404:
                    raise
        return Answer(_encode_list(kind, listed))


def _encode_list(kind: Kind, listed: Listed) -> bytes:
    """Spliced from the encodings of the records; nothing is encoded again."""
    head = msgspec.json.encode({"kind": kind.list_kind, "apiVersion": kind.api_version})[:-1]
    items = b",".join([encode_item(kind, record) for record in listed.records])
    metadata = msgspec.json.encode(listed.metadata())
    return b"".join([head, b',"metadata":', metadata, b',"items":[', items, b"]}"])
