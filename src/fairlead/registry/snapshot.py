"""The registry at one moment, frozen: every cluster with its health and identity, and everything
that is wrong. Owns the types and how single findings become one picture; knows nothing of how
they were found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from fairlead.registry.entry import MAX_CLUSTERS, ClusterEntry
from fairlead.registry.health import Health, HealthState, observer_cut_off
from fairlead.registry.last_good import ProviderSnapshot, collision
from fairlead.registry.problem import Problem, Severity
from fairlead.registry.settings import RegistrySettings


@dataclass(frozen=True, slots=True)
class ClusterView:
    """One cluster. `entry.access` is what is in force, which during a rotation is the old one.
    `engaged` says that listeners have its client."""

    entry: ClusterEntry
    health: HealthState
    identity: str | None = None
    engaged: bool = False
    credentials_expire_at: datetime | None = None
    credentials_renew_themselves: bool = False
    problems: tuple[Problem, ...] = ()

    @property
    def name(self) -> str:
        return self.entry.name


@dataclass(frozen=True, slots=True)
class RegistrySnapshot:
    """`generation` grows whenever anything but times and counts has changed."""

    generation: int = 0
    clusters: Mapping[str, ClusterView] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    @property
    def facts(self) -> tuple[object, ...]:
        """Everything a consumer should hear of when it changes."""
        clusters = [
            (
                *(view.entry.fingerprint, view.entry.source, view.identity, view.engaged),
                *(view.health.health, view.health.reason),
            )
            for view in self.clusters.values()
        ]
        return (*clusters, self.problems)


def merge(snapshots: Sequence[ProviderSnapshot]) -> tuple[dict[str, ClusterEntry], list[Problem]]:
    """The entries of all providers; of two with one name the earlier provider's counts."""
    entries: dict[str, ClusterEntry] = {}
    problems: list[Problem] = []
    for snapshot in snapshots:
        problems.extend(snapshot.problems)
        for entry in snapshot.entries:
            if entry.name in entries:
                problems.append(collision(entries[entry.name], entry))
            elif len(entries) >= MAX_CLUSTERS:
                problem = f"cluster {entry.name!r} is one too many, {MAX_CLUSTERS} are the limit"
                problems.append(Problem(entry.source, problem, "remove some", entry.name))
            else:
                entries[entry.name] = entry
    return entries, problems


def assemble(
    views: Iterable[ClusterView],
    problems: Iterable[Problem],
    settings: RegistrySettings,
    now: datetime,
) -> RegistrySnapshot:
    """One picture of the clusters, with what only shows when they are seen together."""
    clusters = {view.name: view for view in views}
    if observer_cut_off({view.name: view.health for view in clusters.values()}):
        clusters = {name: _cut_off(view) for name, view in clusters.items()}
    found = [
        *problems,
        *(problem for view in clusters.values() for problem in view.problems),
        *_same_cluster_twice(clusters.values()),
        *(_expiry(view, settings, now) for view in clusters.values()),
    ]
    return RegistrySnapshot(0, clusters, tuple(problem for problem in found if problem))


def _cut_off(view: ClusterView) -> ClusterView:
    message = "no cluster can be reached from here, so the fault is likely here: {}"
    if view.health.checked_at is None:
        return view
    error = message.format(view.health.last_error)
    return replace(view, health=replace(view.health, health=Health.UNKNOWN, last_error=error))


def _same_cluster_twice(views: Iterable[ClusterView]) -> list[Problem]:
    first: dict[str, ClusterView] = {}
    problems = []
    for view in views:
        if view.identity is None:
            continue
        other = first.setdefault(view.identity, view)
        if other is not view:
            message = f"clusters {other.name!r} and {view.name!r} are the same cluster"
            detail = f"{message} (identity {view.identity}); {other.name!r} is at "
            problems.append(
                Problem(
                    view.entry.source,
                    detail + other.entry.source,
                    "remove one of them unless both names are meant",
                    view.name,
                    Severity.WARNING,
                )
            )
    return problems


def _expiry(view: ClusterView, settings: RegistrySettings, now: datetime) -> Problem | None:
    """A certificate's end is a wall clock time by nature; this is the one place to compare it."""
    expires = view.credentials_expire_at
    if expires is None or view.credentials_renew_themselves:
        return None
    left = expires - now
    if left > settings.expiry_notice:
        return None
    what = f"the credential of cluster {view.name!r}"
    at = f"{expires:%Y-%m-%d %H:%M} UTC"
    if left.total_seconds() <= 0:
        message = f"{what} expired at {at}"
    elif left.days >= 2:
        message = f"{what} expires in {left.days} days, at {at}"
    else:
        message = f"{what} expires in {int(left.total_seconds() // 3600)} hours, at {at}"
    severity = Severity.ERROR if left <= settings.expiry_urgent else Severity.WARNING
    return Problem(view.entry.source, message, "renew it", view.name, severity)
