"""One check of one cluster: is it ready, how fast does it answer, and which cluster is it? Owns
the requests and what their failures say; when to check and what follows is not decided here."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from fairlead.errors import FairleadError, Reason, Unreachable
from fairlead.kube.client import Client
from fairlead.kube.identity import cluster_identity
from fairlead.registry.entry import HealthCheck
from fairlead.registry.health import Check, Verdict
from fairlead.runtime.clock import Clock

_DEFAULT_PATHS = ("/readyz", "/version")
_NOT_FOR_US = frozenset({Reason.FORBIDDEN, Reason.NOT_SERVED, Reason.BAD_ANSWER})
_ANSWERED = frozenset({Reason.UNAUTHORIZED, Reason.FORBIDDEN, Reason.THROTTLED})
_NO_API_AT_ALL = frozenset({Reason.CONNECT, Reason.TIMEOUT, Reason.TLS, Reason.UNAUTHORIZED})


@dataclass(frozen=True, slots=True)
class Probe:
    """A check and the identity it found, if the cluster told."""

    check: Check
    identity: str | None


async def probe(client: Client, rule: HealthCheck, clock: Clock) -> Probe:
    """Ask once. Never raises for what the cluster does or does not do."""
    began = clock.monotonic()
    ready = _Readiness()
    identity: str | None = None
    error: FairleadError | None = None
    try:
        async with asyncio.timeout(rule.timeout):
            await ready.ask(client, rule, clock)
            identity = await cluster_identity(client)
    except TimeoutError:
        message = f"{client}: no answer within {rule.timeout:g}s; check the network and its load"
        error = Unreachable(Reason.TIMEOUT, message)
    except FairleadError as refused:
        error = refused
    seconds = clock.monotonic() - began if ready.seconds is None else ready.seconds
    return Probe(_judge(error, ready.complaint, seconds, rule), identity)


class _Readiness:
    """What the health paths said."""

    def __init__(self) -> None:
        self.seconds: float | None = None
        self.complaint: Unreachable | None = None

    async def ask(self, client: Client, rule: HealthCheck, clock: Clock) -> None:
        """Raises if asking for anything else would be in vain."""
        for path in (rule.path,) if rule.path else _DEFAULT_PATHS:
            began = clock.monotonic()
            try:
                await client.request("GET", path, accept="*/*", retry=False)
            except Unreachable as error:
                if error.reason in _NO_API_AT_ALL:
                    raise
                self.seconds = clock.monotonic() - began
                # A narrow role may forbid these paths; the identity then proves the API alive.
                if error.reason not in _NOT_FOR_US or rule.path:
                    self.complaint = error
                    return
                continue
            self.seconds = clock.monotonic() - began
            return


def _judge(
    error: FairleadError | None, complaint: Unreachable | None, seconds: float, rule: HealthCheck
) -> Check:
    if error is not None:
        reason = error.reason if isinstance(error, Unreachable) else Reason.BAD_ANSWER
        verdict = Verdict.IMPAIRED if reason in _ANSWERED else Verdict.FAILED
        return Check(verdict, seconds, str(error), reason)
    if complaint is not None:
        return Check(Verdict.IMPAIRED, seconds, str(complaint), complaint.reason)
    if seconds > rule.slow:
        message = f"answers slowly: {seconds:.1f}s, more than {rule.slow:g}s"
        return Check(Verdict.IMPAIRED, seconds, message, Reason.TIMEOUT)
    return Check(Verdict.GOOD, seconds)
