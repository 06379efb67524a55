from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from fairlead.errors import NotFound, Reason, Unreachable
from fairlead.kube.patches import MergePatch
from fairlead.kube.resource import Object, Resource
from fairlead.runtime.events import ConditionChange, EventRecorder, conditions_changed
from tests.runtime.virtual_time import VirtualClock, run_virtual

APP: Object = {
    "apiVersion": "fairlead.dev/v1alpha1",
    "kind": "Application",
    "metadata": {"namespace": "shop", "name": "cart", "uid": "u-1"},
}


class EventStore:
    """What an API server keeps of Events."""

    def __init__(self) -> None:
        self.events: dict[str, Object] = {}
        self.requests: Counter[str] = Counter()
        self.unreachable = False

    async def create(
        self, resource: Resource, obj: Object, namespace: str | None = None, /
    ) -> Object:
        self._reach("create")
        assert obj["metadata"]["namespace"] == namespace
        assert obj["metadata"]["name"] not in self.events
        self.events[obj["metadata"]["name"]] = obj
        return obj

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: MergePatch,
        namespace: str | None = None,
        /,
    ) -> Object:
        self._reach("patch")
        if name not in self.events:
            raise NotFound(f"there is no event {name}")
        self.events[name].update(patch.content)
        return self.events[name]

    def _reach(self, verb: str) -> None:
        self.requests[verb] += 1
        if self.unreachable:
            raise Unreachable(Reason.CONNECT, "no route")


class Desk:
    def __init__(self) -> None:
        self.store = EventStore()
        self.results: Counter[str] = Counter()
        self.recorder = EventRecorder(
            lambda: self.store,
            VirtualClock(),
            on_result=lambda result: self.results.update([result]),
        )

    async def __aenter__(self) -> Desk:
        self._task = asyncio.create_task(self.recorder.run())
        return self

    async def __aexit__(self, *problem: object) -> None:
        assert not self._task.done()
        self._task.cancel()
        await asyncio.wait({self._task})


def test_an_event_names_its_object_and_who_reports_it() -> None:
    async def scenario() -> None:
        async with Desk() as desk:
            desk.recorder.record(APP, "Warning", "NoQuorum", "two of three replicas are silent")
            await asyncio.sleep(1)
            (event,) = desk.store.events.values()
            assert event["involvedObject"] == {
                "apiVersion": "fairlead.dev/v1alpha1",
                "kind": "Application",
                "namespace": "shop",
                "name": "cart",
                "uid": "u-1",
            }
            assert event["metadata"]["namespace"] == "shop"
            assert event["type"] == "Warning"
            assert event["reason"] == "NoQuorum"
            assert event["count"] == 1
            assert event["source"]["component"] == "fairlead"

    run_virtual(scenario())


def test_the_same_event_again_is_counted_not_repeated() -> None:
    async def scenario() -> None:
        async with Desk() as desk:
            for _ in range(3):
                desk.recorder.record(APP, "Normal", "Promoted", "east is primary now")
            await asyncio.sleep(1)
            for _ in range(4):
                desk.recorder.record(APP, "Normal", "Promoted", "east is primary now")
                await asyncio.sleep(1)
            (event,) = desk.store.events.values()
            assert event["count"] == 7
            assert event["lastTimestamp"] > event["firstTimestamp"]
            assert desk.store.requests == {"create": 1, "patch": 4}
            desk.recorder.record(APP, "Normal", "Promoted", "west is primary now")
            await asyncio.sleep(1)
            assert len(desk.store.events) == 2

    run_virtual(scenario())


def test_an_event_that_expired_meanwhile_is_created_anew() -> None:
    async def scenario() -> None:
        async with Desk() as desk:
            desk.recorder.record(APP, "Normal", "Promoted", "east is primary now")
            await asyncio.sleep(1)
            desk.store.events.clear()
            desk.recorder.record(APP, "Normal", "Promoted", "east is primary now")
            await asyncio.sleep(1)
            assert len(desk.store.events) == 1
            await asyncio.sleep(3600)  # too long ago to be the same event
            desk.recorder.record(APP, "Normal", "Promoted", "east is primary now")
            await asyncio.sleep(1)
            assert len(desk.store.events) == 2

    run_virtual(scenario())


def test_an_object_that_floods_is_limited_and_others_are_not() -> None:
    async def scenario() -> None:
        async with Desk() as desk:
            for number in range(200):
                desk.recorder.record(APP, "Normal", "Tick", f"message {number}")
            other: Object = {"kind": "Namespace", "metadata": {"name": "shop"}}
            desk.recorder.record(other, "Normal", "Seen", "hello")
            await asyncio.sleep(1)
            assert len(desk.store.events) == 26
            assert desk.results["limited"] == 175
            in_default = [
                event
                for event in desk.store.events.values()
                if event["metadata"]["namespace"] == "default"
            ]
            assert [event["message"] for event in in_default] == ["hello"]
            await asyncio.sleep(3600)
            desk.recorder.record(APP, "Normal", "Tick", "an hour later")
            await asyncio.sleep(1)
            assert len(desk.store.events) == 27

    run_virtual(scenario())


def test_an_unreachable_cluster_costs_the_event_and_nothing_else() -> None:
    async def scenario() -> None:
        async with Desk() as desk:
            desk.store.unreachable = True
            desk.recorder.record(APP, "Normal", "Promoted", "east is primary now")
            await asyncio.sleep(1)
            desk.store.unreachable = False
            assert desk.results == {"failed": 1}
            desk.recorder.record(APP, "Normal", "Promoted", "east is primary now")
            await asyncio.sleep(1)
            assert desk.results == {"failed": 1, "posted": 1}

    run_virtual(scenario())


def test_a_message_that_is_too_long_is_cut_where_a_letter_ends() -> None:
    async def scenario() -> None:
        async with Desk() as desk:
            desk.recorder.record(APP, "Normal", "Long", "ü" * 5000)
            await asyncio.sleep(1)
            (event,) = desk.store.events.values()
            assert 1000 < len(event["message"].encode()) <= 1024

    run_virtual(scenario())


def condition(type: str, status: str, reason: str = "", message: str = "") -> dict[str, Any]:
    return {"type": type, "status": status, "reason": reason, "message": message}


def test_only_transitions_of_conditions_are_worth_an_event() -> None:
    old = [condition("Ready", "True", "Up"), condition("Protected", "False", "NoPeer", "alone")]
    new = [
        condition("Ready", "True", "Up", "another wording of the same"),
        condition("Protected", "True", "Synced", "both sides agree"),
        condition("Degraded", "True", "Lagging", "one hour behind"),
    ]
    assert list(conditions_changed(old, new, bad_when_true={"Degraded"})) == [
        ConditionChange("Normal", "Synced", "both sides agree"),
        ConditionChange("Warning", "Lagging", "one hour behind"),
    ]
    assert list(conditions_changed(new, new)) == []
    assert list(conditions_changed(None, [condition("Ready", "Unknown")])) == [
        ConditionChange("Warning", "Ready", "Ready is Unknown")
    ]
