"""One look at the fleet for commands that show it: rows for tables, problems, and the exit code
they amount to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.markup import escape

from fairlead.app import look_once
from fairlead.cli.clusters import COLUMNS, ClusterRow
from fairlead.cli.exit_codes import ExitCode
from fairlead.cli.loop import run
from fairlead.cli.output import Format, error_console, show
from fairlead.errors import InvalidInput, Reason
from fairlead.registry.problem import Problem, Severity
from fairlead.registry.snapshot import ClusterView
from fairlead.settings import Settings, with_memory

_NO_ENTRY = {Reason.UNAUTHORIZED.value, Reason.FORBIDDEN.value}


@dataclass(frozen=True, slots=True)
class Seen:
    rows: list[ClusterRow]
    problems: tuple[Problem, ...]

    @property
    def broken(self) -> bool:
        return any(problem.severity is Severity.ERROR for problem in self.problems)


def look(
    settings: Settings,
    *,
    names: Sequence[str] = (),
    check: bool = True,
    accept: Sequence[str] = (),
) -> Seen:
    """The clusters, all or those named, asked for their health if `check`."""
    snapshot, versions = run(look_once(with_memory(settings), check=check, accept=accept))
    for name in names:
        if name not in snapshot.clusters:
            known = ", ".join(snapshot.clusters) or "none"
            raise InvalidInput(settings.place, f"there is no cluster {name!r}", f"known: {known}")
    views = [view for view in snapshot.clusters.values() if not names or view.name in names]
    problems = tuple(p for p in snapshot.problems if not names or p.cluster in (None, *names))
    return Seen([_row(view, versions.get(view.name)) for view in views], problems)


def _row(view: ClusterView, version: str | None) -> ClusterRow:
    entry, health = view.entry, view.health
    expires = view.credentials_expire_at
    return ClusterRow(
        name=entry.name,
        region=entry.region,
        endpoint=entry.endpoint,
        health=health.health.value,
        reason=health.reason.value if health.reason else None,
        response_time=None if health.response_time is None else round(health.response_time, 4),
        identity=view.identity,
        version=version,
        credentials_expire_at=expires.isoformat(timespec="seconds") if expires else None,
        labels=dict(entry.labels),
        weight=entry.weight,
        source=entry.source,
        last_error=health.last_error,
    )


def tell(seen: Seen, output: Format) -> None:
    """Print the rows, and what is wrong with the registry."""
    if seen.rows or not seen.broken or output is not Format.TABLE:
        show(seen.rows, COLUMNS, output, "There are no clusters yet; see fairlead clusters add -h")
    for problem in seen.problems:
        colour = "red" if problem.severity is Severity.ERROR else "yellow"
        word = problem.severity.value.capitalize()
        error_console().print(f"[bold {colour}]{word}:[/] {escape(str(problem))}")


def listing_verdict(seen: Seen) -> ExitCode:
    """Whether everything that was written down could be listed."""
    if not seen.broken:
        return ExitCode.OK
    return ExitCode.PARTIAL if seen.rows else ExitCode.ERROR


def health_verdict(seen: Seen) -> ExitCode:
    """Whether everything is listed, and everything listed is well."""
    ill = [row for row in seen.rows if row.health != "healthy"]
    if ill and len(ill) == len(seen.rows):
        refused = all(row.reason in _NO_ENTRY for row in ill)
        return ExitCode.FORBIDDEN if refused else ExitCode.UNREACHABLE
    return ExitCode.PARTIAL if ill else listing_verdict(seen)
