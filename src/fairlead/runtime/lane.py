"""One controller's work in one cluster: its queue, its workers, what fails there. Owns the life
of a reconcile from the queue to its outcome; knows nothing of watches, leases or other lanes."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass

import structlog
from structlog.contextvars import bind_contextvars

from fairlead.backoff import Backoff
from fairlead.errors import Transient
from fairlead.runtime.clock import Clock
from fairlead.runtime.controller import Controller
from fairlead.runtime.metrics import Metrics
from fairlead.runtime.outcome import Ending, Failure, Result, failure_of
from fairlead.runtime.queue import QueueClosed, Taken, WorkQueue
from fairlead.runtime.request import Request
from fairlead.runtime.settings import RuntimeSettings

_STUCK_MARGIN = 30.0


@dataclass(frozen=True, slots=True)
class Failing:
    """A key whose last reconcile did not go well."""

    controller: str
    request: Request
    terminal: bool
    reason: str
    message: str
    failures: int


class Lane:
    def __init__(
        self,
        controller: Controller,
        cluster: str,
        *,
        settings: RuntimeSettings,
        metrics: Metrics,
        clock: Clock,
    ) -> None:
        self.controller = controller
        self.cluster = cluster
        self.failing: dict[Request, Failing] = {}
        self.queue: WorkQueue[Request] = WorkQueue(
            clock, Backoff(settings.backoff_base, settings.backoff_cap)
        )
        self._log = structlog.get_logger(__name__).bind()  # looked up once, not per reconcile
        self._said: dict[Request, str] = {}
        self._timeout = controller.timeout or settings.reconcile_timeout
        self._minimum_poll = settings.minimum_poll
        self._metrics = metrics.reconciles(controller.name, cluster)
        self._clock = clock

    async def serve(self, may_work: Callable[[], bool]) -> None:
        """Works off the queue until it is closed. `may_work` is asked before each reconcile."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(self.controller.workers):
                workers.create_task(self._work(may_work))

    def stuck(self) -> str | None:
        """The sentence about a reconcile that goes on although its time was over long ago."""
        longest = self.queue.longest_processing()
        if longest <= self._timeout + _STUCK_MARGIN:
            return None
        name = self.controller.name
        return f"a reconcile of {name} in {self.cluster} ignores its timeout since {longest:.0f} s"

    async def _work(self, may_work: Callable[[], bool]) -> None:
        bind_contextvars(cluster=self.cluster, controller=self.controller.name)
        while True:
            # A reconciler that never waits must not keep other clusters from their turn.
            await asyncio.sleep(0)
            try:
                taken = await self.queue.get()
            except QueueClosed:
                return
            try:
                if not may_work():
                    self.queue.add(taken.key)
                    return
                await self._reconcile(taken)
            except BaseException:
                self.queue.add(taken.key)  # interrupted is not done
                raise
            finally:
                self.queue.done(taken.key)

    async def _reconcile(self, taken: Taken[Request]) -> None:
        request, metrics = taken.key, self._metrics
        # A worker's context is its own, and this replaces what the last reconcile left there.
        bind_contextvars(object=request.object, reconcile_id=secrets.token_hex(6))
        metrics.waited.observe(taken.waited)
        metrics.active.inc()
        began = self._clock.monotonic()
        try:
            ending = await self._attempt(request)
        finally:
            metrics.active.dec()
        seconds = self._clock.monotonic() - began
        metrics.duration.observe(seconds)
        metrics.endings[ending].inc()
        self._log.debug("reconcile ended", result=ending.value, seconds=seconds)

    async def _attempt(self, request: Request) -> Ending:
        try:
            result = await self._in_time(request)
        except Exception as error:  # noqa: BLE001 - a bug in one reconciler must not end the rest
            return self._failed(request, error)
        self.queue.succeeded(request)
        self.failing.pop(request, None)
        result = result or Result()
        self._say(request, result.reason)
        if result.after is None:
            return Ending.SUCCESS
        self.queue.add_after(request, max(result.after, self._minimum_poll))
        return Ending.REQUEUE

    def _say(self, request: Request, reason: str) -> None:
        """A sentence is news once; a poll that finds the same again is not."""
        if not reason:
            self._said.pop(request, None)
        elif self._said.get(request) != reason:
            self._said[request] = reason
            self._log.info("reconciled", reason=reason)

    async def _in_time(self, request: Request) -> Result | None:
        try:
            async with asyncio.timeout(self._timeout) as limit:
                return await self.controller.reconciler.reconcile(request)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise Transient(f"not finished after {self._timeout:g} seconds") from error

    def _failed(self, request: Request, error: Exception) -> Ending:
        failure = failure_of(error)
        self._said.pop(request, None)
        if failure.ending is Ending.TERMINAL:
            self.queue.forget(request)
            self._remember(request, failure, 1)
            self._log.warning(
                "reconcile gave up until something changes",
                reason=failure.reason,
                error=failure.message,
            )
            return Ending.TERMINAL
        failures, delay = self.queue.retry(request)
        self._remember(request, failure, failures)
        fields = {
            "reason": failure.reason,
            "error": failure.message,
            "failures": failures,
            "after": round(delay, 3),
        }
        if not failure.expected:
            self._log.error("reconcile broke", exc_info=error, **fields)
        elif failure.contention:
            self._log.info("reconcile was overtaken", **fields)
        else:
            self._log.warning("reconcile failed", **fields)
        return Ending.ERROR

    def _remember(self, request: Request, failure: Failure, failures: int) -> None:
        self.failing[request] = Failing(
            controller=self.controller.name,
            request=request,
            terminal=failure.ending is Ending.TERMINAL,
            reason=failure.reason,
            message=failure.message,
            failures=failures,
        )
