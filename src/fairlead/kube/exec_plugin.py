"""Credentials printed by a program (`users[].user.exec` of a kubeconfig), protocol versions v1 and
v1beta1. Owns that protocol and the sharing of one refresh; knows nothing of kubeconfig files."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

import msgspec

from fairlead.errors import InvalidInput, Reason, Unreachable
from fairlead.kube.access import CertificatePair, Credentials, Presented
from fairlead.kube.credentials import bearer, certificate_expiry, earliest, presented_expiry
from fairlead.kube.exec_process import Finished, OutputTooLong, run_program
from fairlead.kube.tls import check_certificate

API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
TIMEOUT_SECONDS = 60.0
INTERACTIVE_TIMEOUT_SECONDS = 300.0
SKEW = timedelta(seconds=30)
# A program whose answers are already expired must not be run for every single request.
MIN_REUSE_SECONDS = 5.0

_SECRET_FLAG = re.compile(r"-[\w-]*(?:secret|password|token|key)[\w-]*", re.IGNORECASE)
_LOOKS_SECRET = re.compile(r"[A-Za-z0-9_+=-]{32,}(?:\.[A-Za-z0-9_+=-]+)*")


class InteractiveMode(StrEnum):
    NEVER = "Never"
    IF_AVAILABLE = "IfAvailable"
    ALWAYS = "Always"


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """Which program to run and what to tell it. `origin` says for errors who asked for it."""

    command: str
    api_version: str
    origin: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    install_hint: str = ""
    interactive_mode: InteractiveMode = InteractiveMode.IF_AVAILABLE
    cluster: Mapping[str, Any] | None = field(default=None, repr=False)

    def error(self, problem: str) -> Unreachable:
        message = f"{self.origin}: the exec plugin {self.command!r} {problem}"
        return Unreachable(Reason.UNAUTHORIZED, message)


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a program answered."""

    authorization: str | None = field(repr=False)
    certificate: CertificatePair | None = field(repr=False)
    expires_at: datetime | None


