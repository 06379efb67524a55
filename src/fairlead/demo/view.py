"""The fleet at a glance: one row per cluster, with what every agent thinks of it."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from fairlead.demo.stage import REGIONS, Stage
from fairlead.registry.health import Health

_MARKS = {
    Health.HEALTHY: ("●", "green"),
    Health.DEGRADED: ("◐", "yellow"),
    Health.UNHEALTHY: ("✖", "red"),
    Health.UNKNOWN: ("?", "dim"),
}


def fleet_table(stage: Stage) -> Table:
    grid = Table(box=None, header_style="bold", padding=(0, 2))
    for title in ("CLUSTER", "REGION", "SEEN BY " + ", ".join(stage.agents), "RESPONSE"):
        grid.add_column(title, no_wrap=True)
    grid.add_column("IDENTITY", no_wrap=True)
    for number, name in enumerate(stage.clusters, start=1):
        grid.add_row(f"{number} {name}", REGIONS[name], _marks(stage, name), *_facts(stage, name))
    return grid


def _marks(stage: Stage, cluster: str) -> Text:
    marks = Text()
    for observer in stage.agents:
        view = stage.view(observer, cluster)
        symbol, colour = _MARKS[view.health.health if view else Health.UNKNOWN]
        marks.append(f"{symbol} ", style=colour)
    return marks


def _facts(stage: Stage, cluster: str) -> tuple[str, str]:
    """As the cluster's neighbours see it, if they do."""
    for observer in stage.agents:
        view = stage.view(observer, cluster)
        if observer != cluster and view is not None and view.health.health is Health.HEALTHY:
            took = f"{(view.health.response_time or 0) * 1000:.0f} ms"
            return took, (view.identity or "")[:8]
    return "-", "-"


def worries(stage: Stage) -> list[str]:
    """One sentence for each cluster that is not healthy, from the first agent that says why."""
    sentences: dict[str, str] = {}
    for cluster in stage.clusters:
        for observer in stage.agents:
            view = stage.view(observer, cluster)
            if observer != cluster and view and view.health.health is not Health.HEALTHY:
                sentences.setdefault(cluster, f"{observer}: {view.health.last_error or '...'}")
    return list(sentences.values())
