"""`clusters.yaml`: a document with a list `clusters` to entries. Owns the field names and limits
of that format, in a file as in a ConfigMap; knows nothing of where the text came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from fairlead.errors import InvalidInput
from fairlead.kube.access import Access
from fairlead.registry.entry import (
    DEFAULT_WEIGHT,
    MAX_CLUSTERS,
    MAX_WEIGHT,
    ClusterEntry,
    HealthCheck,
    is_cluster_name,
)
from fairlead.registry.fields import Fields
from fairlead.registry.last_good import Reading
from fairlead.registry.problem import Problem, Severity
from fairlead.yamltext import Document

NAME_REMEDY = "use up to 63 lower case letters, digits, '-' and '.', such as prod-eu"


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach a cluster, the digest of the credential, and what to warn about."""

    access: Access
    credential: str
    warnings: tuple[str, ...] = ()
    renewed_elsewhere: bool = False


Connect = Callable[[Fields, str], Connection | None]
"""Reads the fields of an entry that say how to reach it, given its name. None: see `faults`."""


def read_clusters(document: Document, connect: Connect, defaults: HealthCheck) -> Reading:
    """All entries of a document; a bad one is a problem and does not hurt the others."""
    try:
        items = _items(document, document.data)
    except InvalidInput as error:
        return Reading(problems=(Problem.of(error),), readable=False)
    collected = _Collected(document, connect, defaults)
    for index, item in enumerate(items):
        collected.add(index, item)
    return collected.reading()


class _Collected:
    """The entries and problems found so far."""

    def __init__(self, document: Document, connect: Connect, defaults: HealthCheck) -> None:
        self._document = document
        self._connect = connect
        self._defaults = defaults
        self._entries: dict[str, ClusterEntry] = {}
        self._problems: list[Problem] = []
        self._broken: set[str] = set()
        self._nameless = False

    def add(self, index: int, item: Any) -> None:
        path = ("clusters", index)
        if not isinstance(item, dict):
            error = self._document.invalid("must be a mapping", *path, remedy="give it a `name`")
            self._problems.append(Problem.of(error))
            self._nameless = True
            return
        fields = Fields(self._document, path, item, [])
        name = _name(fields)
        entry = self._entry(fields, name)
        if entry is not None and entry.name not in self._entries:
            self._entries[entry.name] = entry
        elif entry is not None:
            used = self._entries[entry.name].source
            problem = f"cluster {name!r} is already defined at {used}, which is used"
            fields.fault("name", problem, "rename or remove one of the two")
        elif name is not None:
            self._broken.add(name)
        self._nameless = self._nameless or name is None
        self._problems.extend(Problem.of(fault, name) for fault in fields.faults)

    def reading(self) -> Reading:
        return Reading(
            entries=tuple(self._entries.values()),
            problems=tuple(self._problems),
            broken=frozenset(self._broken - self._entries.keys()),
            nameless=self._nameless,
        )

    def _entry(self, fields: Fields, name: str | None) -> ClusterEntry | None:
        """The entry, unless something is wrong with it."""
        connection = self._connect(fields, name or "")
        common = read_common(fields, self._defaults)
        fields.refuse_unknown()
        if name is None or connection is None or fields.faults:
            return None
        place = fields.place()
        self._problems.extend(
            Problem(place, warning, cluster=name, severity=Severity.WARNING)
            for warning in connection.warnings
        )
        return ClusterEntry(
            name=name,
            access=connection.access,
            credential=connection.credential,
            source=place,
            renewed_elsewhere=connection.renewed_elsewhere,
            **common,
        )


def _items(document: Document, data: Any) -> list[Any]:
    if isinstance(data, dict) and data.get("kind") == "Config":
        problem = "is a kubeconfig, not a list of clusters"
        raise document.invalid(problem, remedy="use it as a kubeconfig, or name it in an entry")
    if not isinstance(data, dict) or "clusters" not in data:
        raise document.invalid("has no list `clusters`", remedy="start it with `clusters:`")
    items = data["clusters"]
    if not isinstance(items, list):
        problem = "must be a list"
        raise document.invalid(problem, "clusters", remedy="write `clusters: []` if it is empty")
    if len(items) > MAX_CLUSTERS:
        problem = f"has {len(items)} entries, more than {MAX_CLUSTERS}"
        raise document.invalid(problem, "clusters", remedy="remove some")
    return items


def _name(fields: Fields) -> str | None:
    before = len(fields.faults)
    name = fields.text("name")
    if name is None:
        if len(fields.faults) == before:
            fields.fault("name", "is missing", NAME_REMEDY)
        return None
    if not is_cluster_name(name):
        fields.fault("name", f"{name[:80]!r} cannot be a cluster's name", NAME_REMEDY)
        return None
    return name


def read_common(fields: Fields, defaults: HealthCheck) -> dict[str, Any]:
    """The fields of an entry that do not say how to reach it."""
    weight = fields.whole("weight", 0, MAX_WEIGHT)
    labels: Mapping[str, str] = MappingProxyType(fields.labels("labels"))
    return {
        "region": fields.text("region", limit=63),
        "namespace": fields.text("namespace", limit=63),
        "labels": labels,
        "weight": DEFAULT_WEIGHT if weight is None else weight,
        "available": fields.one_of("status", "Available", "Unavailable") != "Unavailable",
        "identity": fields.text("identity", limit=64),
        "health_check": _health_check(fields, defaults),
    }


def _health_check(fields: Fields, defaults: HealthCheck) -> HealthCheck:
    section = fields.section("healthCheck")
    if section is None:
        return defaults
    path = section.text("path", limit=256)
    if path is not None and not path.startswith("/"):
        section.fault("path", "must begin with /", "write it like /readyz")
    values: dict[str, Any] = {
        "path": path,
        "interval": section.seconds("interval", 1, 86400),
        "timeout": section.seconds("timeout", 0.1, 3600),
        "slow": section.seconds("slow", 0.01, 3600),
        "failure_threshold": section.whole("failureThreshold", 1, 100),
        "success_threshold": section.whole("successThreshold", 1, 100),
    }
    section.refuse_unknown()
    try:
        return defaults.with_given(**values)
    except ValueError as error:
        section.fault("timeout", str(error), "shorten the timeout or lengthen the interval")
        return defaults
