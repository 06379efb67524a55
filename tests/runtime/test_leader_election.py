from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from fairlead.runtime.leader import LeaderElection, LeaseTerms
from tests.runtime.lease_server import LeaseServer, Link
from tests.runtime.virtual_time import VirtualClock, run_virtual


class Watchman:
    """Notes who works when, and protests when two do."""

    def __init__(self) -> None:
        self.working: list[str] = []
        self.terms: list[str] = []
        self.most_at_once = 0

    def acts(self, who: str) -> None:
        assert who == self.terms[-1], f"{who} acts although {self.terms[-1]} took over"

    def begins(self, who: str) -> None:
        self.working.append(who)
        self.terms.append(who)
        self.most_at_once = max(self.most_at_once, len(self.working))

    def ends(self, who: str) -> None:
        self.working.remove(who)


class Replica:
    def __init__(
        self,
        identity: str,
        server: LeaseServer,
        watchman: Watchman,
        *,
        clock: VirtualClock | None = None,
        seed: int = 0,
    ) -> None:
        self.identity = identity
        self.clock = clock or VirtualClock()
        self.link = Link(server, self.clock, random.Random(seed))
        self.stop_takes = 0.0
        self._watchman = watchman
        self.election = LeaderElection(
            lambda: self.link,
            LeaseTerms("fairlead-system", "agent", identity),
            clock=self.clock,
            chance=random.Random(seed),
        )
        self.task: asyncio.Task[Any] | None = None

    def start(self) -> None:
        self.task = asyncio.create_task(self.election.run(self._lead))

    async def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait({self.task})

    def heal(self) -> None:
        self.link.cut = False
        self.link.slowest = self.link.loses_answers = 0.0

    def check(self) -> None:
        """An election never ends by itself; if it did, work protested."""
        if self.task is not None and self.task.done() and not self.task.cancelled():
            self.task.result()

    async def _lead(self) -> None:
        self._watchman.begins(self.identity)
        try:
            while True:
                await self.clock.sleep(0.25)
                if self.election.leading:
                    self._watchman.acts(self.identity)
        finally:
            await self.clock.sleep(self.stop_takes)
            self._watchman.ends(self.identity)


