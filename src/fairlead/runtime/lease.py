"""The Lease object that replicas agree by, and what can be read from it. Owns its fields and
their spelling; knows nothing of when to write it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from fairlead.kube.resource import LEASES, Object, Resource

_MICRO = "%Y-%m-%dT%H:%M:%S.%fZ"


class LeaseApi(Protocol):
    """The three verbs an election needs of a cluster's client."""

    async def get(
        self, resource: Resource, name: str, namespace: str | None = None, /
    ) -> Object: ...
    async def create(
        self, resource: Resource, obj: Object, namespace: str | None = None, /
    ) -> Object: ...
    async def replace(
        self, resource: Resource, obj: Object, namespace: str | None = None, /
    ) -> Object: ...


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The spec of a Lease. Its times are for people: machines compare only whether they changed."""

    holder: str
    duration: int
    acquired: str
    renewed: str
    transitions: int

    @classmethod
    def of(cls, lease: Object) -> LeaseRecord:
        spec: dict[str, Any] = lease.get("spec") or {}
        duration = spec.get("leaseDurationSeconds")
        transitions = spec.get("leaseTransitions")
        return cls(
            holder=str(spec.get("holderIdentity") or ""),
            duration=duration if isinstance(duration, int) else 0,
            acquired=str(spec.get("acquireTime") or ""),
            renewed=str(spec.get("renewTime") or ""),
            transitions=transitions if isinstance(transitions, int) else 0,
        )

    def spec(self) -> dict[str, Any]:
        return {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.duration,
            "acquireTime": self.acquired,
            "renewTime": self.renewed,
            "leaseTransitions": self.transitions,
        }


def whole_seconds(duration: float) -> int:
    """What a Lease can say: whole seconds, and rather longer than shorter."""
    return max(1, math.ceil(duration))


def new_lease(namespace: str, name: str, record: LeaseRecord) -> Object:
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {"namespace": namespace, "name": name},
        "spec": record.spec(),
    }


def changed_lease(lease: Object, record: LeaseRecord) -> Object:
    """The same object with another spec; its resourceVersion makes the write conditional."""
    return {**lease, "spec": {**(lease.get("spec") or {}), **record.spec()}}


def stamp(now: datetime, other_than: str) -> str:
    """`now` as a Lease spells it, moved on if that would look as if nothing had been renewed:
    others judge by change alone, and a wall clock may stand still or be set back."""
    text = now.astimezone(UTC).strftime(_MICRO)
    if text != other_than:
        return text
    return (now + timedelta(microseconds=1)).astimezone(UTC).strftime(_MICRO)
