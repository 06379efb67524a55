from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.backoff import Backoff
from fairlead.runtime.queue import QueueClosed, WorkQueue
from tests.runtime.virtual_time import VirtualClock, run_virtual

EXACT = Backoff(base=1.0, cap=8.0, jitter=0.0)


def queue() -> WorkQueue[str]:
    return WorkQueue(VirtualClock(), EXACT)


async def taken(work: WorkQueue[str]) -> str:
    """The key that is ready at once, done immediately."""
    async with asyncio.timeout(0):
        key = (await work.get()).key
    work.done(key)
    return key


def test_a_key_added_twice_is_handed_out_once() -> None:
    async def scenario() -> None:
        work = queue()
        work.add("a")
        work.add("b")
        work.add("a")
        assert [await taken(work), await taken(work)] == ["a", "b"]
        assert len(work) == 0
        assert work.adds == 2

    run_virtual(scenario())


def test_a_key_added_while_in_hand_waits_for_done_and_comes_again() -> None:
    async def scenario() -> None:
        work = queue()
        work.add("a")
        first = await work.get()
        work.add("a")
        work.add("a")
        second = asyncio.create_task(work.get())
        await asyncio.sleep(60)
        assert not second.done()
        work.done(first.key)
        assert (await second).key == "a"
        work.done("a")
        assert len(work) == 0

    run_virtual(scenario())


def test_the_earliest_of_several_delays_wins() -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        work = queue()
        work.add_after("a", 30)
        work.add_after("a", 10)
        work.add_after("a", 20)
        work.add_after("b", 5)
        assert (await work.get()).key == "b"
        assert loop.time() - began == pytest.approx(5)
        assert (await work.get()).key == "a"
        assert loop.time() - began == pytest.approx(10)
        work.done("a")
        work.done("b")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await work.get()

    run_virtual(scenario())


def test_a_delay_counts_the_time_the_machine_was_suspended() -> None:
    async def scenario() -> None:
        clock = VirtualClock()
        work: WorkQueue[str] = WorkQueue(clock, EXACT)
        work.add_after("a", 3600)
        await asyncio.sleep(1)
        clock.suspend(3600)
        async with asyncio.timeout(120):
            assert (await work.get()).key == "a"

    run_virtual(scenario())


def test_waiting_time_is_counted_from_when_the_key_became_ready() -> None:
    async def scenario() -> None:
        work = queue()
        work.add_after("a", 10)
        await asyncio.sleep(14)
        assert work.oldest_age() == pytest.approx(4)
        assert (await work.get()).waited == pytest.approx(4)
        await asyncio.sleep(7)
        assert work.longest_processing() == pytest.approx(7)
        assert work.oldest_age() == 0

    run_virtual(scenario())


def test_retries_come_later_and_later_up_to_the_cap() -> None:
    async def scenario() -> None:
        work = queue()
        assert [work.retry("a") for _ in range(6)] == [
            (1, 1.0),
            (2, 2.0),
            (3, 4.0),
            (4, 8.0),
            (5, 8.0),
            (6, 8.0),
        ]
        assert work.retry("b") == (1, 1.0)
        assert work.retries == 7
        work.close()

    run_virtual(scenario())


def test_a_success_makes_the_next_failure_the_first() -> None:
    async def scenario() -> None:
        work = queue()
        for _ in range(4):
            work.retry("a")
        work.succeeded("a")
        assert work.retry("a") == (1, 1.0)
        work.close()

    run_virtual(scenario())


def test_a_forgotten_key_does_not_come_back() -> None:
    async def scenario() -> None:
        work = queue()
        work.retry("a")
        work.add_after("a", 100)
        work.forget("a")
        assert work.delayed == 0
        await asyncio.sleep(3600)
        assert len(work) == 0
        work.add_after("a", 50)  # a wish made afterwards counts
        await asyncio.sleep(51)
        assert len(work) == 1

    run_virtual(scenario())


@given(failures=st.integers(1, 10_000), seed=st.integers())
def test_a_delay_never_exceeds_the_cap_and_never_loses_more_than_the_jitter(
    failures: int, seed: int
) -> None:
    backoff = Backoff(base=0.1, cap=300.0, jitter=0.2, random=random.Random(seed))
    full = min(300.0, 0.1 * 2 ** min(failures - 1, 20))
    assert full * 0.8 <= backoff.delay(failures) <= full


def test_close_wakes_idle_workers_and_takes_nothing_more() -> None:
    async def scenario() -> None:
        work = queue()
        idle = [asyncio.create_task(work.get()) for _ in range(3)]
        await asyncio.sleep(0)
        work.close()
        ended = await asyncio.gather(*idle, return_exceptions=True)
        assert [type(error) for error in ended] == [QueueClosed] * 3
        work.add("a")
        work.add_after("b", 1)
        work.retry("c")
        await asyncio.sleep(60)
        assert len(work) == 0
        with pytest.raises(QueueClosed):
            await work.get()

    run_virtual(scenario())


def test_idle_returns_when_the_last_key_in_hand_is_done() -> None:
    async def scenario() -> None:
        work = queue()
        await work.idle()
        work.add("a")
        work.add("b")
        for _ in range(2):
            await work.get()
        idle = asyncio.create_task(work.idle())
        work.done("a")
        await asyncio.sleep(10)
        assert not idle.done()
        work.done("b")
        await idle

    run_virtual(scenario())


def test_a_cancelled_worker_passes_its_wake_up_on() -> None:
    async def scenario() -> None:
        work = queue()
        first = asyncio.create_task(work.get())
        second = asyncio.create_task(work.get())
        await asyncio.sleep(0)
        work.add("a")  # wakes the first, which is cancelled before it can run
        first.cancel()
        async with asyncio.timeout(1):
            assert (await second).key == "a"

    run_virtual(scenario())


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_whatever_happens_no_key_is_in_two_hands_and_no_add_is_lost(seed: int) -> None:
    chance = random.Random(seed)

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        work = queue()
        keys = [f"k{number}" for number in range(chance.randint(1, 6))]
        in_hand: Counter[str] = Counter()
        last_start: dict[str, float] = {}
        last_add: dict[str, float] = {}

        async def worker() -> None:
            while True:
                key = (await work.get()).key
                in_hand[key] += 1
                assert in_hand[key] == 1, f"two workers hold {key}"
                last_start[key] = loop.time()
                try:
                    await asyncio.sleep(chance.choice([0, 0, 0.5, 3]))
                except asyncio.CancelledError:
                    work.add(key)
                    raise
                finally:
                    in_hand[key] -= 1
                    work.done(key)
                if chance.random() < 0.2:
                    work.retry(key)

        workers = [asyncio.create_task(worker()) for _ in range(chance.randint(1, 4))]
        for _ in range(chance.randint(1, 80)):
            key = chance.choice(keys)
            delay = chance.choice([0, 0, 0.1, 2])
            work.add_after(key, delay)
            last_add[key] = max(last_add.get(key, 0), loop.time())
            if chance.random() < 0.1:
                victim = chance.randrange(len(workers))
                workers[victim].cancel()
                await asyncio.wait({workers[victim]})
                workers[victim] = asyncio.create_task(worker())
            await asyncio.sleep(chance.choice([0, 0, 0.05, 1]))
        await asyncio.sleep(600)
        for key, added in last_add.items():
            assert last_start.get(key, -1) >= added, f"the last add of {key} was lost"
        assert all(not task.done() for task in workers)
        for task in workers:
            task.cancel()
        await asyncio.wait(workers)
        work.close()

    run_virtual(scenario())
