"""One cluster as the registry lists it. Owns the type, its limits and the fingerprints by which
a change is told from a repetition; knows nothing of where entries come from."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fairlead.api.cluster_registry import MAX_CLUSTERS, NAME_LENGTH, NAME_PATTERN
from fairlead.kube.access import Access

__all__ = ["MAX_CLUSTERS", "ClusterEntry", "HealthCheck", "digest", "is_cluster_name"]

DEFAULT_WEIGHT = 100
MAX_WEIGHT = 1000

_NAME = re.compile(NAME_PATTERN)


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """How the health of a cluster is checked; times in seconds."""

    path: str | None = None
    """The path to ask; None: /readyz, and /version where that is not allowed or unknown."""
    interval: float = 30.0
    timeout: float = 10.0
    slow: float = 5.0
    """A good answer that takes longer than this counts as degraded."""
    failure_threshold: int = 3
    success_threshold: int = 2

    def with_given(self, **given: Any) -> HealthCheck:
        """These values where they are not None, the others as here; ValueError if they do not
        fit together. A shorter interval shortens a timeout that nobody asked for."""
        check = replace(self, **{key: value for key, value in given.items() if value is not None})
        if check.timeout <= check.interval:
            return check
        if given.get("timeout") is None:
            return replace(check, timeout=check.interval)
        problem = f"timeout ({check.timeout:g}s) is longer than interval ({check.interval:g}s)"
        raise ValueError(problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterEntry:
    """One cluster: what it is called, how to reach it, how to treat it.

    `credential` is a digest of the credential's material, never the material itself. `identity`
    is the UID somebody pinned, `available` False takes the cluster out of service. Fields of
    `health_check` that the entry left out are the settings'.
    """

    name: str
    access: Access
    credential: str = field(repr=False)
    source: str
    region: str | None = None
    namespace: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    weight: int = DEFAULT_WEIGHT
    available: bool = True
    identity: str | None = None
    health_check: HealthCheck = HealthCheck()  # frozen, so it can be shared
    renewed_elsewhere: bool = False
    """Somebody writes a new credential before this one ends, so its end is nothing to report."""
    connection: str = field(init=False, repr=False, compare=False)
    """Changes exactly when a new client is needed."""
    fingerprint: str = field(init=False, repr=False, compare=False)
    """Changes exactly when anything about the entry changes but the place it stands."""

    def __post_init__(self) -> None:
        # Once, and not on demand: with a thousand clusters they are compared all the time.
        object.__setattr__(self, "connection", self._connection())
        object.__setattr__(self, "fingerprint", self._fingerprint())

    @property
    def endpoint(self) -> str:
        return self.access.server

    def _connection(self) -> str:
        access, tls = self.access, self.access.tls
        authority = digest(tls.ca_pem or b"")
        trust = [authority, tls.server_name, tls.insecure, access.proxy_url]
        return digest([access.server, self.credential, *trust])

    def _fingerprint(self) -> str:
        check = self.health_check
        facts = [
            *[self.name, self.connection, self.region, self.namespace, dict(self.labels)],
            *[self.weight, self.available, self.identity, self.renewed_elsewhere],
            *[check.path, check.interval, check.timeout, check.slow],
            *[check.failure_threshold, check.success_threshold],
        ]
        return digest(facts)


def digest(material: Any) -> str:
    """A one-way fingerprint of bytes or JSON data."""
    if not isinstance(material, bytes):
        material = json.dumps(material, sort_keys=True).encode()
    return hashlib.sha256(material).hexdigest()


def is_cluster_name(name: str) -> bool:
    """Whether Kubernetes, paths and Secret keys can all carry this name."""
    return len(name) <= NAME_LENGTH and _NAME.fullmatch(name) is not None
