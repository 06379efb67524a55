"""The root command: joins the groups, and turns every failure into one sentence and an exit
code. A traceback is shown only for a bug, and only when FAIRLEAD_DEBUG is set."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

import fairlead
from fairlead.cli import agent, clusters, crds, demo, doctor, sim
from fairlead.cli.exit_codes import ExitCode, for_error
from fairlead.cli.options import Invocation
from fairlead.cli.output import error_console
from fairlead.errors import FairleadError

app = typer.Typer(
    name="fairlead",
    help="Run many Kubernetes clusters as one fleet, without a hub.",
    epilog="Start with `fairlead demo`, or point it at your own: `fairlead clusters list`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(clusters.app, name="clusters")
app.add_typer(agent.app, name="agent")
app.add_typer(sim.app, name="sim")
app.command("crds")(crds.crds)
app.command("doctor")(doctor.doctor)
app.command("demo")(demo.demo)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fairlead {fairlead.__version__}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="File or folder; every command takes it too."),
    ] = None,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print and exit."),
    ] = False,
) -> None:
    context.obj = Invocation(config=config)


def main() -> None:
    """Entry point of the console script."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    try:
        result = app(arguments, standalone_mode=False)
    except typer.TyperException as error:
        return _usage(error)
    except typer.Exit as stop:
        return stop.exit_code
    except FairleadError as error:
        _say(str(error))
        return for_error(error)
    except (KeyboardInterrupt, typer.Abort):
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has seen enough; the interpreter must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except Exception as error:
        if "FAIRLEAD_DEBUG" in os.environ:
            raise
        _say(
            f"internal error ({type(error).__name__}: {error}); "
            "please report it with the output of the same command under FAIRLEAD_DEBUG=1"
        )
        return ExitCode.ERROR
    return int(result or 0)


def _usage(error: typer.TyperException) -> int:
    message = error.format_message()
    if not message:
        return ExitCode.USAGE  # a group without a command has shown its help
    context = getattr(error, "ctx", None)
    hint = f" Try `{context.command_path} --help`." if context else ""
    _say((message if message.endswith((".", "?")) else f"{message}.") + hint)
    return ExitCode.USAGE


def _say(sentence: str) -> None:
    error_console().print(f"[bold red]Error:[/] {escape(sentence)}")
