"""What a served kind is, and the catalogue of all kinds a simulated API server serves at the
moment. Built-in kinds come from a table, custom ones from their definitions; nothing here knows
about storage or HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from fairlead_sim.patch import ListTypes, builtin_list_types
from fairlead_sim.schema import CompiledSchema

Object = dict[str, Any]
StorageKey = tuple[str, str]

ALL_VERBS = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)


@dataclass(frozen=True, slots=True)
class Column:
    """One printer column of a Table; `path` is a JSONPath for custom kinds."""

    name: str
    type: str = "string"
    priority: int = 0
    format: str = ""
    description: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where a kind keeps what its scale subresource shows: dotted paths, no dot in front."""

    spec_replicas: str = "spec.replicas"
    status_replicas: str = "status.replicas"
    label_selector: str | None = None


@dataclass(frozen=True, slots=True)
class Custom:
    """What only a custom kind has: one version of its definition."""

    definition: str
    schema: CompiledSchema
    openapi: Object
    columns: tuple[Column, ...]
    is_storage: bool
    deprecation: str | None = None


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind in one version, as clients address it."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[str, ...] = ()
    create_on_update: bool = False
    unconditional_update: bool = True
    returns_deleted: bool = False
    tracks_generation: bool = False
    scale: ScalePaths | None = None
    list_kind: str = ""
    storage: StorageKey = ("", "")
    custom: Custom | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.storage[1]:
            object.__setattr__(self, "storage", (self.group, self.plural))
        if not self.singular:
            object.__setattr__(self, "singular", self.kind.lower())
        if not self.list_kind:
            object.__setattr__(self, "list_kind", f"{self.kind}List")

    @cached_property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def resource(self) -> str:
        """`deployments.apps`, as error sentences name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @cached_property
    def head(self) -> bytes:
        """How the encoding of every object of this kind starts; a record's tail follows."""
        encode = msgspec.json.encode
        return b'{"kind":' + encode(self.kind) + b',"apiVersion":' + encode(self.api_version) + b","

    @cached_property
    def item_head(self) -> bytes:
        """The same inside a list, where built-in kinds leave kind and apiVersion out."""
        return self.head if self.custom else b"{"

    @cached_property
    def list_types(self) -> ListTypes:
        if self.custom:
            return self.custom.schema.list_types
        return builtin_list_types(self.group, self.kind)

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources


class Catalogue:
    """All kinds served now, by group and version, in the order discovery shows them."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._versions: dict[tuple[str, str], dict[str, Kind]] = {}
        self.generation = 0
        self._builtin_groups: frozenset[str] = frozenset()
        for kind in kinds:
            self.add(kind)
        self._builtin_groups = frozenset(group for group, _ in self._versions)

    def add(self, kind: Kind) -> None:
        self._versions.setdefault((kind.group, kind.version), {})[kind.plural] = kind
        self.generation += 1

    def remove(self, kind: Kind) -> None:
        served = self._versions.get((kind.group, kind.version), {})
        served.pop(kind.plural, None)
        if not served:
            self._versions.pop((kind.group, kind.version), None)
        self.generation += 1

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._versions.get((group, version), {}).get(plural)

    def is_builtin(self, group: str) -> bool:
        return group in self._builtin_groups

    def in_version(self, group: str, version: str) -> dict[str, Kind] | None:
        return self._versions.get((group, version))

    def of_resource(self, group: str, plural: str) -> Kind | None:
        """Any version of a resource: the preferred one if there are several."""
        for version in self.versions(group):
            if kind := self.find(group, version, plural):
                return kind
        return None

    def by_kind(self, group: str, version: str, kind: str) -> Kind | None:
        served = self._versions.get((group, version), {})
        return next((each for each in served.values() if each.kind == kind), None)

    def versions(self, group: str) -> list[str]:
        """Versions of a group, the preferred one first."""
        found = [version for each, version in self._versions if each == group]
        return sorted(found, key=version_priority)

    def groups(self) -> list[str]:
        """Named groups (not the core one), built-in ones first, then by name."""
        return list(dict.fromkeys(group for group, _ in self._versions if group))

    def storage_kinds(self) -> Iterator[Kind]:
        """One kind for each storage, for whoever must visit every stored object."""
        seen: set[StorageKey] = set()
        for served in list(self._versions.values()):
            for kind in list(served.values()):
                if "list" in kind.verbs and kind.storage not in seen:
                    seen.add(kind.storage)
                    yield kind

    def __iter__(self) -> Iterator[Kind]:
        for served in list(self._versions.values()):
            yield from list(served.values())


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Sort key of Kubernetes versions: v2, v1, v1beta2, v1alpha1, anything else by name."""
    stage, numbers = 0, version[1:]
    if not version.startswith("v"):
        return (9, 0, 0, version)
    major, minor = numbers, "0"
    for rank, word in ((1, "beta"), (2, "alpha")):
        if word in numbers:
            stage = rank
            major, _, minor = numbers.partition(word)
    if not (major.isdigit() and minor.isdigit()):
        return (9, 0, 0, version)
    return (stage, -int(major), -int(minor), version)
