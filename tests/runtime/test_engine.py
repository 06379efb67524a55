from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from fairlead.errors import Transient
from fairlead.kube.resource import CONFIG_MAPS, LEASES, SECRETS, Object
from fairlead.runtime.controller import Controller, Enqueue, Timer, Watch
from fairlead.runtime.engine import Engine, NotEngaged
from fairlead.runtime.outcome import Result
from fairlead.runtime.request import FLEET, Request
from fairlead.runtime.settings import RuntimeSettings
from tests.runtime.memory_cluster import MemoryCluster
from tests.runtime.virtual_time import VirtualClock, run_virtual


class Recorder:
    """A reconciler that notes what it is asked, and does what it is told."""

    def __init__(self, act: Callable[[Request], Awaitable[Result | None]] | None = None) -> None:
        self.seen: list[Request] = []
        self.running: Counter[str] = Counter()
        self.cancelled: list[Request] = []
        self._asked: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._act = act

    async def reconcile(self, request: Request) -> Result | None:
        self.seen.append(request)
        self._asked[request.cluster].set()
        self.running[request.cluster] += 1
        try:
            return await self._act(request) if self._act else None
        except asyncio.CancelledError:
            self.cancelled.append(request)
            raise
        finally:
            self.running[request.cluster] -= 1

    async def asked_in(self, cluster: str) -> None:
        await self._asked[cluster].wait()

    def names(self, cluster: str) -> list[str]:
        return [request.name for request in self.seen if request.cluster == cluster]


def engine(*controllers: Controller, settings: RuntimeSettings | None = None) -> Engine:
    return Engine(controllers, settings=settings, clock=VirtualClock())


def config_maps(reconciler: Recorder, **changes: object) -> Controller:
    controller = Controller("maps", reconciler, watches=[Watch(CONFIG_MAPS)])
    return replace(controller, **changes)  # type: ignore[arg-type]


@asynccontextmanager
async def running(engine: Engine) -> AsyncIterator[Engine]:
    task = asyncio.create_task(engine.run())
    await asyncio.sleep(0)
    try:
        yield engine
    finally:
        task.cancel()
        await asyncio.wait({task})


def test_every_object_is_reconciled_once_and_again_when_it_changes_or_goes() -> None:
    async def scenario() -> None:
        east, recorder = MemoryCluster(), Recorder()
        await east.put("a")
        await east.put("b")
        async with running(engine(config_maps(recorder))) as work:
            await work.engage("east", east.client())
            await asyncio.sleep(1)
            assert sorted(recorder.names("east")) == ["a", "b"]
            assert recorder.seen[0].namespace == "shop"
            await east.put("a", data={"x": "1"})
            await east.put("c")
            await asyncio.sleep(1)
            assert sorted(recorder.names("east")) == ["a", "a", "b", "c"]
            await east.remove("b")
            await asyncio.sleep(1)
            assert recorder.names("east").count("b") == 2

    run_virtual(scenario())


def test_a_reconcile_reads_from_the_cache_what_woke_it() -> None:
    async def scenario() -> None:
        east = MemoryCluster()
        found: list[Object | None] = []

        async def look(request: Request) -> None:
            cache = work.cache(request.cluster, CONFIG_MAPS)
            assert cache.synced
            found.append(cache.find(request.name, request.namespace))

        await east.put("a", data={"x": "1"})
        async with running(engine(config_maps(Recorder(look)))) as work:
            await work.engage("east", east.client())
            await asyncio.sleep(1)
            assert found[-1] is not None
            assert found[-1]["data"] == {"x": "1"}
            await east.put("a", data={"x": "2"})
            await asyncio.sleep(1)
            assert found[-1] is not None
            assert found[-1]["data"] == {"x": "2"}
            await east.remove("a")
            await asyncio.sleep(1)
            assert found[-1] is None

    run_virtual(scenario())


def test_controllers_that_watch_the_same_share_one_watch() -> None:
    async def scenario() -> None:
        east = MemoryCluster()
        one, other = Recorder(), Recorder()
        await east.put("a")
        work = engine(
            config_maps(one),
            Controller("others", other, watches=[Watch(CONFIG_MAPS), Watch(SECRETS)]),
        )
        async with running(work):
            await work.engage("east", east.client())
            await asyncio.sleep(1)
            assert east.watches == {"configmaps": 1, "secrets": 1}
            assert one.names("east") == other.names("east") == ["a"]

    run_virtual(scenario())


