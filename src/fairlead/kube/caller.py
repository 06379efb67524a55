"""Carries out calls against one API server: asks again where that is safe and may help, presents
fresh credentials after a 401, keeps the deadline, reports every attempt, and raises only errors
of the one tree. Knows nothing of the verbs; `client` does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

from aiohttp import ClientTimeout
from yarl import URL

from fairlead.errors import FairleadError, Unreachable
from fairlead.kube.access import Access
from fairlead.kube.call import JSON, Answer, Call, pause_before_repeat
from fairlead.kube.errors import Asked
from fairlead.kube.faults import NETWORK_FAULTS, no_answer
from fairlead.kube.refusals import bad_answer, outline, refusal
from fairlead.kube.transport import Stream, Transport

_REFUSAL_BYTES = 1 << 20


class RequestSeen(NamedTuple):
    """One attempt as metrics want it. `code` is an HTTP code or the reason for having none."""

    method: str
    resource: str
    code: str
    seconds: float


Observe = Callable[[RequestSeen], None]


class Caller:
    """Calls to one cluster, each bounded by `timeout` with all its repetitions."""

    def __init__(
        self,
        access: Access,
        transport: Transport,
        *,
        name: str,
        timeout: float,
        observe: Observe | None,
    ) -> None:
        self.cluster = f"{f'cluster {name}' if name else access.description} ({access.server})"
        self._host = URL(access.server).authority
        self._transport = transport
        self._timeout = timeout
        self._observe = observe

    async def perform(
        self, call: Call, timeout: float | None = None, *, retry: bool = True
    ) -> Answer:
        """The answer to a call, always 2xx; everything else is raised."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (timeout or self._timeout)
        failures = 0
        refreshed = False
        while True:
            error: FairleadError
            try:
                answer = await self._attempt(call, deadline)
            except Unreachable as fault:
                error = fault
            else:
                if 200 <= answer.code < 300:
                    return answer
                if answer.code == 401 and not refreshed:
                    refreshed = True
                    if self._transport.refresh_after_401(call):
                        continue
                error = refusal(self.asked(call), answer.code, answer.headers, answer.body)
            failures += 1
            pause = _pause(call, error, failures) if retry else None
            if pause is None or loop.time() + pause >= deadline:
                raise error
            await asyncio.sleep(pause)

    async def stream(self, call: Call, time_limits: ClientTimeout) -> Stream:
        """An accepted call's answer with its body still to come. Never repeated, but for a 401."""
        refreshed = False
        while True:
            stream = await self._open(call, time_limits)
            if stream.code == 200 and JSON in stream.headers.get("Content-Type", ""):
                return stream
            try:
                body = await stream.read_all(_REFUSAL_BYTES)
            finally:
                await stream.close()
            if stream.code == 401 and not refreshed and self._transport.refresh_after_401(call):
                refreshed = True
                continue
            if stream.code == 200:
                raise bad_answer(self.asked(call), outline(stream.headers, body))
            raise refusal(self.asked(call), stream.code, stream.headers, body)

    def asked(self, call: Call) -> Asked:
        path = call.target.partition("?")[0]
        return Asked(
            self.cluster,
            self._host,
            call.method,
            path,
            call.resource,
            call.namespace,
            call.name,
        )

    async def _attempt(self, call: Call, deadline: float) -> Answer:
        started = time.monotonic()
        call.sent = False
        try:
            async with asyncio.timeout_at(deadline):
                answer = await self._transport.exchange(call)
        except NETWORK_FAULTS as fault:
            raise self._failed(call, fault, started) from fault
        if self._observe is not None:
            self._seen(call, str(answer.code), started)
        return answer

    async def _open(self, call: Call, time_limits: ClientTimeout) -> Stream:
        started = time.monotonic()
        try:
            stream = await self._transport.stream(call, time_limits)
        except NETWORK_FAULTS as fault:
            raise self._failed(call, fault, started) from fault
        self._seen(call, str(stream.code), started)
        return stream

    def _failed(self, call: Call, fault: BaseException, started: float) -> Unreachable:
        error = no_answer(self.asked(call), fault, sent=call.sent)
        self._seen(call, error.reason, started)
        return error

    def _seen(self, call: Call, code: str, started: float) -> None:
        if self._observe is not None:
            resource = "" if call.resource is None else str(call.resource)
            self._observe(RequestSeen(call.method, resource, code, time.monotonic() - started))


def _pause(call: Call, error: FairleadError, failures: int) -> float | None:
    if not isinstance(error, Unreachable):
        return None
    return pause_before_repeat(call.repeat, error, failures)
