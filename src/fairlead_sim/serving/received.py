"""What a client sent, made ready for the server: of the right kind, name and namespace, with fields
that nobody knows dropped and reported. Knows nothing of storage or HTTP."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from fairlead_sim import answers
from fairlead_sim.authorization import User
from fairlead_sim.kinds.builtin_types import WrongType, drop_unknown
from fairlead_sim.kinds.catalogue import Kind, Object
from fairlead_sim.objects import metadata
from fairlead_sim.objects.storage import Key, clone


@dataclass(slots=True)
class WriteOptions:
    """What a write request says beside the object."""

    user: User
    manager: str
    dry_run: bool = False
    validation: str = "Warn"
    force: bool = False
    warnings: list[str] = field(default_factory=list)


def received(kind: Kind, obj: Object, options: WriteOptions, *, patched: bool = False) -> Object:
    """Our own copy of an object; `patched` if it came out of a patch rather than a body."""
    check_kind(kind, obj)
    obj = clone(obj)
    whole = msgspec.json.encode(obj).decode() if patched and options.validation == "Strict" else ""
    obj["apiVersion"], obj["kind"] = kind.api_version, kind.kind
    unknown = metadata.check_types(kind, obj) + drop_undeclared(kind, obj)
    report_unknown(kind, unknown, options, whole)
    return obj


def drop_undeclared(kind: Kind, obj: Object) -> list[str]:
    """Remove fields that the kind does not have, in place; answers their paths."""
    if kind.custom:
        return kind.custom.schema.prune(obj)
    try:
        return drop_unknown(kind.api_version, kind.kind, obj)
    except WrongType as error:
        raise metadata.wrong_type(kind, str(error)) from error


def report_unknown(kind: Kind, unknown: list[str], options: WriteOptions, patch: str = "") -> None:
    """Ignore, warn about or refuse unknown fields, as the client asked for."""
    if not unknown or options.validation == "Ignore":
        return
    problems = [f'unknown field "{name}"' for name in unknown]
    if options.validation != "Strict":
        options.warnings += problems
        return
    why = "strict decoding error: " + ", ".join(problems)
    raise answers.invalid_patch(patch, why) if patch else metadata.wrong_type(kind, why)


def check_kind(kind: Kind, obj: Object) -> None:
    """kube-apiserver decodes built-in objects without a kind, custom ones not."""
    api_version, name = obj.get("apiVersion"), obj.get("kind")
    if kind.custom:
        _check_custom_kind(kind, obj)
    elif api_version or name:
        version = str(api_version or "").rpartition("/")[2]
        start = f'{name or ""} in version "{version}" cannot be handled as a {kind.kind}: '
        if api_version and api_version != kind.api_version:
            why = f'no kind "{name}" is registered for version "{api_version}"'
            raise answers.bad_request(start + why)
        if name and name != kind.kind:
            raise answers.bad_request(start + "unknown conversion")


def _check_custom_kind(kind: Kind, obj: Object) -> None:
    if not obj.get("kind"):
        text = msgspec.json.encode(obj).decode()
        raise answers.bad_request(
            f"the object provided is unrecognized (must be of type {kind.kind}): "
            f"Object 'Kind' is missing in '{text}'"
        )
    if obj.get("apiVersion") != kind.api_version:
        raise answers.bad_request(
            f"the API version in the data ({obj.get('apiVersion') or ''}) does not match the "
            f"expected API version ({kind.api_version})"
        )
    if obj["kind"] != kind.kind:
        meta = obj.get("metadata")
        name = meta.get("name") if isinstance(meta, dict) else ""
        raise answers.wrong_custom_kind(kind, str(obj["kind"]), str(name or ""))


def check_name(obj: Object, key: Key) -> None:
    """The name in the object, if there is one, must be that of the URL; then it has it."""
    meta = obj.get("metadata")
    if not isinstance(meta, dict):
        return
    name = meta.get("name")
    if name and name != key[1]:
        raise answers.bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({key[1]})"
        )
    meta["name"] = key[1]


def check_namespace(kind: Kind, meta: Object, namespace: str) -> None:
    if not kind.namespaced:
        meta.pop("namespace", None)
        return
    if meta.get("namespace") and meta["namespace"] != namespace:
        raise answers.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    meta["namespace"] = namespace
