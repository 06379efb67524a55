"""Answers decoded and checked: JSON that is not what a Kubernetes API server sends for the
request is told apart before anybody takes it for the state of the cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from fairlead.kube.resource import Object, Resource


@dataclass(slots=True)
class ObjectList:
    """A list as of one `resource_version`, complete over all its pages."""

    items: list[Object] = field(default_factory=list)
    resource_version: str = ""


class _ListMeta(msgspec.Struct, frozen=True):
    resource_version: str | None = msgspec.field(name="resourceVersion", default=None)
    token: str | None = msgspec.field(name="continue", default=None)


class Page(msgspec.Struct):
    """One chunk of a list."""

    kind: str
    items: list[dict[str, Any]] | None
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)


_any = msgspec.json.Decoder()
_page = msgspec.json.Decoder(Page)


class NotAnObject(ValueError):
    """The body is not what the request must be answered with."""


def decode_object(body: bytes, resource: Resource | None, name: str | None) -> Object:
    """The object in an answer. With a resource its kind, with a name its name must fit."""
    obj = _decode(_any, body)
    if not isinstance(obj, dict) or not isinstance(obj.get("kind"), str):
        raise NotAnObject("JSON that is no Kubernetes object")
    if resource is not None:
        metadata = obj.get("metadata")
        if obj["kind"] != resource.kind or not isinstance(metadata, dict):
            raise NotAnObject(f"an object of kind {obj['kind']!r} instead of {resource.kind}")
        if not isinstance(metadata.get("name"), str) or (name and metadata["name"] != name):
            raise NotAnObject(f"an object named {metadata.get('name')!r} instead of {name!r}")
    return obj


def decode_page(
    body: bytes, resource: Resource, transform: Callable[[Object], Object] | None
) -> tuple[Page, list[Object]]:
    """A page and its items, each with kind and apiVersion, which lists leave out."""
    page: Page = _decode(_page, body)
    if not page.kind.endswith("List"):
        raise NotAnObject(f"an object of kind {page.kind!r} instead of a list")
    items: list[Object] = page.items or []
    api_version, kind = resource.api_version, resource.kind
    for item in items:
        metadata = item.get("metadata")
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
            raise NotAnObject("a list whose items have no name")
        item.setdefault("apiVersion", api_version)
        item.setdefault("kind", kind)
    return page, items if transform is None else [transform(item) for item in items]


def _decode(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    try:
        return decoder.decode(body)
    except (ValueError, RecursionError) as error:
        raise NotAnObject(str(error)) from error
