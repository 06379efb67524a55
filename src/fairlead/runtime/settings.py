"""What can be chosen about the engine, with defaults that suit a production agent. Owns the
values and their consistency; knows nothing of files, flags or environment variables."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class RuntimeSettings:
    reconcile_timeout: float = 120.0
    """A reconcile that takes longer is cancelled and tried again with backoff."""
    backoff_base: float = 0.1
    backoff_cap: float = 300.0
    """The first and the longest delay between two attempts at the same key."""
    minimum_poll: float = 0.1
    """`Result(after=…)` never comes back sooner, so a wrong sum cannot become a hot loop."""
    shutdown_grace: float = 20.0
    """How long running reconciles may go on after the order to stop."""
    cancel_grace: float = 5.0
    """How long cancelled work may take to clean up before it is left behind and reported."""

    leader_election: bool = False
    """Whether replicas agree, by a Lease in each cluster, on the one that works there."""
    lease_namespace: str = "fairlead-system"
    lease_name: str = "fairlead-agent"
    identity: str = ""
    """This process among its replicas; empty: host name and a random part."""
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    probe_host: str = "0.0.0.0"
    probe_port: int = 8080
    """0 lets the system choose a free port."""
    heartbeat_limit: float = 30.0
    """The event loop may stand still that long before `/livez` fails."""

    log_level: str = "info"
    log_format: str = "auto"
    """`json`, `console`, or `auto`: console on a terminal, JSON elsewhere."""

    def __post_init__(self) -> None:
        for name in ("reconcile_timeout", "backoff_base", "minimum_poll", "retry_period"):
            if not getattr(self, name) > 0:
                raise InvalidInput(f"runtime.{name}", f"{getattr(self, name)} is not above zero")
        for name in ("shutdown_grace", "cancel_grace"):
            if not getattr(self, name) >= 0:
                raise InvalidInput(f"runtime.{name}", f"{getattr(self, name)} is below zero")
        if not self.backoff_cap >= self.backoff_base:
            raise InvalidInput("runtime.backoff_cap", "is below runtime.backoff_base")
        self._check_lease()
        if not 0 <= self.probe_port <= 65535:
            raise InvalidInput(
                "runtime.probe_port", f"{self.probe_port} is no port", "choose 0 to 65535"
            )
        if self.log_format not in ("json", "console", "auto"):
            raise InvalidInput(
                "runtime.log_format",
                f"{self.log_format!r} is unknown",
                "choose json, console or auto",
            )
        if self.log_level.lower() not in ("debug", "info", "warning", "error"):
            raise InvalidInput(
                "runtime.log_level",
                f"{self.log_level!r} is unknown",
                "choose debug, info, warning or error",
            )

    def _check_lease(self) -> None:
        if not self.lease_duration > self.renew_deadline:
            raise InvalidInput(
                "runtime.renew_deadline",
                "is not below runtime.lease_duration, so two replicas could work at once",
            )
        if not self.renew_deadline > self.retry_period * 1.2:
            raise InvalidInput(
                "runtime.retry_period",
                "leaves no second attempt within runtime.renew_deadline",
                "make it less than five sixths of the deadline",
            )
