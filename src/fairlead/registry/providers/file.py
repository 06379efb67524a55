"""Entries from a registry file, or from all registry files of a folder, followed as they change.
Owns the watching: by looking at the files again and again, which also works on mounted ConfigMaps
and network file systems; what stands in a file is the business of `file_entries`."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from fairlead.registry.entry import MAX_CLUSTERS, HealthCheck
from fairlead.registry.last_good import LastGood, ProviderSnapshot, Reading
from fairlead.registry.problem import Problem
from fairlead.registry.providers import Publish
from fairlead.registry.providers.file_entries import RegistryFile
from fairlead.runtime.clock import Clock, SystemClock

SUFFIXES = (".yaml", ".yml", ".json")
_FULL_READ_SECONDS = 60.0
_VANISHED_SECONDS = 0.5

Signature = frozenset[tuple[str, int, int, int]]


@dataclass(frozen=True, slots=True)
class _Scan:
    readings: dict[str, Reading]
    files: frozenset[Path]
    """Everything whose change calls for another scan."""


class FileProvider:
    """A file, or a folder whose files with a list `clusters` count."""

    def __init__(
        self,
        path: Path,
        *,
        defaults: HealthCheck | None = None,
        poll_seconds: float = 2.0,
        clock: Clock | None = None,
    ) -> None:
        self._path = path
        self._defaults = defaults or HealthCheck()
        self._poll_seconds = poll_seconds
        self._clock = clock or SystemClock()
        self._last_good = LastGood()
        self._sources: frozenset[str] = frozenset()

    @property
    def description(self) -> str:
        return str(self._path)

    async def run(self, publish: Publish) -> None:
        files = frozenset({self._path})
        seen: Signature | None = None
        read_at = 0.0
        published: ProviderSnapshot | None = None
        while True:
            signature = await asyncio.to_thread(signature_of, files)
            # What a kubeconfig names in turn is not looked at, so now and then all is read.
            due = self._clock.monotonic() - read_at >= _FULL_READ_SECONDS
            if signature != seen or due:
                read_at = self._clock.monotonic()
                scan = await asyncio.to_thread(self._scan)
                if self._sources - scan.readings.keys():
                    # Some editors delete a file and then write it: look twice before believing.
                    await self._clock.sleep(_VANISHED_SECONDS)
                    scan = await asyncio.to_thread(self._scan)
                snapshot = self._judge(scan)
                if published is None or not snapshot.same_as(published):
                    publish(snapshot)
                    published = snapshot
                # Taken before the scan: a change during the scan differs from it.
                seen = signature if scan.files == files else None
                files = scan.files
            await self._clock.sleep(self._poll_seconds)

    def load(self) -> ProviderSnapshot:
        """One reading without watching, for commands that look once."""
        return self._judge(self._scan())

    def _scan(self) -> _Scan:
        if not self._path.is_dir():
            if self._sources - {str(self._path)}:
                return self._unreadable("the folder is gone", "restore it, or remove its entries")
            return self._read([self._path], named=True)
        try:
            paths = registry_paths(self._path)
        except OSError as error:
            problem = f"the folder cannot be read ({error.strerror or error})"
            return self._unreadable(problem, "check its permissions")
        if len(paths) > MAX_CLUSTERS:
            problem = f"the folder has {len(paths)} files, more than {MAX_CLUSTERS}"
            return self._unreadable(problem, "name another folder, or put entries together")
        return self._read(paths, named=False)

    def _read(self, paths: list[Path], *, named: bool) -> _Scan:
        readings: dict[str, Reading] = {}
        files = {self._path, *paths}
        for path in paths:
            file = RegistryFile(path, self._defaults)
            source = str(path)
            # A file that had entries does not turn into something else: it was cut off.
            reading = file.read(named=named or source in self._sources)
            if reading is not None:
                readings[source] = reading
            files |= file.references
        return _Scan(readings, frozenset(files))

    def _unreadable(self, problem: str, remedy: str) -> _Scan:
        reading = Reading(problems=(Problem(str(self._path), problem, remedy),), readable=False)
        kept = {source: Reading(readable=False) for source in self._sources}
        return _Scan(kept | {str(self._path): reading}, frozenset({self._path}))

    def _judge(self, scan: _Scan) -> ProviderSnapshot:
        self._last_good.keep_only(scan.readings)
        for source, reading in scan.readings.items():
            self._last_good.accept(source, reading)
        self._sources = frozenset(scan.readings)
        return self._last_good.snapshot()


def registry_paths(folder: Path) -> list[Path]:
    """The files of a folder that may be registry files, in order."""
    return sorted(path for path in folder.iterdir() if _counts(path))


def _counts(path: Path) -> bool:
    """Hidden names are editors' leftovers and the machinery of mounted ConfigMaps."""
    return path.suffix in SUFFIXES and not path.name.startswith(".") and not path.is_dir()


def signature_of(files: frozenset[Path]) -> Signature:
    return frozenset(_look(path) for path in files)


def _look(path: Path) -> tuple[str, int, int, int]:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return (str(path), 0, 0, 0)
    return (str(path), found.st_mtime_ns, found.st_size, found.st_ino)
