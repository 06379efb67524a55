"""The documents in which API servers list what they serve, old and aggregated, decoded into one
form. Knows nothing of fetching or caching them."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from fairlead.kube.resource import Resource

ACCEPT_AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json"
)


@dataclass(frozen=True, slots=True)
class ServedResource:
    """A resource with all the names it answers to and what can be done with it."""

    resource: Resource
    singular: str = ""
    short_names: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()

    def answers_to(self, name: str) -> bool:
        """Is this (lower case) name one of its plural, singular, short names or kind?"""
        resource = self.resource
        singular = self.singular or resource.kind.lower()
        return name in (resource.plural, singular, resource.kind.lower(), *self.short_names)


class _GroupVersionKind(msgspec.Struct):
    kind: str


class _Subresource(msgspec.Struct):
    subresource: str


class _AggregatedResource(msgspec.Struct, rename="camel"):
    resource: str
    response_kind: _GroupVersionKind
    scope: str
    singular_resource: str = ""
    verbs: list[str] | None = None
    short_names: list[str] | None = None
    categories: list[str] | None = None
    subresources: list[_Subresource] | None = None


class _AggregatedVersion(msgspec.Struct):
    version: str
    resources: list[_AggregatedResource] | None = None
    freshness: str = "Current"


class _Name(msgspec.Struct):
    name: str = ""


class _AggregatedGroup(msgspec.Struct):
    metadata: _Name = msgspec.field(default_factory=_Name)
    versions: list[_AggregatedVersion] | None = None


class _Version(msgspec.Struct):
    version: str


class _Group(msgspec.Struct, rename="camel"):
    name: str
    versions: list[_Version]
    preferred_version: _Version | None = None


class Root(msgspec.Struct):
    """What /api or /apis answers: one of three kinds of document."""

    kind: str
    items: list[_AggregatedGroup] | None = None
    groups: list[_Group] | None = None
    versions: list[str] | None = None

    @property
    def aggregated(self) -> bool:
        return self.kind == "APIGroupDiscoveryList"

    def group_versions(self) -> list[tuple[str, str]]:
        """(group, version) of an old document, the preferred version of each group first."""
        if self.kind == "APIVersions":
            return [("", version) for version in self.versions or ()]
        found = []
        for group in self.groups or ():
            versions = [version.version for version in group.versions]
            preferred = group.preferred_version.version if group.preferred_version else ""
            versions.sort(key=lambda version: version != preferred)
            found += [(group.name, version) for version in versions]
        return found

    def resources(self) -> list[ServedResource]:
        """All resources of an aggregated document, in the order of preference it has."""
        return [
            _served(group.metadata.name, version.version, resource)
            for group in self.items or ()
            for version in group.versions or ()
            for resource in version.resources or ()
        ]

    def stale(self) -> list[tuple[str, str]]:
        """(group, version) the server could not read itself, from an aggregated API server."""
        return [
            (group.metadata.name, version.version)
            for group in self.items or ()
            for version in group.versions or ()
            if version.freshness != "Current"
        ]


class _ListedResource(msgspec.Struct, rename="camel"):
    name: str
    kind: str
    namespaced: bool
    singular_name: str = ""
    verbs: list[str] | None = None
    short_names: list[str] | None = None
    categories: list[str] | None = None


class _ResourceList(msgspec.Struct):
    kind: str
    resources: list[_ListedResource] | None = None


_root = msgspec.json.Decoder(Root)
_resource_list = msgspec.json.Decoder(_ResourceList)


def parse_root(body: bytes) -> Root:
    """/api or /apis. Raises ValueError for anything else."""
    root = _root.decode(body)
    if root.kind not in {"APIGroupDiscoveryList", "APIGroupList", "APIVersions"}:
        raise ValueError(f"kind {root.kind!r} is no discovery document")
    return root


def parse_resource_list(body: bytes, group: str, version: str) -> list[ServedResource]:
    """/apis/group/version. Raises ValueError for anything else."""
    document = _resource_list.decode(body)
    if document.kind != "APIResourceList":
        raise ValueError(f"kind {document.kind!r} is no list of resources")
    entries = document.resources or []
    subresources: dict[str, list[str]] = {}
    for entry in entries:
        plural, _, subresource = entry.name.partition("/")
        if subresource:
            subresources.setdefault(plural, []).append(subresource)
    return [
        ServedResource(
            Resource(group, version, entry.name, entry.kind, entry.namespaced),
            entry.singular_name,
            tuple(entry.short_names or ()),
            tuple(entry.verbs or ()),
            tuple(entry.categories or ()),
            tuple(subresources.get(entry.name, ())),
        )
        for entry in entries
        if "/" not in entry.name
    ]


def _served(group: str, version: str, entry: _AggregatedResource) -> ServedResource:
    namespaced = entry.scope == "Namespaced"
    return ServedResource(
        Resource(group, version, entry.resource, entry.response_kind.kind, namespaced),
        entry.singular_resource,
        tuple(entry.short_names or ()),
        tuple(entry.verbs or ()),
        tuple(entry.categories or ()),
        tuple(subresource.subresource for subresource in entry.subresources or ()),
    )