def test_a_cluster_that_never_answers_does_not_hold_up_the_others() -> None:
    async def scenario() -> None:
        east, west, recorder = MemoryCluster(), MemoryCluster(), Recorder()
        east.reachable = False
        await west.put("a")
        async with running(engine(config_maps(recorder))) as work:
            await work.engage("east", east.client())
            await work.engage("west", west.client())
            await asyncio.sleep(60)
            assert recorder.names("west") == ["a"]
            assert not work.cache("east", CONFIG_MAPS).synced
            assert work.ready() is None  # unreachable is no reason to be unready
            by_name = {status.name: status for status in work.status()}
            assert by_name["west"].synced
            assert not by_name["east"].synced
            assert "the link is cut" in by_name["east"].problems[0]
            await east.put("late")
            east.reachable = True
            await asyncio.sleep(60)
            assert recorder.names("east") == ["late"]

    run_virtual(scenario())


def test_nothing_is_reconciled_before_all_caches_of_the_cluster_are_filled() -> None:
    async def scenario() -> None:
        east, recorder = MemoryCluster(), Recorder()
        await east.put("a")
        both = Controller("both", recorder, watches=[Watch(CONFIG_MAPS), Watch(SECRETS)])
        client = east.client()
        hold = asyncio.Event()
        list_all = client.list

        async def slow_secrets(resource, *rest, **options):  # type: ignore[no-untyped-def]
            if resource is SECRETS:
                await hold.wait()
            return await list_all(resource, *rest, **options)

        client.list = slow_secrets  # type: ignore[method-assign]
        async with running(engine(both)) as work:
            await work.engage("east", client)
            await asyncio.sleep(60)
            assert recorder.seen == []
            assert "not yet read: secrets" in (work.ready() or "")
            hold.set()
            await asyncio.sleep(1)
            assert recorder.names("east") == ["a"]
            assert work.ready() is None

    run_virtual(scenario())


def test_a_slow_cluster_takes_no_worker_from_another() -> None:
    async def scenario() -> None:
        async def act(request: Request) -> None:
            if request.cluster == "east":
                await asyncio.sleep(50)

        east, west, recorder = MemoryCluster(), MemoryCluster(), Recorder(act)
        for number in range(100):
            await east.put(f"slow-{number}")
        async with running(engine(config_maps(recorder, workers=2))) as work:
            await work.engage("east", east.client())
            await work.engage("west", west.client())
            await asyncio.sleep(10)
            assert recorder.running == {"east": 2}
            await west.put("quick")
            await asyncio.sleep(0.1)
            assert recorder.names("west") == ["quick"]

    run_virtual(scenario())


def test_a_flood_in_one_cluster_delays_another_by_a_few_turns_only() -> None:
    async def scenario() -> None:
        east, west, recorder = MemoryCluster(), MemoryCluster(), Recorder()
        async with running(engine(config_maps(recorder, workers=4))) as work:
            await work.engage("east", east.client())
            await work.engage("west", west.client())
            await asyncio.sleep(1)
            for number in range(5000):
                work.enqueue("maps", Request("east", "shop", f"flood-{number}"))
            work.enqueue("maps", Request("west", "shop", "small"))
            async with asyncio.timeout(1):
                await recorder.asked_in("west")
            assert len(recorder.names("east")) < 50

    run_virtual(scenario())


