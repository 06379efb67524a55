"""Trouble on demand, switchable while the cluster runs: slow or failing requests, lost watches,
compaction, partitions, crashes. Everything random comes from one injected generator, so a run can
be repeated. Holds what to do; the server and the listener ask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from fairlead_sim import answers
from fairlead_sim.serving.routes import Target


@dataclass(slots=True, eq=False)
class Fault:
    """One rule. Empty `verbs` or `resources` match all; `times` counts down to its end."""

    verbs: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()
    delay: float = 0.0
    code: int | None = None
    retry_after: int | None = None
    rate: float = 1.0
    times: int | None = None

    def matches(self, verb: str, target: Target) -> bool:
        if self.times == 0 or (self.verbs and verb not in self.verbs):
            return False
        if not self.resources:
            return True
        resource = f"{target.resource}.{target.group}" if target.group else target.resource
        names = (target.resource, resource, f"{target.resource}/{target.subresource}")
        return any(name in self.resources for name in names)

    def answer(self) -> Exception | None:
        if self.code is None:
            return None
        if self.code == 429:
            return answers.too_many_requests(self.retry_after or 1)
        refusal = answers.internal_error("a fault was asked for", self.code)
        if self.retry_after is not None:
            refusal.headers["Retry-After"] = str(self.retry_after)
        return refusal


class Machinery(Protocol):
    """What faults do to the running cluster beneath the level of requests."""

    async def refuse_connections(self) -> None: ...

    async def swallow_connections(self) -> None: ...

    async def accept_connections(self) -> None: ...

    def drop_watches(self) -> int: ...

    def forget_history(self) -> None: ...


def _names(values: str | tuple[str, ...] | list[str]) -> frozenset[str]:
    return frozenset([values] if isinstance(values, str) else values)


@dataclass(slots=True, eq=False)
class Faults:
    """The switches of one cluster."""

    random: Random
    _machinery: Machinery
    bookmarks: bool = True
    _rules: list[Fault] = field(default_factory=list)
    _expiring_watches: int = 0
    _healthy: asyncio.Event = field(default_factory=asyncio.Event)
    _partition: str = ""

    def __post_init__(self) -> None:
        self._healthy.set()

    # ---- requests

    def delay(
        self,
        seconds: float,
        *,
        verbs: str | tuple[str, ...] = (),
        resources: str | tuple[str, ...] = (),
        rate: float = 1.0,
        times: int | None = None,
    ) -> Fault:
        """Answer matching requests late."""
        return self._add(
            Fault(_names(verbs), _names(resources), delay=seconds, rate=rate, times=times)
        )

    def fail(
        self,
        code: int = 500,
        *,
        verbs: str | tuple[str, ...] = (),
        resources: str | tuple[str, ...] = (),
        rate: float = 1.0,
        times: int | None = None,
        retry_after: int | None = None,
    ) -> Fault:
        """Answer matching requests with this code; 429 always carries Retry-After."""
        return self._add(
            Fault(
                _names(verbs),
                _names(resources),
                code=code,
                retry_after=retry_after,
                rate=rate,
                times=times,
            )
        )

    def _add(self, fault: Fault) -> Fault:
        self._rules.append(fault)
        return fault

    def clear(self, fault: Fault | None = None) -> None:
        """End one fault, or all faults of requests."""
        if fault is None:
            self._rules.clear()
        elif fault in self._rules:
            self._rules.remove(fault)

    async def meet(self, verb: str, target: Target) -> None:
        """Called for each request before it is served: wait, or raise the answer."""
        for fault in list(self._rules):
            if not fault.matches(verb, target):
                continue
            if fault.rate < 1.0 and self.random.random() >= fault.rate:
                continue
            if fault.times is not None:
                fault.times -= 1
            if fault.delay:
                await asyncio.sleep(fault.delay)
            if (refusal := fault.answer()) is not None:
                raise refusal

    # ---- watches

    def cut_watches(self) -> int:
        """Break every running watch without a word; answers how many there were."""
        return self._machinery.drop_watches()

    def expire_watches(self, count: int = 1) -> None:
        """Answer the next watches that name a resourceVersion with 410 Gone."""
        self._expiring_watches = count

    def takes_expiry(self) -> bool:
        """Called by a new watch: is it one of those?"""
        if self._expiring_watches <= 0:
            return False
        self._expiring_watches -= 1
        return True

    def compact(self) -> None:
        """Forget all history, as etcd's compaction does: old versions answer 410."""
        self._machinery.forget_history()

    # ---- the network

    @property
    def partitioned(self) -> str:
        """Empty, `refuse` or `hang`."""
        return self._partition

    async def partition(self, mode: str = "refuse") -> None:
        """Nobody reaches the cluster: connections are refused and open ones broken (`refuse`), or
        nothing is answered any more, on old connections and new ones (`hang`)."""
        await self._switch(mode)

    async def heal(self) -> None:
        """End the partition."""
        await self._switch("")

    async def _switch(self, mode: str) -> None:
        actions: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
            "": self._machinery.accept_connections,
            "refuse": self._machinery.refuse_connections,
            "hang": self._machinery.swallow_connections,
        }
        if mode not in actions:
            raise ValueError(f"partition mode {mode!r} is neither 'refuse' nor 'hang'")
        if mode == self._partition:
            return
        self._partition = mode
        if mode == "hang":
            self._healthy.clear()
        else:
            self._healthy.set()
        await actions[mode]()

    async def reachable(self) -> None:
        """Called wherever something is about to be answered: waits while nothing may be."""
        if not self._healthy.is_set():
            await self._healthy.wait()
