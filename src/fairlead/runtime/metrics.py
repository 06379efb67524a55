"""Everything the engine counts, for Prometheus. Owns the names, labels and their bounds, and
removes the series of clusters that left; knows nothing of who serves the page. A registry of its
own, so that two engines in one process do not mix."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from fairlead.kube.caller import RequestSeen
from fairlead.runtime.outcome import Ending

_FAST = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_MOST_WORD_LENGTH = 40


@dataclass(frozen=True, slots=True)
class QueueReading:
    """How one queue stands at one moment."""

    controller: str
    cluster: str
    depth: int
    delayed: int
    oldest_age: float
    adds: int
    retries: int


class _QueueCollector(Collector):
    """Shows the readings of the last look; counting on the way would cost every event."""

    def __init__(self) -> None:
        self.readings: list[QueueReading] = []

    def collect(self) -> Iterator[Metric]:
        gauges = {
            "depth": ("fairlead_queue_depth", "Keys that wait for a worker."),
            "delayed": ("fairlead_queue_delayed", "Keys that come back later."),
            "oldest_age": (
                "fairlead_queue_oldest_age_seconds",
                "How long the longest waiting key has been waiting.",
            ),
        }
        counters = {
            "adds": ("fairlead_queue_adds", "Keys added, duplicates not counted."),
            "retries": ("fairlead_queue_retries", "Keys put back after a failure."),
        }
        labels = ["controller", "cluster"]
        readings = self.readings
        for field, (name, text) in gauges.items():
            gauge = GaugeMetricFamily(name, text, labels=labels)
            for reading in readings:
                gauge.add_metric([reading.controller, reading.cluster], getattr(reading, field))
            yield gauge
        for field, (name, text) in counters.items():
            counter = CounterMetricFamily(name, text, labels=labels)
            for reading in readings:
                counter.add_metric([reading.controller, reading.cluster], getattr(reading, field))
            yield counter


@dataclass(frozen=True, slots=True)
class ReconcileMetrics:
    """The counters of one controller in one cluster, looked up once."""

    duration: Histogram
    waited: Histogram
    endings: dict[Ending, Counter]
    active: Gauge


class Metrics:
    def __init__(self, version: str = "") -> None:
        self.registry = CollectorRegistry()
        self._sources: list[Callable[[], Iterable[QueueReading]]] = []
        self._queues = _QueueCollector()
        self.registry.register(self._queues)
        work = ["controller", "cluster"]
        self._duration = self._histogram(
            "fairlead_reconcile_duration_seconds", "How long a reconcile took.", work
        )
        self._waited = self._histogram(
            "fairlead_queue_wait_seconds", "From a key being ready to its reconcile.", work
        )
        self._total = self._counter(
            "fairlead_reconcile", "Reconciles by how they ended.", [*work, "result"]
        )
        self._active = self._gauge("fairlead_reconcile_active", "Reconciles now running.", work)
        self._restarts = self._counter(
            "fairlead_watch_restarts",
            "Watches begun anew.",
            ["cluster", "resource", "reason"],
        )
        self._requests = self._counter(
            "fairlead_api_requests", "Requests to API servers.", ["cluster", "method", "code"]
        )
        self._latency = self._histogram(
            "fairlead_api_request_duration_seconds",
            "How long API servers took to answer.",
            ["cluster", "method"],
        )
        self._leader = self._gauge(
            "fairlead_leader", "1 while this process leads in the cluster.", ["cluster"]
        )
        self._engaged = self._gauge(
            "fairlead_cluster_engaged", "1 while the engine works with the cluster.", ["cluster"]
        )
        self._synced = self._gauge(
            "fairlead_cluster_synced", "1 once all caches of the cluster are filled.", ["cluster"]
        )
        self._events = self._counter(
            "fairlead_events", "Kubernetes Events by what became of them.", ["cluster", "result"]
        )
        self.loop_lag = Gauge(
            "fairlead_event_loop_lag_seconds",
            "How late the event loop woke the last heartbeat.",
            registry=self.registry,
        )
        build = Gauge(
            "fairlead_build_info",
            "Always 1; the labels say what is running.",
            ["version", "python"],
            registry=self.registry,
        )
        build.labels(version=version, python=platform.python_version()).set(1)
        self._of_clusters = (
            *(self._duration, self._waited, self._total, self._active, self._restarts),
            *(self._requests, self._latency, self._leader, self._engaged, self._synced),
            self._events,
        )

    def watch_queues(self, readings: Callable[[], Iterable[QueueReading]]) -> None:
        """Asks `readings` at every scrape for the queues that exist then."""
        self._sources.append(readings)

    async def render(self, accept: str = "") -> tuple[bytes, str]:
        """The page for Prometheus and its content type. Thousands of series take a while, so the
        text is made in a thread; queues are looked at here, where nobody changes them."""
        self._queues.readings = [reading for source in self._sources for reading in source()]
        encoder, content_type = choose_encoder(accept)
        return await asyncio.to_thread(encoder, self.registry), content_type

    def reconciles(self, controller: str, cluster: str) -> ReconcileMetrics:
        return ReconcileMetrics(
            duration=self._duration.labels(controller, cluster),
            waited=self._waited.labels(controller, cluster),
            endings={end: self._total.labels(controller, cluster, end.value) for end in Ending},
            active=self._active.labels(controller, cluster),
        )

    def watch_restarted(self, cluster: str, resource: str, reason: str) -> None:
        self._restarts.labels(cluster, resource, _word(reason)).inc()

    def observe_requests(self, cluster: str) -> Callable[[RequestSeen], None]:
        """What a cluster's client is to call after every request."""

        def seen(request: RequestSeen) -> None:
            method = request.method if request.method in _METHODS else "OTHER"
            self._requests.labels(cluster, method, _word(request.code)).inc()
            self._latency.labels(cluster, method).observe(request.seconds)

        return seen

    def leading(self, cluster: str, yes: bool) -> None:
        self._leader.labels(cluster).set(yes)

    def engaged(self, cluster: str) -> None:
        self._engaged.labels(cluster).set(1)
        self._synced.labels(cluster).set(0)

    def synced(self, cluster: str) -> None:
        self._synced.labels(cluster).set(1)

    def event(self, cluster: str, result: str) -> None:
        self._events.labels(cluster, _word(result)).inc()

    def forget_cluster(self, cluster: str) -> None:
        """Removes every series of a cluster that left."""
        for metric in self._of_clusters:
            metric.remove_by_labels({"cluster": cluster})

    def _counter(self, name: str, text: str, labels: list[str]) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, labels: list[str]) -> Gauge:
        return Gauge(name, text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, labels: list[str]) -> Histogram:
        return Histogram(name, text, labels, buckets=_FAST, registry=self.registry)


def _word(text: str) -> str:
    """A label value that foreign text cannot blow up: one short word."""
    word = "".join(letter if letter.isalnum() else "-" for letter in text[:_MOST_WORD_LENGTH])
    return word.strip("-").lower() or "unknown"
