"""Entries from the contexts of kubeconfig files, all of them or chosen ones, followed as the
files change. Owns how a context becomes a cluster's name."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from pathlib import Path

from fairlead.errors import InvalidInput
from fairlead.kube.kubeconfig import Kubeconfig, default_paths, load_kubeconfig
from fairlead.registry.entry import ClusterEntry, HealthCheck, digest, is_cluster_name
from fairlead.registry.last_good import LastGood, ProviderSnapshot, Reading
from fairlead.registry.problem import Problem
from fairlead.registry.providers import Publish
from fairlead.registry.providers.file import signature_of
from fairlead.runtime.clock import Clock, SystemClock


class KubeconfigProvider:
    """Contexts of kubeconfigs: of the files kubectl would use if `paths` is None, all contexts if
    `contexts` is None."""

    def __init__(
        self,
        paths: Sequence[Path] | None = None,
        contexts: Sequence[str] | None = None,
        *,
        defaults: HealthCheck | None = None,
        poll_seconds: float = 2.0,
        clock: Clock | None = None,
    ) -> None:
        self._paths = paths
        self._contexts = contexts
        self._defaults = defaults or HealthCheck()
        self._poll_seconds = poll_seconds
        self._clock = clock or SystemClock()
        self._last_good = LastGood()

    @property
    def description(self) -> str:
        paths = default_paths() if self._paths is None else self._paths
        return os.pathsep.join(str(path) for path in paths) or "KUBECONFIG"

    async def run(self, publish: Publish) -> None:
        published: ProviderSnapshot | None = None
        seen = None
        while True:
            files = frozenset(default_paths() if self._paths is None else self._paths)
            signature = await asyncio.to_thread(signature_of, files)
            if signature != seen:
                seen = signature
                snapshot = await asyncio.to_thread(self.load)
                if published is None or not snapshot.same_as(published):
                    publish(snapshot)
                    published = snapshot
            await self._clock.sleep(self._poll_seconds)

    def load(self) -> ProviderSnapshot:
        """One reading without watching, for commands that look once."""
        self._last_good.accept(self.description, self._read())
        return self._last_good.snapshot()

    def _read(self) -> Reading:
        try:
            kubeconfig = load_kubeconfig(self._paths)
        except InvalidInput as error:
            return Reading(problems=(Problem.of(error),), readable=False)
        entries: dict[str, ClusterEntry] = {}
        problems: list[Problem] = []
        broken: set[str] = set()
        for context in kubeconfig.contexts if self._contexts is None else self._contexts:
            name = cluster_name(context)
            try:
                entry = self._entry(kubeconfig, context, name)
            except InvalidInput as error:
                problems.append(Problem.of(error, name))
                broken.add(name)
                continue
            if name in entries:
                problem = f"becomes cluster {name!r}, which is already {entries[name].source}"
                remedy = "rename one of the contexts"
                problems.append(Problem(entry.source, problem, remedy, name))
            else:
                entries[name] = entry
        return Reading(
            entries=tuple(entries.values()),
            problems=tuple(problems),
            broken=frozenset(broken - entries.keys()),
        )

    def _entry(self, kubeconfig: Kubeconfig, context: str, name: str) -> ClusterEntry:
        access = kubeconfig.access(context)
        if not is_cluster_name(name):
            problem = f"the context {context!r} makes no name for a cluster"
            raise InvalidInput(access.description, problem, "rename the context")
        return ClusterEntry(
            name=name,
            access=access,
            credential=digest(kubeconfig.to_text([context]).encode()),
            source=access.description,
            namespace=access.namespace,
            health_check=self._defaults,
        )


def cluster_name(context: str) -> str:
    """`arn:aws:eks:eu-1:1:cluster/prod` as a name that Kubernetes can carry: the letters stay,
    what may not stand in a name becomes a dash, and of a long one the end counts."""
    name = re.sub(r"[^a-z0-9.-]+", "-", context.lower())
    return name[-63:].strip("-.")
