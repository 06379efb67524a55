"""How long to wait before trying again: exponential, capped and jittered, so that many clients
of one struggling server do not return in step. Knows nothing of what is tried."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """`delay(0)` is the wait after the first failure: between half of `first` and `first`."""

    first: float = 0.5
    cap: float = 30.0

    def delay(self, failures: int) -> float:
        # The exponent is bounded: 2**failures of a long outage would overflow a float.
        return min(self.cap, self.first * 2.0 ** min(failures, 32)) * random.uniform(0.5, 1.0)
