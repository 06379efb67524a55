from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.errors import Reason
from fairlead.registry.entry import HealthCheck
from fairlead.registry.health import (
    Check,
    Health,
    HealthState,
    Verdict,
    advance,
    observer_cut_off,
)

RULE = HealthCheck(failure_threshold=3, success_threshold=2)
CHECKS = {
    "+": Check(Verdict.GOOD, 0.01),
    "~": Check(Verdict.IMPAIRED, 6.0, "answers slowly"),
    "-": Check(Verdict.FAILED, 10.0, "no answer", Reason.TIMEOUT),
    "!": Check(Verdict.WRONG_CLUSTER, 0.01, "another cluster", Reason.WRONG_CLUSTER),
}
LETTERS = {
    Health.HEALTHY: "H",
    Health.DEGRADED: "D",
    Health.UNHEALTHY: "U",
    Health.UNKNOWN: "?",
}


def course(checks: str) -> tuple[str, HealthState]:
    """The health after each check, one letter each, and the last state."""
    state = HealthState("here")
    healths = ""
    for number, letter in enumerate(checks):
        state = advance(state, CHECKS[letter], RULE, float(number))
        healths += LETTERS[state.health]
    return healths, state


@pytest.mark.parametrize(
    "claim, checks, healths",
    [
        ("the first good check settles it", "++", "HH"),
        ("unknown until enough failures settle it", "---", "??U"),
        ("the first answer settles that it answers", "~", "D"),
        ("one or two failures change nothing", "+--+", "HHHH"),
        ("enough failures in a row do", "+---", "HHHU"),
        ("recovery takes several good checks", "+---+-++", "HHHUUUUH"),
        ("a recovery is not held back by old failures", "+---+++", "HHHUUHH"),
        ("a slow answer alone changes nothing", "+~~+", "HHHH"),
        ("slow answers in a row degrade", "+~~~", "HHHD"),
        ("degraded recovers after several good checks", "+~~~+~++", "HHHDDDDH"),
        ("degraded turns unhealthy as healthy does", "~---", "DDDU"),
        ("unhealthy comes back as degraded when it only limps", "---~~", "??UUD"),
        ("faults that come and go degrade", "+-+-+-+", "HHHHHDD"),
        ("and clear when they stay away", "+-+-+-" + "+" * 8, "HHHHHD" + "DDDDD" + "HHH"),
        ("another cluster is unhealthy at once", "+!", "HU"),
        ("also before anything else is known", "!", "U"),
        ("failures and limping together degrade", "+~-~", "HHHD"),
    ],
)
def test_health_follows_the_checks_with_hysteresis(claim: str, checks: str, healths: str) -> None:
    assert course(checks)[0] == healths, claim


def test_the_state_says_since_when_and_why() -> None:
    _, state = course("+---")

    assert state.since == 3.0
    assert state.checked_at == 3.0
    assert state.reason is Reason.TIMEOUT
    assert state.last_error == "no answer"
    assert state.response_time == 0.01
    assert state.observer == "here"


def test_the_last_error_is_kept_after_recovery_but_its_reason_is_not() -> None:
    _, state = course("---++")

    assert state.health is Health.HEALTHY
    assert state.last_error == "no answer"
    assert state.reason is None


@given(st.text(alphabet="+~-!", max_size=60))
@settings(deadline=None)
def test_an_unhealthy_cluster_never_turns_well_on_a_single_check(checks: str) -> None:
    healths, _ = course(checks)

    for before, after, check in zip(healths, healths[1:], checks[1:], strict=False):
        assert (before, after) not in {("H", "?"), ("D", "?"), ("U", "?")}
        if (before, after) == ("H", "U") and check != "!":
            assert "---" in checks


def silent() -> HealthState:
    return course("-")[1]


def refused() -> HealthState:
    state = HealthState("here")
    return advance(state, Check(Verdict.FAILED, 0.1, "bad", Reason.TLS), RULE, 0.0)


def test_the_observer_is_cut_off_only_when_nothing_answers_anywhere() -> None:
    assert observer_cut_off({"a": silent(), "b": silent()})
    assert not observer_cut_off({"a": silent(), "b": course("+")[1]})
    assert not observer_cut_off({"a": silent(), "b": refused()}), "TLS is an answer"
    assert not observer_cut_off({"a": silent()}), "one silent cluster may be down"
    assert not observer_cut_off({"a": silent(), "b": HealthState("here")})
    assert not observer_cut_off({})
