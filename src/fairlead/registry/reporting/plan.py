"""From what was observed to the status that should stand there. Pure: no I/O, and the time is
passed in."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from fairlead.api.cluster_registry import ClusterRegistryStatus, ClusterStatus
from fairlead.api.conditions import Condition, merge_conditions
from fairlead.api.durations import format_duration
from fairlead.registry.health import Health
from fairlead.registry.reporting.observe import Observed
from fairlead.registry.snapshot import ClusterView

_LONGEST_ERROR = 1024


@dataclass(frozen=True, slots=True)
class HealthChange:
    """A cluster whose health is not what was last reported: worth an Event."""

    cluster: str
    before: str
    after: str
    message: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The status to write, or None if the one that stands there says the same."""

    status: ClusterRegistryStatus | None
    changes: tuple[HealthChange, ...]
    reason: str


def plan(observed: Observed, now: datetime) -> Plan:
    entries = [_entry(observed, name) for name in observed.listed]
    summary = _summary(observed)
    status = ClusterRegistryStatus(
        observed_generation=observed.generation,
        summary=summary,
        conditions=merge_conditions(
            observed.status.conditions, _conditions(observed, summary), now, observed.generation
        ),
        clusters=entries,
    )
    changed = _telling(status, observed.observer) != _telling(observed.status, observed.observer)
    return Plan(status if changed else None, _changes(observed, entries), summary)


def _entry(observed: Observed, name: str) -> ClusterStatus:
    view = observed.clusters.get(name)
    if view is None:
        error = "is not in the registry of this observer; see its problems"
        return ClusterStatus(
            name=name, observer=observed.observer, health="unknown", last_error=error
        )
    health = view.health
    ill = health.health is not Health.HEALTHY
    answered = health.response_time is not None
    expires = view.credentials_expire_at
    return ClusterStatus(
        name=name,
        observer=observed.observer,
        health=health.health.value,
        reason=health.reason.value if health.reason else None,
        last_error=(health.last_error or "")[:_LONGEST_ERROR] or None if ill else None,
        identity=view.identity,
        response_time=format_duration(health.response_time or 0) if answered else None,
        credentials_expire_at=expires.astimezone(UTC).replace(microsecond=0) if expires else None,
    )


def _summary(observed: Observed) -> str:
    counts = Counter(_health(observed.clusters.get(name)) for name in observed.listed)
    if not observed.listed:
        return "no clusters"
    if counts[Health.HEALTHY] == len(observed.listed):
        return f"{len(observed.listed)} healthy"
    order = (Health.UNHEALTHY, Health.DEGRADED, Health.UNKNOWN, Health.HEALTHY)
    return ", ".join(f"{counts[health]} {health.value}" for health in order if counts[health])


def _health(view: ClusterView | None) -> Health:
    return view.health.health if view else Health.UNKNOWN


def _conditions(observed: Observed, summary: str) -> list[Condition]:
    return [_valid(observed), _ready(observed, summary)]


def _valid(observed: Observed) -> Condition:
    if not observed.problems:
        return Condition(
            type="Valid", status="True", reason="AllUsable", message="every entry can be used"
        )
    more = f" (and {len(observed.problems) - 1} more)" if len(observed.problems) > 1 else ""
    message = observed.problems[0][:_LONGEST_ERROR] + more
    return Condition(type="Valid", status="False", reason="BadEntry", message=message)


def _ready(observed: Observed, summary: str) -> Condition:
    ill = {
        name: health
        for name in observed.listed
        if (health := _health(observed.clusters.get(name))) is not Health.HEALTHY
    }
    if not ill:
        return Condition(type="Ready", status="True", reason="AllHealthy", message=summary)
    known = any(health is not Health.UNKNOWN for health in ill.values())
    return Condition(
        type="Ready",
        status="False" if known else "Unknown",
        reason="NotAllHealthy" if known else "NotAllKnown",
        message=", ".join(f"{name} is {health.value}" for name, health in ill.items()),
    )


def _changes(observed: Observed, entries: list[ClusterStatus]) -> tuple[HealthChange, ...]:
    before = {
        entry.name: entry.health
        for entry in observed.status.clusters or ()
        if entry.observer == observed.observer
    }
    return tuple(
        HealthChange(
            entry.name or "",
            before.get(entry.name) or "unknown",
            entry.health or "unknown",
            entry.last_error or f"answers in {entry.response_time or 'time'}",
        )
        for entry in entries
        if (before.get(entry.name) or "unknown") != entry.health
    )


def _telling(status: ClusterRegistryStatus, observer: str) -> ClusterRegistryStatus:
    """What is worth a write: response times change with every check and are not."""
    entries = [
        msgspec.structs.replace(entry, response_time=None)
        for entry in status.clusters or ()
        if entry.observer == observer
    ]
    return msgspec.structs.replace(status, clusters=entries)