def test_disengaging_cancels_running_work_and_forgets_the_keys() -> None:
    async def scenario() -> None:
        async def act(request: Request) -> None:
            await asyncio.sleep(1000)

        east, west, recorder = MemoryCluster(), MemoryCluster(), Recorder(act)
        for cluster in (east, west):
            for name in "abcdef":
                await cluster.put(name)
        async with running(engine(config_maps(recorder, workers=2))) as work:
            await work.engage("east", east.client())
            await work.engage("west", west.client())
            await asyncio.sleep(1)
            await work.disengage("east")
            assert sorted(request.cluster for request in recorder.cancelled) == ["east"] * 2
            assert recorder.running == {"east": 0, "west": 2}
            assert east.watches == {"configmaps": 0}
            assert work.clusters == ("west",)
            with pytest.raises(NotEngaged):
                work.client("east")
            with pytest.raises(NotEngaged):
                work.cache("east", CONFIG_MAPS)
            before = len(recorder.names("east"))
            await asyncio.sleep(5000)
            assert len(recorder.names("east")) == before

    run_virtual(scenario())


async def test_the_series_of_a_cluster_that_left_are_gone_from_the_page() -> None:
    east = MemoryCluster()
    await east.put("a")
    recorder = Recorder()
    async with running(engine(config_maps(recorder))) as work:
        await work.engage("east", east.client())
        async with asyncio.timeout(10):
            await recorder.asked_in("east")
        page = (await work.metrics.render())[0].decode()
        assert 'fairlead_reconcile_total{cluster="east",controller="maps",result="success"}' in page
        assert 'fairlead_queue_adds_total{cluster="east",controller="maps"} 1.0' in page
        assert 'fairlead_cluster_engaged{cluster="east"} 1.0' in page
        await work.disengage("east")
        assert 'cluster="east"' not in (await work.metrics.render())[0].decode()


def test_a_new_client_takes_over_without_losing_keys_or_reconciling_the_unchanged() -> None:
    async def scenario() -> None:
        east, recorder = MemoryCluster(), Recorder()
        failing = True

        async def act(request: Request) -> Result | None:
            if request.name == "bad" and failing:
                raise Transient("not yet")
            return None

        recorder = Recorder(act)
        for name in ("a", "bad", "goes"):
            await east.put(name)
        work = engine(config_maps(recorder), settings=RuntimeSettings(backoff_base=30))
        async with running(work):
            old, new = east.client(), east.client()
            await work.engage("east", old)
            await asyncio.sleep(1)
            assert sorted(recorder.names("east")) == ["a", "bad", "goes"]
            old.closed = True  # type: ignore[attr-defined]
            east.reachable = False
            await east.remove("goes")
            await east.put("new")
            await work.engage("east", new)
            assert work.client("east") is new
            cache = work.cache("east", CONFIG_MAPS)
            assert cache.synced  # what was known stays known until the new watch knows more
            assert cache.find("a", "shop") is not None
            failing = False
            east.reachable = True
            await asyncio.sleep(100)
            assert Counter(recorder.names("east")) == {"a": 1, "bad": 2, "goes": 2, "new": 1}
            assert cache.find("goes", "shop") is None
            assert east.watches == {"configmaps": 1}

    run_virtual(scenario())


def test_a_watch_that_is_cut_or_expired_loses_no_change() -> None:
    async def scenario() -> None:
        east, recorder = MemoryCluster(), Recorder()
        await east.put("a")
        await east.put("b")
        async with running(engine(config_maps(recorder))) as work:
            await work.engage("east", east.client())
            await asyncio.sleep(1)
            east.reachable = False
            await east.cut_watches()
            await asyncio.sleep(60)
            await east.remove("b")
            await east.put("c")
            await east.expire()
            east.reachable = True
            await asyncio.sleep(120)
            assert Counter(recorder.names("east")) == {"a": 1, "b": 2, "c": 1}
            page = [
                sample
                for metric in work.metrics.registry.collect()
                for sample in metric.samples
                if sample.name == "fairlead_watch_restarts_total"
            ]
            assert {sample.labels["reason"] for sample in page} >= {"connect"}

    run_virtual(scenario())


def test_a_mapping_wakes_the_objects_an_object_concerns_now_and_concerned_before() -> None:
    def to_owner(cluster: str, obj: Object) -> Iterable[Request]:
        return [Request(cluster, None, obj["data"]["owner"])] if obj.get("data") else []

    async def scenario() -> None:
        east, recorder = MemoryCluster(), Recorder()
        owners = Controller("owners", recorder, watches=[Watch(CONFIG_MAPS, to_owner)])
        async with running(engine(owners)) as work:
            await work.engage("east", east.client())
            await asyncio.sleep(1)
            await east.put("a", data={"owner": "ann"})
            await asyncio.sleep(1)
            await east.put("a", data={"owner": "bob"})
            await asyncio.sleep(1)
            assert sorted(recorder.names("east")) == ["ann", "ann", "bob"]

    run_virtual(scenario())


