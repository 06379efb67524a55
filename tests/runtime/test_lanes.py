from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest
from structlog.testing import capture_logs

from fairlead.errors import Conflict, Terminal, Transient
from fairlead.runtime.controller import Controller
from fairlead.runtime.lane import Lane
from fairlead.runtime.metrics import Metrics
from fairlead.runtime.outcome import Result
from fairlead.runtime.request import Request
from fairlead.runtime.settings import RuntimeSettings
from tests.runtime.virtual_time import VirtualClock, run_virtual

A = Request("east", "shop", "a")
B = Request("east", "shop", "b")

Reconcile = Callable[[Request], Awaitable[Result | None]]


class Function:
    """A reconciler made of a function."""

    def __init__(self, reconcile: Reconcile) -> None:
        self._reconcile = reconcile

    async def reconcile(self, request: Request) -> Result | None:
        return await self._reconcile(request)


class Workshop:
    """One lane on virtual time."""

    def __init__(self, reconcile: Reconcile, *, workers: int = 2, timeout: float = 60.0) -> None:
        self.metrics = Metrics()
        self.lane = Lane(
            Controller("apps", Function(reconcile), workers=workers, timeout=timeout),
            "east",
            settings=RuntimeSettings(backoff_base=1.0, backoff_cap=300.0),
            metrics=self.metrics,
            clock=VirtualClock(),
        )
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Lane:
        self._task = asyncio.create_task(self.lane.serve(lambda: True))
        return self.lane

    async def __aexit__(self, *problem: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait({self._task})
        self.lane.queue.close()

    def ended(self, result: str) -> float:
        labels = {"controller": "apps", "cluster": "east", "result": result}
        return self.metrics.registry.get_sample_value("fairlead_reconcile_total", labels) or 0.0


def test_a_failing_key_is_tried_again_later_and_later_until_it_works() -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        times: list[float] = []

        async def reconcile(request: Request) -> Result | None:
            times.append(loop.time())
            if len(times) < 6:
                raise Transient("not yet")
            return None

        workshop = Workshop(reconcile)
        async with workshop as lane:
            lane.queue.add(A)
            await asyncio.sleep(10_000)
            gaps = [after - before for before, after in pairwise(times)]
            assert len(gaps) == 5
            assert all(later > earlier * 1.5 for earlier, later in pairwise(gaps))
            assert workshop.ended("error") == 5
            assert workshop.ended("success") == 1
            assert lane.failing == {}

    run_virtual(scenario())


def test_after_a_success_the_next_failure_counts_as_the_first() -> None:
    async def scenario() -> None:
        healthy = False

        async def reconcile(request: Request) -> Result | None:
            if not healthy:
                raise Transient("not now")
            return None

        async with Workshop(reconcile) as lane:
            lane.queue.add(A)
            await asyncio.sleep(60)
            assert lane.failing[A].failures > 3
            healthy = True
            await asyncio.sleep(120)
            assert lane.failing == {}
            healthy = False
            lane.queue.add(A)
            await asyncio.sleep(0.1)
            assert lane.failing[A].failures == 1

    run_virtual(scenario())


def test_a_programming_error_is_logged_with_its_traceback_and_retried() -> None:
    async def scenario() -> None:
        calls: list[Request] = []

        async def reconcile(request: Request) -> Result | None:
            calls.append(request)
            if request == A and len(calls) < 4:
                raise KeyError("spec")
            return None

        workshop = Workshop(reconcile, workers=1)
        with capture_logs() as lines:
            async with workshop as lane:
                lane.queue.add(A)
                await asyncio.sleep(100)
                lane.queue.add(B)
                await asyncio.sleep(1)
        assert calls == [A, A, A, A, B]
        broken = [line for line in lines if line["event"] == "reconcile broke"]
        assert len(broken) == 3
        assert isinstance(broken[0]["exc_info"], KeyError)
        assert broken[0]["log_level"] == "error"

    run_virtual(scenario())


def test_an_expected_failure_is_logged_as_one_sentence_without_traceback() -> None:
    async def scenario() -> None:
        async def reconcile(request: Request) -> Result | None:
            raise Conflict("somebody was faster") if request == A else Transient("no quorum")

        with capture_logs() as lines:
            async with Workshop(reconcile) as lane:
                lane.queue.add(A)
                lane.queue.add(B)
                await asyncio.sleep(0.1)
        by_error = {line["error"]: line for line in lines if "error" in line}
        assert by_error["somebody was faster"]["log_level"] == "info"
        assert by_error["no quorum"]["log_level"] == "warning"
        assert not any(line.get("exc_info") for line in lines)

    run_virtual(scenario())


def test_terminal_is_recorded_and_not_tried_again_until_the_object_changes() -> None:
    async def scenario() -> None:
        hopeless = True
        calls = 0

        async def reconcile(request: Request) -> Result | None:
            nonlocal calls
            calls += 1
            if calls == 1:
                raise Transient("first a failure, whose retry must not bring it back")
            if hopeless:
                raise Terminal("replicas must not be negative", "InvalidSpec")
            return None

        workshop = Workshop(reconcile)
        async with workshop as lane:
            lane.queue.add(A)
            await asyncio.sleep(0.1)
            lane.queue.add_after(A, 5000)
            lane.queue.add(A)
            await asyncio.sleep(100_000)
            assert calls == 2
            assert workshop.ended("terminal") == 1
            assert lane.failing[A].terminal
            assert lane.failing[A].reason == "InvalidSpec"
            assert lane.failing[A].message == "replicas must not be negative"
            hopeless = False
            lane.queue.add(A)  # what a change does
            await asyncio.sleep(1)
            assert calls == 3
            assert lane.failing == {}

    run_virtual(scenario())


def test_a_change_during_a_terminal_reconcile_is_not_lost() -> None:
    async def scenario() -> None:
        calls = 0

        async def reconcile(request: Request) -> Result | None:
            nonlocal calls
            calls += 1
            if calls == 1:
                await asyncio.sleep(10)
                raise Terminal("bad")
            return None

        async with Workshop(reconcile) as lane:
            lane.queue.add(A)
            await asyncio.sleep(5)
            lane.queue.add(A)
            await asyncio.sleep(60)
            assert calls == 2

    run_virtual(scenario())


def test_terminal_inside_a_task_group_is_terminal_unless_something_else_failed_too() -> None:
    async def scenario() -> None:
        async def fail(error: Exception) -> None:
            raise error

        async def reconcile(request: Request) -> Result | None:
            async with asyncio.TaskGroup() as group:
                group.create_task(fail(Terminal("bad spec")))
                if request == B:
                    group.create_task(fail(Transient("unreachable")))
            return None

        workshop = Workshop(reconcile)
        async with workshop as lane:
            lane.queue.add(A)
            lane.queue.add(B)
            await asyncio.sleep(0.1)
            assert lane.failing[A].terminal
            assert not lane.failing[B].terminal
            assert lane.failing[B].message == "bad spec; unreachable"

    run_virtual(scenario())


def test_a_result_with_after_is_looked_at_again_then() -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        times: list[float] = []

        async def reconcile(request: Request) -> Result | None:
            times.append(loop.time())
            return Result(after=30, reason="waiting for the volume")

        workshop = Workshop(reconcile)
        async with workshop as lane:
            lane.queue.add(A)
            await asyncio.sleep(91)
            assert [round(time - times[0]) for time in times] == [0, 30, 60, 90]
            assert workshop.ended("requeue") == 4

    run_virtual(scenario())


def test_a_poll_without_delay_does_not_become_a_hot_loop() -> None:
    async def scenario() -> None:
        calls = 0

        async def reconcile(request: Request) -> Result | None:
            nonlocal calls
            calls += 1
            return Result(after=-5)

        async with Workshop(reconcile) as lane:
            lane.queue.add(A)
            await asyncio.sleep(10)
            assert 50 <= calls <= 101

    run_virtual(scenario())


def test_a_result_that_is_no_time_is_refused() -> None:
    with pytest.raises(ValueError, match="nan"):
        Result(after=float("nan"))


def test_the_same_sentence_is_logged_once_while_it_stays_the_same() -> None:
    async def scenario() -> None:
        sentences = iter(["waiting", "waiting", "waiting", "done", "waiting"])

        async def reconcile(request: Request) -> Result | None:
            return Result(after=1, reason=next(sentences, ""))

        with capture_logs() as lines:
            async with Workshop(reconcile) as lane:
                lane.queue.add(A)
                await asyncio.sleep(4.5)
        said = [line["reason"] for line in lines if line["event"] == "reconciled"]
        assert said == ["waiting", "done", "waiting"]

    run_virtual(scenario())


def test_a_reconcile_that_takes_too_long_is_cancelled_and_retried() -> None:
    async def scenario() -> None:
        cancelled = 0

        async def reconcile(request: Request) -> Result | None:
            nonlocal cancelled
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                cancelled += 1
                raise
            return None

        workshop = Workshop(reconcile, timeout=10)
        async with workshop as lane:
            lane.queue.add(A)
            await asyncio.sleep(10.5)
            assert cancelled == 1
            assert lane.failing[A].message == "not finished after 10 seconds"
            await asyncio.sleep(12)
            assert cancelled == 2

    run_virtual(scenario())


def test_a_timeout_of_the_reconciler_itself_is_not_taken_for_ours() -> None:
    async def scenario() -> None:
        async def reconcile(request: Request) -> Result | None:
            raise TimeoutError("the volume did not answer")

        async with Workshop(reconcile) as lane:
            lane.queue.add(A)
            await asyncio.sleep(0.1)
            assert lane.failing[A].message == "the volume did not answer"

    run_virtual(scenario())


def test_interrupted_work_is_taken_up_again_by_the_next_workers() -> None:
    async def scenario() -> None:
        starts = 0

        async def reconcile(request: Request) -> Result | None:
            nonlocal starts
            starts += 1
            await asyncio.sleep(10)
            return None

        workshop = Workshop(reconcile)
        first = asyncio.create_task(workshop.lane.serve(lambda: True))
        workshop.lane.queue.add(A)
        await asyncio.sleep(5)
        first.cancel()
        await asyncio.wait({first})
        async with workshop:
            await asyncio.sleep(11)
        assert starts == 2
        assert workshop.ended("success") == 1

    run_virtual(scenario())


def test_without_permission_no_reconcile_begins_and_the_key_stays() -> None:
    async def scenario() -> None:
        async def reconcile(request: Request) -> Result | None:
            raise AssertionError("must not run")

        workshop = Workshop(reconcile)
        workshop.lane.queue.add(A)
        serving = asyncio.create_task(workshop.lane.serve(lambda: False))
        await asyncio.sleep(10)
        assert len(workshop.lane.queue) == 1
        serving.cancel()
        await asyncio.wait({serving})

    run_virtual(scenario())


def test_a_reconcile_that_ignores_its_cancellation_is_reported_as_stuck() -> None:
    async def scenario() -> None:
        release = asyncio.Event()

        async def reconcile(request: Request) -> Result | None:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            return None

        async with Workshop(reconcile, timeout=10) as lane:
            lane.queue.add(A)
            await asyncio.sleep(30)
            assert lane.stuck() is None
            await asyncio.sleep(30)
            assert "apps in east ignores its timeout" in (lane.stuck() or "")
            release.set()

    run_virtual(scenario())