class ExecCredentials:
    """What the program printed, until it expires or is refused; `base` adds what it did not give.

    Concurrent callers share one run of the program, and its failure too.
    """

    refreshable = True

    def __init__(
        self,
        plugin: ExecPlugin,
        base: Credentials,
        *,
        timeout: float | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._plugin = plugin
        self._base = base
        self._timeout = timeout
        self._now = now
        self._clock = clock
        self._fetched: Fetched | None = None
        self._tried_at = 0.0
        self._refresh: asyncio.Task[Fetched] | None = None
        self._waiting = 0

    @property
    def expires_at(self) -> datetime | None:
        if self._fetched is None:
            return self._base.expires_at
        own = Presented(self._fetched.authorization, self._fetched.certificate)
        return earliest((self._fetched.expires_at, presented_expiry(own), self._base.expires_at))

    async def current(self) -> Presented:
        given = await self._base.current()
        fetched = self._usable() or await self._shared_refresh()
        return replace(
            given,
            authorization=fetched.authorization or given.authorization,
            certificate=fetched.certificate or given.certificate,
        )

    def invalidate(self, presented: Presented) -> None:
        fetched = self._fetched
        if fetched is None or presented.authorization != fetched.authorization:
            return
        if fetched.certificate is None or presented.certificate == fetched.certificate:
            self._fetched = None

    def _usable(self) -> Fetched | None:
        fetched = self._fetched
        if fetched is None or fetched.expires_at is None:
            return fetched
        if self._clock() - self._tried_at < MIN_REUSE_SECONDS:
            return fetched
        return fetched if self._now() + SKEW < fetched.expires_at else None

    async def _shared_refresh(self) -> Fetched:
        if self._refresh is None:
            self._refresh = asyncio.create_task(self._run())
        task = self._refresh
        self._waiting += 1
        try:
            # Shielded: one caller that gives up must not take it away from the others.
            return await asyncio.shield(task)
        finally:
            self._waiting -= 1
            if self._waiting == 0:
                self._refresh = None
                task.cancel()

    async def _run(self) -> Fetched:
        try:
            fetched = await fetch(self._plugin, self._timeout)
        except Unreachable:
            # Refreshed ahead of time: what we have is still good for a moment.
            old = self._fetched
            if old is None or old.expires_at is None or old.expires_at <= self._now():
                raise
            fetched = old
        self._fetched = fetched
        self._tried_at = self._clock()
        return fetched


async def fetch(plugin: ExecPlugin, timeout: float | None = None) -> Fetched:
    """Runs the program once. Raises `Unreachable`, never with anything it printed as answer."""
    interactive = _interactive(plugin)
    env = _environment(plugin, interactive)
    program = shutil.which(plugin.command, path=env.get("PATH"))
    if program is None:
        hint = _one_line(plugin.install_hint) or "install it or correct `command`"
        raise plugin.error(f"is not an executable that can be found; {hint}")
    if timeout is None:
        timeout = INTERACTIVE_TIMEOUT_SECONDS if interactive else TIMEOUT_SECONDS
    try:
        finished = await run_program(
            [program, *plugin.args], env, interactive=interactive, timeout=timeout
        )
    except TimeoutError as error:
        problem = f"did not finish within {timeout:g} s; run it by hand to see what it waits for"
        raise plugin.error(problem) from error
    except OutputTooLong as error:
        raise plugin.error("printed far more than a credential; check its arguments") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "bad command, argument or environment"
        raise plugin.error(f"cannot be started ({reason}); correct `command`") from error
    if finished.code != 0:
        raise plugin.error(_failure(plugin, finished))
    return _decode(plugin, finished.stdout)


def _interactive(plugin: ExecPlugin) -> bool:
    available = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
    if plugin.interactive_mode is InteractiveMode.ALWAYS and not available:
        raise plugin.error("needs a terminal and there is none; log in from a terminal first")
    return available and plugin.interactive_mode is not InteractiveMode.NEVER


def _environment(plugin: ExecPlugin, interactive: bool) -> dict[str, str]:
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.cluster is not None:
        spec["cluster"] = plugin.cluster
    info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    return {**os.environ, **dict(plugin.env), "KUBERNETES_EXEC_INFO": json.dumps(info)}


class _Status(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


def _decode(plugin: ExecPlugin, output: bytes) -> Fetched:
    try:
        answer = msgspec.json.decode(output, type=_ExecCredential)
        expires_at = _utc(answer.status.expiration_timestamp if answer.status else None)
    except (msgspec.MsgspecError, UnicodeDecodeError, OverflowError, RecursionError):
        # Not chained: what the parser complains about is the answer, and that is a secret.
        raise plugin.error("did not print an ExecCredential as JSON; run it by hand") from None
    if answer.kind != "ExecCredential":
        raise plugin.error("did not print an object of kind ExecCredential; update it")
    if answer.api_version != plugin.api_version:
        asked = plugin.api_version.rpartition("/")[2]
        raise plugin.error(f"did not answer in version {asked}; correct `apiVersion` or update it")
    status = answer.status or _Status()
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        raise plugin.error("gave a client certificate without key or the reverse; update it")
    if not status.token and not status.client_key_data:
        raise plugin.error("gave neither a token nor a client certificate; log in again with it")
    try:
        authorization = bearer(status.token) if status.token else None
        certificate = _certificate(status)
    except InvalidInput as error:
        raise plugin.error(f"gave something unusable: {error}") from error
    # A server ends the handshake over an expired certificate: no 401 would ever trigger a refresh.
    not_after = certificate_expiry(certificate.cert_pem) if certificate else None
    return Fetched(authorization, certificate, earliest((expires_at, not_after)))


def _certificate(status: _Status) -> CertificatePair | None:
    if not status.client_certificate_data or not status.client_key_data:
        return None
    pair = CertificatePair(
        status.client_certificate_data.encode("utf-8"), status.client_key_data.encode("utf-8")
    )
    check_certificate(pair)
    return pair


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.astimezone(UTC)


def _failure(plugin: ExecPlugin, finished: Finished) -> str:
    said = _one_line(_without_secrets(plugin, finished.stderr.decode("utf-8", "replace")))
    how = f"exit code {finished.code}" if finished.code >= 0 else f"signal {-finished.code}"
    return f"failed with {how}" + (f": {said}" if said else "; run it by hand to see why")


def _without_secrets(plugin: ExecPlugin, text: str) -> str:
    """`text` without what was handed to the program in confidence or looks like a token."""
    confided = [value for _, value in plugin.env]
    for flag, following in zip(plugin.args, (*plugin.args[1:], ""), strict=True):
        name, given, value = flag.partition("=")
        if _SECRET_FLAG.fullmatch(name):
            confided.append(value if given else following)
    for secret in sorted(confided, key=len, reverse=True):
        if len(secret) >= 6:
            text = text.replace(secret, "(hidden)")
    return _LOOKS_SECRET.sub("(hidden)", text)


def _one_line(text: str, limit: int = 400) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
