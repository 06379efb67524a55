"""Conditions: the one way an object says how it is. Pure functions that return new lists; the
caller passes the time, nothing here looks at a clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fairlead.api.meta import ApiStruct
from fairlead.api.schema import Crd

Status = Literal["True", "False", "Unknown"]


class Condition(ApiStruct, kw_only=True, frozen=True):
    """One aspect of the observed state, in the form that `kubectl wait` understands."""

    type: (
        Annotated[
            str,
            Meta(description="What the condition is about, in CamelCase.", max_length=316),
            Crd(required=True),
        ]
        | None
    ) = None
    status: Annotated[Status, Meta(description="Whether it holds."), Crd(required=True)] | None = (
        None
    )
    observed_generation: (
        Annotated[int, Meta(description="The metadata.generation this was judged on.", ge=0)] | None
    ) = None
    last_transition_time: (
        Annotated[datetime, Meta(description="When `status` last changed."), Crd(required=True)]
        | None
    ) = None
    reason: (
        Annotated[
            str,
            Meta(
                description="Why, as one CamelCase word for programs.",
                pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                max_length=1024,
            ),
            Crd(required=True),
        ]
        | None
    ) = None
    message: (
        Annotated[
            str,
            Meta(description="Why, as one sentence for people.", max_length=32768),
            Crd(required=True),
        ]
        | None
    ) = None


def find(conditions: Iterable[Condition] | None, type_: str) -> Condition | None:
    return next((c for c in conditions or () if c.type == type_), None)


def is_true(
    conditions: Iterable[Condition] | None, type_: str, generation: int | None = None
) -> bool:
    """Whether the condition holds, and if `generation` is given, for that generation or later."""
    condition = find(conditions, type_)
    if condition is None or condition.status != "True":
        return False
    return generation is None or (condition.observed_generation or 0) >= generation


def set_condition(
    conditions: Sequence[Condition] | None, condition: Condition, now: datetime
) -> list[Condition]:
    """The conditions with this one set; its transition time moves only with its status."""
    old = find(conditions, condition.type or "")
    unchanged = old is not None and old.status == condition.status
    since = old.last_transition_time if old is not None and unchanged else None
    # metav1.Time has whole seconds: a fraction would make every later comparison differ.
    since = since or now.astimezone(UTC).replace(microsecond=0)
    new = msgspec.structs.replace(condition, last_transition_time=since)
    if old is None:
        return [*(conditions or ()), new]
    return [new if c.type == condition.type else c for c in conditions or ()]


def merge_conditions(
    conditions: Sequence[Condition] | None,
    news: Iterable[Condition],
    now: datetime,
    observed_generation: int | None = None,
) -> list[Condition]:
    """Each of `news` set in turn, judged on `observed_generation` where it does not say so."""
    merged = list(conditions or ())
    for new in news:
        generation = new.observed_generation or observed_generation
        judged = msgspec.structs.replace(new, observed_generation=generation)
        merged = set_condition(merged, judged, now)
    return merged
