from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from fairlead.api.conditions import (
    Condition,
    find,
    is_true,
    merge_conditions,
    set_condition,
)
from fairlead.api.meta import encode

NOON = datetime(2024, 5, 1, 12, 0, 0, tzinfo=UTC)
LATER = NOON + timedelta(minutes=5)


def ready(status: str, message: str = "because", generation: int | None = 1) -> Condition:
    assert status in ("True", "False", "Unknown")
    return Condition(
        type="Ready",
        status=status,  # type: ignore[arg-type]  # narrowed by the line above
        reason="Because",
        message=message,
        observed_generation=generation,
    )


def test_the_transition_time_moves_only_when_the_status_changes() -> None:
    first = set_condition(None, ready("True"), NOON)
    same = set_condition(first, ready("True", "another sentence", 2), LATER)
    changed = set_condition(same, ready("False"), LATER)

    assert [c.last_transition_time for c in first] == [NOON]
    assert [c.last_transition_time for c in same] == [NOON]
    assert same[0].message == "another sentence"
    assert same[0].observed_generation == 2
    assert [c.last_transition_time for c in changed] == [LATER]


def test_the_transition_time_is_whole_seconds_of_utc() -> None:
    zone = timezone(timedelta(hours=2))
    local = datetime(2024, 5, 1, 14, 0, 0, 123456, tzinfo=zone)

    (condition,) = set_condition([], ready("True"), local)

    assert encode(condition)["lastTransitionTime"] == "2024-05-01T12:00:00Z"


def test_other_conditions_and_their_order_stay() -> None:
    other = Condition(type="Valid", status="True")
    conditions = set_condition([other], ready("True"), NOON)
    conditions = set_condition(conditions, ready("False"), LATER)

    assert [c.type for c in conditions] == ["Valid", "Ready"]
    assert conditions[0] is other


def test_a_condition_of_an_older_generation_does_not_count() -> None:
    conditions = set_condition(None, ready("True", generation=3), NOON)

    assert is_true(conditions, "Ready")
    assert is_true(conditions, "Ready", generation=3)
    assert not is_true(conditions, "Ready", generation=4)
    assert not is_true(conditions, "Valid")
    assert not is_true(None, "Ready")
    assert find(conditions, "Ready") is conditions[0]


def test_merging_judges_every_new_condition_on_the_generation() -> None:
    news = [ready("True", generation=None), Condition(type="Valid", status="False")]

    merged = merge_conditions(None, news, NOON, observed_generation=7)

    assert [(c.type, c.observed_generation) for c in merged] == [("Ready", 7), ("Valid", 7)]
