"""How much is measured: the numbers the bars are defined for, and small ones that only prove that
every measurement runs. Knows nothing of what is done with them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    requests: int = 1_000
    parallel: int = 20
    request_rounds: int = 9
    objects: int = 10_000
    follower_rounds: int = 3
    settle_seconds: float = 6.0
    """Longer than kopf keeps the worker of an idle object."""
    keys: int = 10_000
    events_per_second: int = 1_000
    steady_seconds: float = 10.0
    engine_rounds: int = 3
    writes: int = 1_000
    cluster_rounds: int = 3
    real: bool = True
    """Whether a real kube-apiserver is measured beside the simulated one."""


FULL = Sizes()
QUICK = Sizes(
    requests=40,
    request_rounds=1,
    objects=50,
    follower_rounds=1,
    settle_seconds=0.0,
    keys=200,
    events_per_second=200,
    steady_seconds=0.3,
    engine_rounds=1,
    writes=20,
    cluster_rounds=1,
    real=False,
)
