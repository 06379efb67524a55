"""Changes to a registry file as commands offer them: try the new cluster first, then write it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairlead.app import look_once
from fairlead.cli.loop import run
from fairlead.errors import InvalidInput, Reason, Unreachable
from fairlead.kube.credentials import read_file
from fairlead.kube.kubeconfig import load_kubeconfig
from fairlead.kube.kubeconfig.writer import ContextEntry
from fairlead.registry import edit
from fairlead.registry.health import Health
from fairlead.registry.snapshot import ClusterView
from fairlead.settings import FileSource, Settings


@dataclass(frozen=True, slots=True)
class NewCluster:
    """What was said about a cluster to add."""

    fields: dict[str, Any]
    kubeconfig: Path | None = None
    context: str | None = None
    ca_file: Path | None = None
    token: str | None = field(default=None, repr=False)

    def complete_fields(self) -> dict[str, Any]:
        if self.ca_file is None:
            return self.fields
        pem = read_file(self.ca_file, "certificate authority").decode("utf-8", "replace")
        return {**self.fields, "certificateAuthorityData": pem}

    def kubeconfig_text(self) -> str | None:
        """Only the context that is meant: the other credentials are none of our business."""
        if self.kubeconfig is None:
            if self.context is None:
                return None
            return load_kubeconfig().to_text([self.context])
        config = load_kubeconfig([self.kubeconfig.expanduser()])
        chosen = self.context or config.current_context
        if chosen is None:
            known = ", ".join(config.contexts) or "none"
            problem = "has no current context"
            raise InvalidInput(str(self.kubeconfig), problem, f"give --context, one of: {known}")
        return config.to_text([chosen])


def add_cluster(path: Path, new: NewCluster, *, check: bool) -> edit.Edit:
    """Write the entry, after it has been seen to work."""
    fields, kubeconfig = new.complete_fields(), new.kubeconfig_text()
    if check:
        with tempfile.TemporaryDirectory(prefix="fairlead-") as folder:
            trial = Path(folder) / "clusters.yaml"
            edit.add_cluster(trial, fields, kubeconfig=kubeconfig, token=new.token)
            _try(trial)
    if path.suffix not in (".yaml", ".yml", ".json"):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return edit.add_cluster(path, fields, kubeconfig=kubeconfig, token=new.token)


def _try(path: Path) -> None:
    snapshot, _ = run(look_once(Settings(str(path), (FileSource(path),))))
    view = next(iter(snapshot.clusters.values()))
    if view.health.health in (Health.HEALTHY, Health.DEGRADED) and view.identity is not None:
        return
    why = (view.health.last_error or "it gave no answer").rstrip(".")
    message = f"{why}; nothing was written (add it anyway with --no-check)"
    raise Unreachable(view.health.reason or Reason.CONNECT, message)


def contexts_of(settings: Settings, names: Sequence[str]) -> list[ContextEntry]:
    """A context for every cluster, with what its credentials present now."""
    return run(_contexts(settings, names))


async def _contexts(settings: Settings, names: Sequence[str]) -> list[ContextEntry]:
    snapshot, _ = await look_once(settings, check=False)
    unknown = [name for name in names if name not in snapshot.clusters]
    if unknown:
        known = ", ".join(snapshot.clusters) or "none"
        raise InvalidInput(settings.place, f"there is no cluster {unknown[0]!r}", f"known: {known}")
    chosen: list[ClusterView] = [
        view for view in snapshot.clusters.values() if not names or view.name in names
    ]
    return [
        ContextEntry.of(view.name, view.entry.access, await view.entry.access.credentials.current())
        for view in chosen
    ]
