"""What is there to be reported: the resource as it stands and the registry as it is. Reads only
caches, so it neither fails nor waits."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.api.cluster_registry import ClusterRegistry, ClusterRegistryStatus
from fairlead.api.meta import decode
from fairlead.kube.resource import Object
from fairlead.registry.problem import Severity
from fairlead.registry.snapshot import ClusterView, RegistrySnapshot


@dataclass(frozen=True, slots=True)
class Observed:
    """One ClusterRegistry and what this observer knows about the clusters it lists."""

    name: str
    generation: int
    observer: str
    listed: tuple[str, ...]
    clusters: dict[str, ClusterView]
    problems: tuple[str, ...]
    status: ClusterRegistryStatus


def observe(obj: Object, snapshot: RegistrySnapshot, observer: str) -> Observed:
    """Raises `Terminal` for an object that is not of its kind's shape."""
    registry = decode(obj, ClusterRegistry)
    clusters = (registry.spec.clusters if registry.spec else None) or []
    listed = tuple(info.name for info in clusters if info.name)
    return Observed(
        name=obj["metadata"]["name"],
        generation=obj["metadata"].get("generation", 0),
        observer=observer,
        listed=listed,
        clusters={name: snapshot.clusters[name] for name in listed if name in snapshot.clusters},
        problems=tuple(
            str(problem)
            for problem in snapshot.problems
            if problem.cluster in listed and problem.severity is Severity.ERROR
        ),
        status=registry.status or ClusterRegistryStatus(),
    )