def test_a_predicate_spares_what_is_not_worth_a_look() -> None:
    def data_changed(old: Object | None, new: Object | None) -> bool:
        return (old or {}).get("data") != (new or {}).get("data")

    async def scenario() -> None:
        east, recorder = MemoryCluster(), Recorder()
        maps = Controller("m", recorder, watches=[Watch(CONFIG_MAPS, predicate=data_changed)])
        async with running(engine(maps)) as work:
            await work.engage("east", east.client())
            await asyncio.sleep(1)
            await east.put("a", data={"x": "1"})
            await asyncio.sleep(1)
            await east.put("a", data={"x": "1"}, status={"seen": True})
            await asyncio.sleep(1)
            assert recorder.names("east") == ["a"]

    run_virtual(scenario())


def test_a_mapping_that_breaks_ends_neither_the_watch_nor_other_controllers() -> None:
    def broken(cluster: str, obj: Object) -> Iterable[Request]:
        raise KeyError("spec")

    async def scenario() -> None:
        east, recorder = MemoryCluster(), Recorder()
        await east.put("a")
        bad = Controller("bad", Recorder(), watches=[Watch(CONFIG_MAPS, broken)])
        with capture_logs() as lines:
            async with running(engine(bad, config_maps(recorder))) as work:
                await work.engage("east", east.client())
                await asyncio.sleep(1)
                await east.put("b")
                await asyncio.sleep(1)
        assert sorted(recorder.names("east")) == ["a", "b"]
        assert any(line["event"] == "change could not be mapped" for line in lines)

    run_virtual(scenario())


def test_a_request_for_a_cluster_that_is_not_there_yet_waits_for_it() -> None:
    async def scenario() -> None:
        east, recorder = MemoryCluster(), Recorder()
        async with running(engine(config_maps(recorder))) as work:
            work.enqueue("maps", Request("east", "shop", "early"))
            await asyncio.sleep(10)
            assert recorder.seen == []
            await work.engage("east", east.client())
            await asyncio.sleep(1)
            assert recorder.names("east") == ["early"]

    run_virtual(scenario())


def test_sources_wake_controllers_also_for_things_of_no_cluster() -> None:
    class Flaky:
        name = "store"
        runs = 0

        async def run(self, enqueue: Enqueue) -> None:
            self.runs += 1
            enqueue(Request(FLEET, None, f"document-{self.runs}"))
            if self.runs == 1:
                raise ConnectionError("the store is away")
            await asyncio.Event().wait()

    async def scenario() -> None:
        recorder = Recorder()
        tick = Timer("tick", 60, lambda: [Request(FLEET, None, "sweep")], VirtualClock())
        fleet = Controller("fleet", recorder, sources=[Flaky(), tick])
        async with running(engine(fleet)):
            await asyncio.sleep(150)
            assert Counter(recorder.names(FLEET)) == {
                "document-1": 1,
                "document-2": 1,
                "sweep": 3,
            }

    run_virtual(scenario())


def test_a_controller_takes_requests_only_of_the_clusters_it_serves() -> None:
    async def scenario() -> None:
        home, away, recorder = MemoryCluster(), MemoryCluster(), Recorder()
        await home.put("here")
        await away.put("there")

        def to_home(cluster: str, obj: Object) -> Iterable[Request]:
            return [Request("home", "shop", f"{cluster}-{obj['metadata']['name']}")]

        mine = Controller(
            "mine",
            recorder,
            watches=[
                Watch(CONFIG_MAPS, clusters=lambda name: name == "home"),
                Watch(CONFIG_MAPS, to_home, clusters=lambda name: name != "home"),
            ],
            clusters=lambda name: name == "home",
        )
        async with running(engine(mine)) as work:
            await work.engage("home", home.client())
            await work.engage("away", away.client())
            work.enqueue("mine", Request("away", "shop", "not-mine"))
            await asyncio.sleep(10)
            assert sorted(recorder.names("home")) == ["away-there", "here"]
            assert recorder.names("away") == []

    run_virtual(scenario())


