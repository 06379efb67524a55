"""Durations as Kubernetes writes them (`1m30s`): the type for a field, text to seconds and back.
Knows nothing of what is timed."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta

from fairlead.api.schema import Crd

PATTERN = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}

Duration = Annotated[str, Meta(pattern=PATTERN, max_length=32), Crd(format="duration")]


def parse_duration(text: str) -> float:
    """Seconds in a text such as `1m30s`; ValueError if it is not one."""
    if len(text) > 32 or not re.fullmatch(PATTERN, text):
        raise ValueError(f"{text[:40]!r} is not a duration such as 30s or 1m30s")
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))


def format_duration(seconds: float) -> str:
    """The shortest text of a duration, to the millisecond: `1m30s`, `250ms`, `0s`."""
    rest = max(0, round(seconds * 1000))
    text = ""
    for unit, size in (("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, rest = divmod(rest, size)
        text += f"{count}{unit}" if count else ""
    return text or "0s"
