"""The settings of the registry. Owns the defaults; `fairlead.settings` fills them from files and
the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from fairlead.registry.entry import HealthCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySettings:
    """How clusters are watched."""

    observer: str = "fairlead"
    """The name under which this process reports what it sees: reachability differs by place."""

    health_check: HealthCheck = field(default_factory=HealthCheck)
    """The check of every cluster whose entry does not say otherwise."""

    jitter: float = 0.1
    """The share of the interval by which checks are spread, so that they do not beat as one."""

    concurrent_checks: int = 16
    """How many clusters are asked at the same time."""

    expiry_notice: timedelta = timedelta(days=30)
    """How long before the end of a certificate or token a warning is reported."""

    expiry_urgent: timedelta = timedelta(days=7)
    """How long before that end the warning becomes an error."""

    identity_file: Path | None = None
    """Where the identity of each cluster is remembered over restarts; None: only in memory."""

    known_identities: Mapping[str, str] = field(default_factory=dict)
    """Identities known from elsewhere, by cluster; the file knows better."""
