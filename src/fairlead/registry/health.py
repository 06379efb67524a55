"""The health of one cluster as one observer sees it: a pure state machine with hysteresis. Owns
what healthy, degraded, unhealthy and unknown mean; the caller passes checks and the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from fairlead.errors import Reason
from fairlead.registry.entry import HealthCheck

_WINDOW = 10
_SILENCE = frozenset({Reason.CONNECT, Reason.TIMEOUT})


class Health(StrEnum):
    """HEALTHY: it answers well. DEGRADED: it answers, but slowly, not always, not ready or not
    us. UNHEALTHY: it does not answer, or it is another cluster. UNKNOWN: nobody can tell."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"
    UNKNOWN = "unknown"


class Verdict(StrEnum):
    """What a single check says."""

    GOOD = "good"
    IMPAIRED = "impaired"
    """It answered, but slowly, not ready, or not to our credentials."""
    FAILED = "failed"
    WRONG_CLUSTER = "wrong-cluster"
    """Another cluster answers under this name: no doubt about it, so no hysteresis."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its verdict, how long it took, and what went wrong if something did."""

    verdict: Verdict
    seconds: float
    error: str | None = None
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class HealthState:
    """The health and what it rests on. `since` and `checked_at` are on the observer's monotonic
    clock; None means never."""

    observer: str
    health: Health = Health.UNKNOWN
    since: float | None = None
    checked_at: float | None = None
    response_time: float | None = None
    reason: Reason | None = None
    last_error: str | None = None
    failed: int = 0
    """Failed checks in a row, up to now."""
    impaired: int = 0
    """Checks in a row that were not good."""
    answered: int = 0
    """Checks in a row that were not failed."""
    good: int = 0
    """Good checks in a row."""
    recent: tuple[bool, ...] = ()
    """Whether each of the last checks was answered, for faults that come and go."""


def advance(state: HealthState, check: Check, rule: HealthCheck, now: float) -> HealthState:
    """The state after one more check."""
    answered = check.verdict in (Verdict.GOOD, Verdict.IMPAIRED)
    good = check.verdict is Verdict.GOOD
    counted = replace(
        state,
        checked_at=now,
        response_time=check.seconds if answered else state.response_time,
        reason=check.reason,
        last_error=check.error if not good else state.last_error,
        failed=0 if answered else state.failed + 1,
        impaired=0 if good else state.impaired + 1,
        answered=state.answered + 1 if answered else 0,
        good=state.good + 1 if good else 0,
        recent=(*state.recent, answered)[-_WINDOW:],
    )
    health = _next(counted, check.verdict, rule)
    if health is state.health:
        return counted
    # A recovery starts with a clean slate, or it would look like a fault that comes and goes.
    recent = () if state.health is Health.UNHEALTHY else counted.recent
    return replace(counted, health=health, since=now, recent=recent)


def _next(state: HealthState, verdict: Verdict, rule: HealthCheck) -> Health:
    if verdict is Verdict.WRONG_CLUSTER or state.failed >= rule.failure_threshold:
        return Health.UNHEALTHY
    if verdict is Verdict.FAILED:
        return _after_a_failure(state, rule)
    first_answer = state.health is Health.UNKNOWN
    if state.health is Health.UNHEALTHY and state.answered < rule.success_threshold:
        return Health.UNHEALTHY
    if verdict is Verdict.IMPAIRED:
        steady = first_answer or state.impaired >= rule.failure_threshold
        steady = steady or state.health is not Health.HEALTHY
        return Health.DEGRADED if steady else state.health
    if state.health is Health.DEGRADED:
        recovered = state.good >= rule.success_threshold and not _flapping(state, rule)
        return Health.HEALTHY if recovered else Health.DEGRADED
    return Health.HEALTHY


def _after_a_failure(state: HealthState, rule: HealthCheck) -> Health:
    unsteady = _flapping(state, rule) or state.impaired >= rule.failure_threshold
    if state.health is Health.HEALTHY and unsteady:
        return Health.DEGRADED
    return state.health


def _flapping(state: HealthState, rule: HealthCheck) -> bool:
    return state.recent.count(False) >= rule.failure_threshold


def observer_cut_off(states: Mapping[str, HealthState]) -> bool:
    """Whether the fault is more likely here than there: nothing answers, nowhere.

    It takes two clusters to tell: one silent cluster may well be down.
    """
    checked = [state for state in states.values() if state.checked_at is not None]
    silent = all(state.failed and state.reason in _SILENCE for state in checked)
    return len(checked) > 1 and silent