def test_a_stop_lets_running_reconciles_end_and_begins_no_others() -> None:
    async def scenario() -> None:
        done: list[str] = []

        async def act(request: Request) -> None:
            await asyncio.sleep(10)
            done.append(request.name)

        east, recorder = MemoryCluster(), Recorder(act)
        for name in "abcdef":
            await east.put(name)
        work = engine(config_maps(recorder, workers=2), settings=RuntimeSettings(shutdown_grace=20))
        run = asyncio.create_task(work.run())
        await work.engage("east", east.client())
        await asyncio.sleep(5)
        work.stop()
        await run
        assert len(done) == len(recorder.seen) == 2
        assert recorder.cancelled == []
        assert work.ready() == "the engine is not running"
        assert len(asyncio.all_tasks()) == 1

    run_virtual(scenario())


@pytest.mark.parametrize("how", ["stop", "cancel"])
def test_what_outlasts_the_grace_period_is_cancelled(how: str) -> None:
    async def scenario() -> None:
        async def act(request: Request) -> None:
            await asyncio.sleep(10_000)

        loop = asyncio.get_running_loop()
        east, recorder = MemoryCluster(), Recorder(act)
        await east.put("a")
        work = engine(config_maps(recorder), settings=RuntimeSettings(shutdown_grace=20))
        run = asyncio.create_task(work.run())
        await work.engage("east", east.client())
        await asyncio.sleep(5)
        began = loop.time()
        if how == "stop":
            work.stop()
        else:
            run.cancel()
        await asyncio.wait({run})
        assert loop.time() - began == pytest.approx(20, abs=0.1)
        assert [request.name for request in recorder.cancelled] == ["a"]
        assert run.cancelled() is (how == "cancel")
        assert len(asyncio.all_tasks()) == 1

    run_virtual(scenario())


ELECTED = RuntimeSettings(leader_election=True, shutdown_grace=1)


def test_only_the_leader_works_and_its_successor_looks_at_everything() -> None:
    async def scenario() -> None:
        east = MemoryCluster()
        first, second = Recorder(), Recorder()
        for name in "abc":
            await east.put(name)
        one = engine(config_maps(first), settings=ELECTED)
        other = engine(config_maps(second), settings=ELECTED)
        run = asyncio.create_task(one.run())
        async with running(other):
            await one.engage("east", east.client())
            await asyncio.sleep(1)
            await other.engage("east", east.client())
            await asyncio.sleep(60)
            assert sorted(first.names("east")) == ["a", "b", "c"]
            assert second.seen == []
            assert one.leading("east")
            assert not other.leading("east")
            assert other.ready() is None  # a standby is ready to take over
            one.stop()
            await run
            lease = east.objects[(str(LEASES), "fairlead-system", "fairlead-agent")]
            assert lease["spec"]["holderIdentity"] == ""
            await asyncio.sleep(5)
            assert sorted(second.names("east")) == ["a", "b", "c"]
            assert other.leading("east")

    run_virtual(scenario())


def test_losing_the_lead_cancels_the_work_in_time_and_keeps_the_keys() -> None:
    async def scenario() -> None:
        async def act(request: Request) -> None:
            await asyncio.sleep(1000)

        east, recorder = MemoryCluster(), Recorder(act)
        await east.put("a")
        always = Recorder()
        work = engine(
            config_maps(recorder),
            Controller("always", always, watches=[Watch(CONFIG_MAPS)], leader_elected=False),
            settings=ELECTED,
        )
        async with running(work):
            await work.engage("east", east.client())
            await asyncio.sleep(5)
            assert recorder.running["east"] == 1
            east.reachable = False
            await asyncio.sleep(12)
            assert recorder.running["east"] == 0
            assert not work.leading("east")
            east.reachable = True
            await asyncio.sleep(10)
            assert work.leading("east")
            assert recorder.names("east") == ["a", "a"]
            assert always.names("east") == ["a"]

    run_virtual(scenario())


