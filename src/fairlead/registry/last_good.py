"""What stays in force when a source turns bad: the last good version of each of its entries, or
of all of them. Owns that rule; knows nothing of how a source is read or watched."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fairlead.registry.entry import ClusterEntry
from fairlead.registry.problem import Problem


@dataclass(frozen=True, slots=True)
class ProviderSnapshot:
    """What one provider says now: the entries in force and what is wrong."""

    entries: tuple[ClusterEntry, ...] = ()
    problems: tuple[Problem, ...] = ()

    def same_as(self, other: ProviderSnapshot) -> bool:
        """Whether it says the same, with entries compared by what matters."""
        mine, theirs = (
            [(entry.fingerprint, entry.source) for entry in snapshot.entries]
            for snapshot in (self, other)
        )
        return mine == theirs and self.problems == other.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One source as it was read just now.

    `broken` are names of entries that are there but unusable; `nameless` says that there are
    broken entries whose name cannot be told; `readable` False means the whole is unusable.
    """

    entries: tuple[ClusterEntry, ...] = ()
    problems: tuple[Problem, ...] = ()
    broken: frozenset[str] = frozenset()
    nameless: bool = False
    readable: bool = True


class LastGood:
    """The entries in force, by source."""

    def __init__(self) -> None:
        self._entries: dict[str, dict[str, ClusterEntry]] = {}
        self._problems: dict[str, tuple[Problem, ...]] = {}

    def accept(self, source: str, reading: Reading) -> None:
        """Take over what is good; what is broken keeps its last good version."""
        before = self._entries.get(source, {})
        self._problems[source] = reading.problems
        if not reading.readable:
            self._entries.setdefault(source, {})
            return
        kept = {name: entry for name, entry in before.items() if name in reading.broken}
        if reading.nameless:
            # A vanished entry may be the one whose name got mangled: it cannot be told, so stay.
            kept = dict(before)
        self._entries[source] = kept | {entry.name: entry for entry in reading.entries}

    def keep_only(self, sources: Iterable[str]) -> None:
        """Drop the sources that really do not exist any more, with all their entries."""
        wanted = set(sources)
        for source in self._entries.keys() - wanted:
            del self._entries[source]
            del self._problems[source]

    def snapshot(self, *further: Problem) -> ProviderSnapshot:
        """Everything in force, sources in the order of their names."""
        entries: dict[str, ClusterEntry] = {}
        problems: list[Problem] = list(further)
        for source in sorted(self._entries):
            problems.extend(self._problems[source])
            for name, entry in self._entries[source].items():
                if name in entries:
                    problems.append(collision(entries[name], entry))
                else:
                    entries[name] = entry
        return ProviderSnapshot(tuple(entries.values()), tuple(problems))


def collision(used: ClusterEntry, ignored: ClusterEntry) -> Problem:
    """Two places that claim one name."""
    return Problem(
        ignored.source,
        f"cluster {used.name!r} is already defined at {used.source}, which is used",
        "rename or remove one of the two",
        used.name,
    )
