"""What a capability declares to be run: its reconciler, what it watches, what else wakes it.
Owns the declarations; knows nothing of how the engine carries them out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from fairlead.kube.resource import Object, Resource
from fairlead.runtime.clock import Clock, SystemClock
from fairlead.runtime.outcome import Result
from fairlead.runtime.request import Request

MapObject = Callable[[str, Object], Iterable[Request]]


class Reconciler(Protocol):
    """Makes the world match one object. Raising asks for another attempt with growing delay,
    `errors.Terminal` for none until something changes, `Result(after=…)` for another look."""

    async def reconcile(self, request: Request) -> Result | None: ...


class Enqueue(Protocol):
    def __call__(self, request: Request, after: float = 0.0) -> None: ...


class Source(Protocol):
    """Wakes a controller for reasons other than a watch: a poll of the store, a timer."""

    @property
    def name(self) -> str: ...

    async def run(self, enqueue: Enqueue) -> None:
        """Until cancelled. An exception is logged, and the source started again."""
        ...


def the_object_itself(cluster: str, obj: Object) -> Iterable[Request]:
    return (Request.of(cluster, obj),)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects are watched. Equal selections of a cluster share one watch and one cache."""

    resource: Resource
    namespace: str | None = None
    labels: str | None = None
    fields: str | None = None

    def __str__(self) -> str:
        text = f"{self.resource} in {self.namespace}" if self.namespace else str(self.resource)
        chosen = ", ".join(part for part in (self.labels, self.fields) if part)
        return f"{text} where {chosen}" if chosen else text


@dataclass(frozen=True, slots=True)
class Watch:
    """Objects whose change is a reason to look again, and at what."""

    resource: Resource
    map: MapObject = the_object_itself
    """From the name of the cluster and the object to the requests it concerns. Asked about the
    object as it was and as it is, so that whoever it no longer concerns hears of it too."""
    namespace: str | None = None
    labels: str | None = None
    fields: str | None = None
    predicate: Callable[[Object | None, Object | None], bool] | None = None
    """Called with the old and the new object (None: not there); False: not worth a look."""
    clusters: Callable[[str], bool] | None = None
    """Which clusters to watch; None: all."""

    @property
    def selection(self) -> Selection:
        return Selection(self.resource, self.namespace, self.labels, self.fields)

    def applies_to(self, cluster: str) -> bool:
        return self.clusters is None or self.clusters(cluster)


@dataclass(frozen=True, slots=True)
class Controller:
    name: str
    reconciler: Reconciler
    watches: Sequence[Watch] = ()
    sources: Sequence[Source] = ()
    workers: int = 4
    """Reconciles at the same time *per cluster*: a cluster that answers slowly holds up only
    itself, and a flood of keys from one takes no turn from another."""
    leader_elected: bool = True
    """Whether, if the engine elects leaders, only the leader in a cluster works there."""
    clusters: Callable[[str], bool] | None = None
    """The clusters whose requests it takes; None: all. Watching others is still possible."""
    timeout: float | None = None
    """Overrides the engine's limit for one reconcile."""

    def serves(self, cluster: str) -> bool:
        return self.clusters is None or self.clusters(cluster)


@dataclass(frozen=True, slots=True)
class Timer:
    """A source that wakes the controller for the same requests again and again."""

    name: str
    seconds: float
    requests: Callable[[], Iterable[Request]]
    clock: Clock = field(default_factory=SystemClock, repr=False)

    async def run(self, enqueue: Enqueue) -> None:
        while True:
            for request in self.requests():
                enqueue(request)
            await self.clock.sleep(self.seconds)