async def until(condition: Any, within: float) -> float:
    """Waits on virtual time; how long it took."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while not condition():
        assert loop.time() - began < within, f"not within {within} seconds"
        await asyncio.sleep(0.01)
    return loop.time() - began


def test_the_first_replica_creates_the_lease_and_leads() -> None:
    async def scenario() -> None:
        server, watchman = LeaseServer(), Watchman()
        a = Replica("a", server, watchman)
        a.start()
        await until(lambda: watchman.working == ["a"], within=1)
        assert a.election.leading
        assert server.spec["holderIdentity"] == "a"
        assert server.spec["leaseDurationSeconds"] == 15
        assert server.spec["leaseTransitions"] == 0
        await asyncio.sleep(60)
        assert watchman.terms == ["a"]
        assert 25 <= server.writes <= 35  # every two seconds
        await a.stop()

    run_virtual(scenario())


def test_a_challenger_waits_a_whole_duration_after_the_last_change_it_saw() -> None:
    async def scenario() -> None:
        server, watchman = LeaseServer(), Watchman()
        a, b = (Replica(name, server, watchman, seed=index) for index, name in enumerate("ab"))
        a.start()
        await until(lambda: watchman.working == ["a"], within=1)
        b.start()
        await asyncio.sleep(30)
        a.link.cut = True
        took = await until(lambda: watchman.working == ["b"], within=25)
        assert took > 13  # the last renewal was at most two seconds before the cut
        assert watchman.most_at_once == 1
        assert server.spec["leaseTransitions"] == 1
        for replica in (a, b):
            await replica.stop()

    run_virtual(scenario())


def test_a_cut_off_leader_stops_before_anybody_else_can_begin() -> None:
    async def scenario() -> None:
        server, watchman = LeaseServer(), Watchman()
        a, b = (Replica(name, server, watchman, seed=index) for index, name in enumerate("ab"))
        a.stop_takes = 3.0  # cleaning up takes a while; the margin is five seconds
        a.start()
        await until(lambda: watchman.working == ["a"], within=1)
        b.start()
        await asyncio.sleep(10)
        a.link.cut = True
        await until(lambda: not a.election.leading, within=10.01)
        assert watchman.working == ["a"]
        await until(lambda: watchman.working == [], within=3.1)
        await until(lambda: watchman.working == ["b"], within=10)
        assert watchman.most_at_once == 1
        for replica in (a, b):
            await replica.stop()

    run_virtual(scenario())


def test_a_release_hands_over_at_once() -> None:
    async def scenario() -> None:
        server, watchman = LeaseServer(), Watchman()
        a, b = (Replica(name, server, watchman, seed=index) for index, name in enumerate("ab"))
        a.start()
        await until(lambda: watchman.working == ["a"], within=1)
        b.start()
        await asyncio.sleep(10)
        await a.stop()
        assert server.spec["holderIdentity"] == ""
        assert server.spec["leaseDurationSeconds"] == 1
        await until(lambda: watchman.working == ["b"], within=2 * 2.2 + 0.1)
        assert watchman.most_at_once == 1
        await b.stop()

    run_virtual(scenario())


def test_the_lease_is_released_only_after_the_work_has_ended() -> None:
    async def scenario() -> None:
        server, watchman = LeaseServer(), Watchman()
        a = Replica("a", server, watchman)
        a.stop_takes = 4.0
        a.start()
        await until(lambda: watchman.working == ["a"], within=1)
        stopping = asyncio.create_task(a.stop())
        await asyncio.sleep(3.9)
        assert server.spec["holderIdentity"] == "a"
        assert not a.election.leading
        await stopping
        assert server.spec["holderIdentity"] == ""

    run_virtual(scenario())


def test_a_suspended_leader_knows_on_waking_that_it_leads_no_longer() -> None:
    async def scenario() -> None:
        server, watchman = LeaseServer(), Watchman()
        a = Replica("a", server, watchman)
        a.start()
        await until(lambda: watchman.working == ["a"], within=1)
        await asyncio.sleep(10)
        a.clock.suspend(60)
        assert not a.election.leading  # before any task had a chance to run
        a.link.cut = True
        await until(lambda: watchman.working == [], within=1)
        await a.stop()

    run_virtual(scenario())


def test_a_paused_leader_that_was_replaced_does_not_work_again() -> None:
    async def scenario() -> None:
        server, watchman = LeaseServer(), Watchman()
        a, b = (Replica(name, server, watchman, seed=index) for index, name in enumerate("ab"))
        a.start()
        await until(lambda: watchman.working == ["a"], within=1)
        b.start()
        await asyncio.sleep(10)
        await a.clock.pause(60)
        assert watchman.terms == ["a", "b"]
        assert not a.election.leading
        await until(lambda: watchman.working == ["b"], within=1)
        await asyncio.sleep(120)
        assert watchman.terms == ["a", "b"]
        assert a.election.holder == "b"
        for replica in (a, b):
            await replica.stop()

    run_virtual(scenario())


def test_a_lost_answer_costs_nothing_but_a_second_look() -> None:
    async def scenario() -> None:
        server, watchman = LeaseServer(), Watchman()
        a = Replica("a", server, watchman)
        a.start()
        await until(lambda: watchman.working == ["a"], within=1)
        a.link.loses_answers = 1.0
        await asyncio.sleep(5)
        a.link.loses_answers = 0.0
        await asyncio.sleep(60)
        assert watchman.terms == ["a"]
        assert server.spec["leaseTransitions"] == 0
        await a.stop()

    run_virtual(scenario())


def test_a_hanging_request_leaves_time_for_another_within_the_deadline() -> None:
    async def scenario() -> None:
        server, watchman = LeaseServer(), Watchman()
        a = Replica("a", server, watchman)
        a.start()
        await until(lambda: watchman.working == ["a"], within=1)
        a.link.slowest = 10_000
        await asyncio.sleep(6)
        a.link.slowest = 0
        await asyncio.sleep(60)
        assert watchman.terms == ["a"]
        await a.stop()

    run_virtual(scenario())


def test_a_deleted_lease_is_made_again() -> None:
    async def scenario() -> None:
        server, watchman = LeaseServer(), Watchman()
        a = Replica("a", server, watchman)
        a.start()
        await until(lambda: watchman.working == ["a"], within=1)
        server.lease = None
        await asyncio.sleep(5)
        assert server.spec["holderIdentity"] == "a"
        assert watchman.terms == ["a"]
        await a.stop()

    run_virtual(scenario())


def test_whoever_finds_another_name_in_the_lease_stops_at_once() -> None:
    async def scenario() -> None:
        server, watchman = LeaseServer(), Watchman()
        a = Replica("a", server, watchman)
        a.start()
        await until(lambda: watchman.working == ["a"], within=1)
        stolen = server.read()
        stolen["spec"]["holderIdentity"] = "thief"
        server.write(stolen, new=False)
        await until(lambda: watchman.working == [], within=2.1)
        assert server.spec["holderIdentity"] == "thief"
        await a.stop()
        assert server.spec["holderIdentity"] == "thief"

    run_virtual(scenario())


def test_a_wall_clock_that_stands_still_does_not_make_a_leader_look_dead() -> None:
    class Frozen(VirtualClock):
        def wall(self) -> Any:
            return frozen

    async def scenario() -> None:
        server, watchman = LeaseServer(), Watchman()
        a = Replica("a", server, watchman, clock=Frozen())
        b = Replica("b", server, watchman, seed=1)
        a.start()
        await until(lambda: watchman.working == ["a"], within=1)
        b.start()
        await asyncio.sleep(120)
        assert watchman.terms == ["a"]
        for replica in (a, b):
            await replica.stop()

    async def now() -> Any:
        return VirtualClock().wall()

    frozen = run_virtual(now())
    run_virtual(scenario())


def test_work_that_breaks_gives_the_lease_back_and_says_why() -> None:
    async def scenario() -> None:
        server = LeaseServer()
        clock = VirtualClock()
        link = Link(server, clock)
        terms = LeaseTerms("fairlead-system", "agent", "a")
        election = LeaderElection(lambda: link, terms, clock=clock)

        async def lead() -> None:
            raise ZeroDivisionError("a bug")

        with pytest.raises(ZeroDivisionError):
            await election.run(lead)
        assert server.spec["holderIdentity"] == ""

    run_virtual(scenario())


async def trouble(victim: Replica, chance: random.Random, *, pauses: bool) -> None:
    match chance.randrange(6 if pauses else 5):
        case 0:
            victim.link.cut = True
        case 1:
            victim.link.slowest = chance.uniform(0, 8)
        case 2:
            victim.link.loses_answers = chance.random()
        case 3:
            await victim.stop()
            victim.start()
        case 4:
            victim.heal()
        case 5:
            await victim.clock.pause(chance.uniform(0, 40))


@pytest.mark.parametrize("pauses", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_two_never_lead_at_once_whatever_clocks_and_networks_do(seed: int, pauses: bool) -> None:
    chance = random.Random(seed)

    async def scenario() -> None:
        server, watchman = LeaseServer(), Watchman()
        replicas = []
        for number in range(3):
            clock = VirtualClock(
                offset=chance.uniform(0, 1e6),
                rate=chance.uniform(0.98, 1.02),
                wall_skew=chance.uniform(-1e6, 1e6),
            )
            replica = Replica(
                f"replica-{number}", server, watchman, clock=clock, seed=seed * 10 + number
            )
            replica.stop_takes = chance.uniform(0, 3)
            replica.start()
            replicas.append(replica)
        for _ in range(120):
            await asyncio.sleep(chance.uniform(0, 8))
            await trouble(chance.choice(replicas), chance, pauses=pauses)
            for replica in replicas:
                replica.check()
        for replica in replicas:
            replica.heal()
        await until(lambda: len(watchman.working) == 1, within=60)
        await asyncio.sleep(60)
        assert len(set(watchman.terms)) > 1
        # A paused process cannot leave its work, but it does nothing there either.
        assert pauses or watchman.most_at_once == 1
        for replica in replicas:
            replica.check()
            await replica.stop()

    run_virtual(scenario())
