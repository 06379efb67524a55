"""OpenAPI documents: enough of version 3 for `kubectl explain` and for the checks kubectl makes
before it sends something, and a small version 2. Schemas of custom kinds are complete; those of
built-in kinds have all fields but no descriptions. Knows nothing of HTTP."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec

from fairlead_sim.kinds.builtin_types.shapes import Message, Shape, message, message_of
from fairlead_sim.kinds.catalogue import Catalogue, Kind, Object

_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_REF = "#/components/schemas/"
_API_VERSION_TEXT = (
    "APIVersion defines the versioned schema of this representation of an object. Servers should "
    "convert recognized schemas to the latest internal value, and may reject unrecognized values. "
    "More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"
)
_KIND_TEXT = (
    "Kind is a string value representing the REST resource this object represents. Servers may "
    "infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. "
    "More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
    "#types-kinds"
)
_META_TEXT = (
    "Standard object's metadata. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)
_PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
)
_SCALARS: dict[str, Object] = {
    "s": {"type": "string"},
    "i": {"type": "integer"},
    "b": {"type": "boolean"},
    "f": {"type": "number"},
    "y": {"type": "string", "format": "byte"},
    "time": {"type": "string", "format": "date-time"},
    "micro": {"type": "string", "format": "date-time"},
    "duration": {"type": "string"},
    "quantity": {"type": "string"},
    "intstr": {"type": "string", "format": "int-or-string"},
    "raw": {"type": "object"},
    "strings": {"type": "array", "items": {"type": "string"}},
}
_WRITE_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation")


def _string(description: str) -> Object:
    return {"type": "string", "description": description}


def _string_map(description: str) -> Object:
    return {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": description,
    }


_OBJECT_META: Object = {
    "type": "object",
    "description": "ObjectMeta is metadata that all persisted resources must have.",
    "properties": {
        "annotations": _string_map("Annotations is an unstructured key value map."),
        "creationTimestamp": {**_string("When this object was created."), "format": "date-time"},
        "deletionGracePeriodSeconds": {"type": "integer", "format": "int64"},
        "deletionTimestamp": {
            **_string("When this resource will be deleted."),
            "format": "date-time",
        },
        "finalizers": {"type": "array", "items": {"type": "string"}},
        "generateName": _string("GenerateName is an optional prefix to generate a unique name."),
        "generation": {"type": "integer", "format": "int64"},
        "labels": _string_map("Map of string keys and values to organize and select objects."),
        "managedFields": {"type": "array", "items": {"type": "object"}},
        "name": _string("Name must be unique within a namespace."),
        "namespace": _string("Namespace defines the space within which each name must be unique."),
        "ownerReferences": {"type": "array", "items": {"type": "object"}},
        "resourceVersion": _string("An opaque value that represents the internal version."),
        "uid": _string("UID is the unique in time and space value for this object."),
    },
}


def documents(catalogue: Catalogue) -> Object:
    """`/openapi/v3`: where each document is, with a hash that changes with its content."""
    paths = {}
    for group, version in _group_versions(catalogue):
        path = f"apis/{group}/{version}" if group else f"api/{version}"
        raw = msgspec.json.encode(document(catalogue, group, version))
        digest = hashlib.sha256(raw).hexdigest().upper()
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": paths}


def _group_versions(catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    for group in ("", *catalogue.groups()):
        for version in catalogue.versions(group):
            yield group, version


def document(catalogue: Catalogue, group: str, version: str) -> Object | None:
    """One group and version, as OpenAPI 3."""
    kinds = catalogue.in_version(group, version)
    if kinds is None:
        return None
    schemas: Object = {_META: _OBJECT_META}
    paths: Object = {}
    for kind in kinds.values():
        name = _schema_name(kind)
        schemas[name] = _schema(kind)
        if not kind.custom:
            _referenced(message_of(kind.api_version, kind.kind), schemas)
        paths |= _paths(kind, name)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _schema_name(kind: Kind) -> str:
    reversed_group = ".".join(reversed((kind.group or "core.api.k8s.io").split(".")))
    return f"{reversed_group}.{kind.version}.{kind.kind}"


def _schema(kind: Kind) -> Object:
    schema: Object = dict(kind.custom.openapi) if kind.custom else _builtin(kind)
    properties = dict(schema.get("properties") or {})
    properties["apiVersion"] = _string(_API_VERSION_TEXT)
    properties["kind"] = _string(_KIND_TEXT)
    properties["metadata"] = {
        "allOf": [{"$ref": _REF + _META}],
        "default": {},
        "description": _META_TEXT,
    }
    schema["type"] = "object"
    schema["properties"] = properties
    schema["x-kubernetes-group-version-kind"] = [_identity(kind)]
    return schema


def _builtin(kind: Kind) -> Object:
    described = message_of(kind.api_version, kind.kind)
    description = f"{kind.kind} as the API server of a Kubernetes cluster serves it."
    properties = _properties(described) if described else {}
    return {"type": "object", "description": description, "properties": properties}


def _properties(described: Message) -> Object:
    return {name: _property(shape) for name, shape in described.names.items()}


def _property(shape: Shape) -> Object:
    if shape.base == "M":
        one: Object = {"allOf": [{"$ref": _REF + _type_name(shape.message)}]}
    else:
        one = dict(_SCALARS.get(shape.base, {"x-kubernetes-preserve-unknown-fields": True}))
    if shape.repeated:
        return {"type": "array", "items": one}
    return {"type": "object", "additionalProperties": one} if shape.mapped else one


def _type_name(message: str) -> str:
    return _META if message == "meta.v1.ObjectMeta" else f"io.k8s.api.{message}"


def _referenced(described: Message | None, found: Object) -> None:
    """The types that a kind is made of, each once."""
    for shape in described.names.values() if described else ():
        name = _type_name(shape.message)
        if shape.base == "M" and name != _META and name not in found:
            inner = message(shape.message)
            found[name] = {"type": "object", "properties": _properties(inner)}
            _referenced(inner, found)


def _identity(kind: Kind) -> Object:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _paths(kind: Kind, schema: str) -> Object:
    base = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    if kind.namespaced:
        base += "/namespaces/{namespace}"
    collection = f"{base}/{kind.plural}"
    paths: Object = {collection: {}, collection + "/{name}": {}}
    if "list" in kind.verbs:
        paths[collection]["get"] = _operation(kind, schema, "list")
    if "create" in kind.verbs:
        paths[collection]["post"] = _operation(kind, schema, "post")
    for verb, method in (
        ("get", "get"),
        ("update", "put"),
        ("patch", "patch"),
        ("delete", "delete"),
    ):
        if verb in kind.verbs:
            paths[collection + "/{name}"][method] = _operation(kind, schema, verb)
    return {path: operations for path, operations in paths.items() if operations}


def _operation(kind: Kind, schema: str, action: str) -> Object:
    reference = {"schema": {"$ref": _REF + schema}}
    operation: Object = {
        "operationId": f"{action}{kind.kind}{kind.version}",
        "responses": {
            "200": {"description": "OK", "content": {"application/json": reference}},
        },
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _identity(kind),
    }
    if action in ("post", "update", "patch"):
        operation["parameters"] = [
            {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
            for name in _WRITE_PARAMETERS
        ]
        media = _patches(kind) if action == "patch" else ("*/*",)
        body = dict.fromkeys(media, reference)
        operation["requestBody"] = {"content": body, "required": True}
    return operation


def _patches(kind: Kind) -> tuple[str, ...]:
    return _PATCHES if kind.custom else (*_PATCHES, "application/strategic-merge-patch+json")


def version_two(catalogue: Catalogue) -> Object:
    """`/openapi/v2`, for clients that still ask for it."""
    definitions: Object = {_META: _OBJECT_META}
    for kind in catalogue:
        if not kind.custom:
            continue
        schema = dict(_schema(kind))
        schema["properties"] = {
            **schema["properties"],
            "metadata": {"$ref": f"#/definitions/{_META}", "description": _META_TEXT},
        }
        definitions[_schema_name(kind)] = schema
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": {},
        "definitions": definitions,
    }


def version_two_protobuf() -> bytes:
    """The smallest version 2 document in the encoding kubectl asks for: a Document (gnostic
    openapi.v2) with `swagger` (1), `info` (2: title 1, version 2) and empty `paths` (8)."""

    def field(number: int, value: bytes) -> bytes:
        return bytes([number << 3 | 2, len(value)]) + value

    info = field(1, b"Kubernetes") + field(2, b"unversioned")
    return field(1, b"2.0") + field(2, info) + field(8, b"")


VERSION_TWO_ASKED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
VERSION_TWO_ANSWERED = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
