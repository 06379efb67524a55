"""Delays that double from failure to failure, with jitter so that a crowd spreads out. Owns the
arithmetic; knows nothing of who failed at what."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

_MOST_DOUBLINGS = 64  # beyond that every cap is reached, and a float would overflow


@dataclass(frozen=True, slots=True)
class Backoff:
    base: float = 0.1
    cap: float = 300.0
    jitter: float = 0.2
    """The share of a delay that chance may take away; the cap is never exceeded."""
    random: random.Random = field(default_factory=random.Random, repr=False, compare=False)

    def delay(self, failures: int) -> float:
        """How long to wait after the nth failure in a row, counted from 1."""
        doublings = min(max(failures - 1, 0), _MOST_DOUBLINGS)
        full = min(self.cap, self.base * 2.0**doublings)
        return full * (1.0 - self.jitter * self.random.random())