def test_whoever_leads_again_looks_at_everything_again() -> None:
    async def scenario() -> None:
        east, recorder = MemoryCluster(), Recorder()
        await east.put("a")
        async with running(engine(config_maps(recorder), settings=ELECTED)) as work:
            await work.engage("east", east.client())
            await asyncio.sleep(5)
            assert recorder.names("east") == ["a"]
            east.reachable = False
            await asyncio.sleep(30)
            east.reachable = True
            await asyncio.sleep(30)
            assert work.leading("east")
            assert recorder.names("east") == ["a", "a"]

    run_virtual(scenario())


def test_new_credentials_do_not_cost_the_lead() -> None:
    async def scenario() -> None:
        async def act(request: Request) -> None:
            await asyncio.sleep(40)

        east, recorder = MemoryCluster(), Recorder(act)
        await east.put("a")
        async with running(engine(config_maps(recorder), settings=ELECTED)) as work:
            old = east.client()
            await work.engage("east", old)
            await asyncio.sleep(5)
            await work.engage("east", east.client())
            old.closed = True  # type: ignore[attr-defined]
            await asyncio.sleep(60)
            assert recorder.names("east") == ["a"]
            assert recorder.cancelled == []
            assert work.leading("east")

    run_virtual(scenario())


def test_engaging_and_disengaging_in_quick_turns_ends_where_it_was_told_last() -> None:
    async def scenario() -> None:
        east, recorder = MemoryCluster(), Recorder()
        await east.put("a")
        async with running(engine(config_maps(recorder), settings=ELECTED)) as work:
            async with asyncio.TaskGroup() as group:
                for _ in range(5):
                    group.create_task(work.engage("east", east.client()))
                    group.create_task(work.disengage("east"))
                group.create_task(work.engage("east", east.client()))
            await asyncio.sleep(30)
            assert work.clusters == ("east",)
            assert east.watches == {"configmaps": 1}
            await work.disengage("east")
            assert east.watches == {"configmaps": 0}

    run_virtual(scenario())


def test_events_reach_the_cluster_through_the_engine() -> None:
    async def scenario() -> None:
        east, recorder = MemoryCluster(), Recorder()
        async with running(engine(config_maps(recorder))) as work:
            await work.engage("east", east.client())
            about = {"kind": "ConfigMap", "metadata": {"namespace": "shop", "name": "a"}}
            work.events("east").record(about, "Normal", "Seen", "hello")
            await asyncio.sleep(1)
            assert [place[:2] for place in east.objects] == [("events", "shop")]

    run_virtual(scenario())


def test_the_last_reconcile_before_a_stop_still_gets_its_event_out() -> None:
    async def scenario() -> None:
        east = MemoryCluster()
        await east.put("a")

        async def act(request: Request) -> None:
            await asyncio.sleep(10)
            about = {"kind": "ConfigMap", "metadata": {"namespace": "shop", "name": "a"}}
            work.events("east").record(about, "Normal", "Promoted", "at the very end")

        work = engine(config_maps(Recorder(act)))
        run = asyncio.create_task(work.run())
        await work.engage("east", east.client())
        await asyncio.sleep(5)
        work.stop()
        await run
        assert any(place[0] == "events" for place in east.objects)

    run_virtual(scenario())


def test_an_engine_refuses_what_cannot_be_meant() -> None:
    async def scenario() -> None:
        maps = config_maps(Recorder())
        with pytest.raises(ValueError, match="same name"):
            engine(maps, maps)
        work = engine()
        work.add(maps)
        with pytest.raises(ValueError, match="no controller 'typo'"):
            work.enqueue("typo", Request("east", None, "a"))
        with pytest.raises(ValueError, match="no name for a cluster"):
            await work.engage(FLEET, MemoryCluster().client())
        async with running(work):
            await work.engage("east", MemoryCluster().client())
            with pytest.raises(LookupError, match="no controller watches secrets"):
                work.cache("east", SECRETS)
            with pytest.raises(RuntimeError, match="already at work"):
                work.add(replace(maps, name="late"))
            with pytest.raises(RuntimeError, match="runs once"):
                await work.run()

    run_virtual(scenario())
