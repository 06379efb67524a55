"""The parts every Kubernetes object shares, and the way between plain dicts and Structs. Owns
decoding with a complaint that names the field; knows nothing of any particular kind."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from fairlead.errors import Terminal


class ApiStruct(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel", frozen=True):
    """Base of every type below: camelCase outside, every field None unless given.

    A field must default to None and to nothing else: server-side apply gives up the ownership
    of a field that is left out, so a default belongs into the CRD schema. `kw_only` and `frozen`
    are not inherited and are written with every class.
    """


class OwnerReference(ApiStruct, kw_only=True, frozen=True):
    """The object that this one is deleted with."""

    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(ApiStruct, kw_only=True, frozen=True):
    """Standard object metadata, as far as Fairlead reads or writes it."""

    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[OwnerReference] | None = None


class TypeMeta(ApiStruct, kw_only=True, frozen=True):
    """What kind of object this is."""

    api_version: str | None = None
    kind: str | None = None


class InvalidObject(Terminal):
    """An object does not have the shape of its kind; `path` is the field, dotted."""

    def __init__(self, subject: str, path: str, problem: str) -> None:
        self.subject = subject
        self.path = path
        self.problem = problem
        place = f"{subject}: {path}" if path else subject
        super().__init__(f"{place}: {problem}", reason="InvalidObject")


S = TypeVar("S", bound=msgspec.Struct)

_MSGSPEC_PLACE = re.compile(r"^(?P<problem>.*) - at `(?P<key>key in )?\$(?P<path>.*)`$", re.DOTALL)


def decode(obj: Any, struct: type[S]) -> S:
    """The object as a Struct; fields the Struct does not know are ignored."""
    try:
        return msgspec.convert(obj, struct)
    except msgspec.ValidationError as error:
        path, problem = _explain(str(error))
        raise InvalidObject(_subject(obj, struct), path, problem) from error


def encode(struct: msgspec.Struct) -> dict[str, Any]:
    """The Struct as plain JSON data; fields that are None are left out."""
    plain: dict[str, Any] = msgspec.to_builtins(struct, str_keys=True)
    return plain


def _explain(message: str) -> tuple[str, str]:
    match = _MSGSPEC_PLACE.match(message)
    problem = match["problem"] if match else message
    path = match["path"].removeprefix(".") if match else ""
    return path, problem[:1].lower() + problem[1:]


def _subject(obj: Any, struct: type[msgspec.Struct]) -> str:
    """`ClusterRegistry dr-clusters`, as far as the object says it."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return f"{struct.__name__} {name}" if isinstance(name, str) else struct.__name__
