"""What the shell learns from a command. Documented in docs/reference/cli.md; scripts rely on
it, so a number never changes its meaning."""

from __future__ import annotations

from enum import IntEnum

from fairlead.errors import Conflict, FairleadError, Reason, Unreachable


class ExitCode(IntEnum):
    OK = 0
    ERROR = 1
    USAGE = 2
    CONFLICT = 3
    PARTIAL = 4
    UNREACHABLE = 5
    FORBIDDEN = 6
    INTERRUPTED = 130


def for_error(error: FairleadError) -> ExitCode:
    match error:
        case Unreachable(reason=Reason.FORBIDDEN | Reason.UNAUTHORIZED):
            return ExitCode.FORBIDDEN
        case Unreachable():
            return ExitCode.UNREACHABLE
        case Conflict():
            return ExitCode.CONFLICT
        case _:
            return ExitCode.ERROR
