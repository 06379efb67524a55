"""The registry for Prometheus: health, response time and expiry of every cluster, read from the
frozen snapshot at each scrape, so clusters that left leave no series."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fairlead.registry.health import Health
from fairlead.registry.problem import Severity
from fairlead.registry.snapshot import RegistrySnapshot


class RegistryCollector(Collector):
    def __init__(self, snapshot: Callable[[], RegistrySnapshot]) -> None:
        self._snapshot = snapshot

    def collect(self) -> Iterator[Metric]:
        snapshot = self._snapshot()
        health = GaugeMetricFamily(
            "fairlead_cluster_health",
            "1 for the health this observer sees, 0 for the others.",
            labels=["cluster", "health"],
        )
        response = GaugeMetricFamily(
            "fairlead_cluster_response_seconds",
            "How long the last answered health check took.",
            labels=["cluster"],
        )
        expiry = GaugeMetricFamily(
            "fairlead_cluster_credentials_expire_timestamp_seconds",
            "When the certificate or token in use ends.",
            labels=["cluster"],
        )
        for name, view in snapshot.clusters.items():
            for word in Health:
                health.add_metric([name, word.value], float(view.health.health is word))
            if view.health.response_time is not None:
                response.add_metric([name], view.health.response_time)
            if view.credentials_expire_at is not None:
                expiry.add_metric([name], view.credentials_expire_at.timestamp())
        problems = GaugeMetricFamily(
            "fairlead_registry_problems", "What is wrong with the registry.", labels=["severity"]
        )
        counts = Counter(problem.severity for problem in snapshot.problems)
        for severity in Severity:
            problems.add_metric([severity.value], counts[severity])
        yield from (health, response, expiry, problems)
