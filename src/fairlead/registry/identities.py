"""Which cluster each name has meant so far. Owns the memory, kept in a small file if there is
one, and the sentence for a cluster that is not the one it was; knows nothing of connections."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from fairlead.atomic_file import write_atomically
from fairlead.registry.entry import ClusterEntry
from fairlead.registry.problem import Problem

_MAX_BYTES = 1024 * 1024


class Identities:
    """UIDs of kube-system by cluster name."""

    def __init__(self, known: Mapping[str, str], file: Path | None = None) -> None:
        self._file = file
        self._known = dict(known)
        self.problem: Problem | None = None
        if file is not None:
            self._known |= self._load(file)

    def expected(self, entry: ClusterEntry) -> str | None:
        """A pin in the entry is somebody's decision, so it goes before what was learnt."""
        return entry.identity or self._known.get(entry.name)

    def mismatch(self, entry: ClusterEntry, found: str) -> str | None:
        """The sentence for another cluster under this name, or None if it is the right one."""
        expected = self.expected(entry)
        if expected is None or expected == found:
            return None
        if entry.identity is not None:
            return (
                f"cluster {entry.name!r} is not the one its entry pins: identity is {found}, "
                f"pinned is {expected}; correct the endpoint, or pin {found} at {entry.source}"
            )
        return (
            f"cluster {entry.name!r} was rebuilt: identity changed from {expected} to {found}; "
            f"if this is the cluster you mean, set `identity: {found}` at {entry.source}"
        )

    def remember(self, name: str, identity: str) -> None:
        if self._known.get(name) != identity:
            self._known[name] = identity
            self._save()

    def forget(self, name: str) -> None:
        if self._known.pop(name, None) is not None:
            self._save()

    def _load(self, file: Path) -> dict[str, str]:
        try:
            raw = file.read_bytes()
            known = json.loads(raw) if len(raw) <= _MAX_BYTES else None
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            return self._unusable(file, str(error))
        if not isinstance(known, dict) or not all(isinstance(uid, str) for uid in known.values()):
            return self._unusable(file, "it does not hold names and identities")
        return known

    def _unusable(self, file: Path, reason: str) -> dict[str, str]:
        # Not overwritten: it is the only witness of what the names meant.
        self._file = None
        problem = f"the identities cannot be read ({reason}), rebuilt clusters go unnoticed"
        remedy = "restore the file, or delete it to learn the identities anew, and start again"
        self.problem = Problem(str(file), problem, remedy)
        return {}

    def _save(self) -> None:
        if self._file is None:
            return
        try:
            write_atomically(self._file, json.dumps(self._known, indent=1, sort_keys=True) + "\n")
            self.problem = None
        except OSError as error:
            problem = f"the identities cannot be written ({error.strerror or error})"
            remedy = "make the folder writable; a cluster rebuilt before the next start is missed"
            self.problem = Problem(str(self._file), problem, remedy)
