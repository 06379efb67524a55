"""`fairlead doctor`: what works here, what does not, and what to do about it."""

from __future__ import annotations

import typer

from fairlead.cli.exit_codes import ExitCode
from fairlead.cli.options import ConfigOption, chosen_config
from fairlead.cli.output import Column, Format, OutputOption, show


def doctor(
    context: typer.Context, config: ConfigOption = None, output: OutputOption = Format.TABLE
) -> None:
    """Say what works, what does not, and what to do.

    Exits 0 if nothing failed, 1 if something did, 4 if there are only warnings.

    Example: fairlead doctor --config ./fleet
    """
    from fairlead.cli.loop import run
    from fairlead.doctor import Finding, State, examine

    findings = run(examine(chosen_config(context, config)))
    columns = [
        Column[Finding]("CHECK", lambda finding: finding.check),
        Column[Finding]("STATE", lambda finding: finding.state.value, coloured=True),
        Column[Finding]("FINDING", lambda finding: finding.message, wrap=True),
        Column[Finding]("WHAT TO DO", lambda finding: finding.remedy, wrap=True),
    ]
    show(findings, columns, output, "")
    states = {finding.state for finding in findings}
    if State.FAILED in states:
        raise typer.Exit(ExitCode.ERROR)
    if State.WARNING in states:
        raise typer.Exit(ExitCode.PARTIAL)
