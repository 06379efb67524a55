"""`fairlead clusters`: which clusters there are, how they are, and changes to a registry file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.markup import escape

from fairlead.cli.options import ConfigOption, registry_path_for, settings_for
from fairlead.cli.output import Column, Format, OutputOption, error_console
from fairlead.errors import InvalidInput

app = typer.Typer(help="Which clusters there are, and how they are.", no_args_is_help=True)

NamesArgument = Annotated[
    list[str] | None, typer.Argument(help="Only these clusters.", show_default=False)
]


class ClusterRow(msgspec.Struct, frozen=True, rename="camel"):
    """One cluster as it is listed, without secrets."""

    name: str
    region: str | None
    endpoint: str
    health: str
    reason: str | None
    response_time: float | None
    identity: str | None
    version: str | None
    credentials_expire_at: str | None
    labels: dict[str, str]
    weight: int
    source: str
    last_error: str | None


COLUMNS = [
    Column[ClusterRow]("NAME", lambda row: row.name),
    Column[ClusterRow]("REGION", lambda row: row.region or ""),
    Column[ClusterRow]("HEALTH", lambda row: row.health, coloured=True),
    Column[ClusterRow]("RESPONSE", lambda row: _milliseconds(row.response_time)),
    Column[ClusterRow]("VERSION", lambda row: row.version or ""),
    Column[ClusterRow]("IDENTITY", lambda row: (row.identity or "")[:8]),
    Column[ClusterRow]("ENDPOINT", lambda row: row.endpoint),
]


@app.command("list")
def list_(
    context: typer.Context,
    config: ConfigOption = None,
    output: OutputOption = Format.TABLE,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Ask every cluster how it is.")
    ] = True,
) -> None:
    """List the clusters of the fleet.

    Exits 4 if some entries cannot be used, 1 if none can.

    Example: fairlead clusters list --config ./fleet -o json
    """
    from fairlead.cli.looking import listing_verdict, look, tell

    seen = look(settings_for(context, config), check=check)
    tell(seen, output)
    raise typer.Exit(listing_verdict(seen))


@app.command()
def check(
    context: typer.Context,
    names: NamesArgument = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="A rebuilt cluster among NAMES is the right one now.")
    ] = False,
    config: ConfigOption = None,
    output: OutputOption = Format.TABLE,
) -> None:
    """Check that every cluster can be reached and is the one it was.

    Exits 0 if all are healthy, 4 if some are not, 5 if none can be reached, 6 if none lets us in.

    Example: fairlead clusters check east west
    """
    from fairlead.cli.looking import health_verdict, look, tell

    if accept and not names:
        raise typer.BadParameter("name the clusters to accept", param_hint="--accept")
    chosen = names or []
    seen = look(settings_for(context, config), names=chosen, accept=chosen if accept else [])
    tell(seen, output)
    for row in seen.rows:
        if row.health != "healthy" and row.last_error:
            error_console().print(f"[bold]{row.name}[/]: {escape(row.last_error)}")
        if row.reason == "wrong-cluster":
            hint = f"fairlead clusters check {row.name} --accept"
            error_console().print(f"  If you rebuilt it yourself: [cyan]{hint}[/]")
    raise typer.Exit(health_verdict(seen))


@app.command()
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The cluster's name in the fleet.")],
    kubeconfig: Annotated[
        Path | None, typer.Option(help="Take address and credential from this kubeconfig.")
    ] = None,
    kube_context: Annotated[
        str | None, typer.Option("--context", help="Its context [default: the current one].")
    ] = None,
    endpoint: Annotated[str | None, typer.Option(help="https://address of the API server.")] = None,
    ca_file: Annotated[Path | None, typer.Option(help="Its certificate authority.")] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="A file with a bearer token; - reads standard input.")
    ] = None,
    region: Annotated[str | None, typer.Option(help="Where it stands.")] = None,
    namespace: Annotated[str | None, typer.Option(help="Its default namespace.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="A label key=value; repeatable.")] = None,
    weight: Annotated[int | None, typer.Option(help="Its share of balanced traffic.")] = None,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Refuse a cluster that cannot be reached.")
    ] = True,
    config: ConfigOption = None,
) -> None:
    """Add a cluster to the registry file or folder.

    The credential goes into a file of its own that only you can read.

    Examples:

      fairlead clusters add east --kubeconfig ~/.kube/config --context prod-east --region eu

      fairlead clusters add west --endpoint https://west:6443 --ca-file ca.crt --token-file token
    """
    from fairlead.cli.editing import NewCluster, add_cluster

    fields: dict[str, Any] = {
        "name": name,
        "endpoint": endpoint,
        "region": region,
        "namespace": namespace,
        "labels": _labels(label or []),
        "weight": weight,
    }
    given = {key: value for key, value in fields.items() if value not in (None, {})}
    new = NewCluster(given, kubeconfig, kube_context, ca_file, _token(token_file))
    edit = add_cluster(registry_path_for(context, config), new, check=check)
    error_console().print(f"Added {name} to {edit.file}.")
    for warning in edit.warnings:
        error_console().print(f"[yellow]Warning:[/] {warning}")


@app.command()
def remove(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The cluster to forget.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    config: ConfigOption = None,
) -> None:
    """Remove a cluster from the registry; the cluster itself is not touched.

    Example: fairlead clusters remove east --yes
    """
    from fairlead.registry.edit import remove_cluster

    path = registry_path_for(context, config)
    if not yes and sys.stdin.isatty():
        typer.confirm(f"Remove {name} from {path}?", abort=True)
    edit = remove_cluster(path, name)
    also = f" and deleted {edit.credential_file}" if edit.credential_file else ""
    error_console().print(f"Removed {name} from {edit.file}{also}.")


@app.command()
def kubeconfig(
    context: typer.Context,
    names: NamesArgument = None,
    write: Annotated[
        Path | None, typer.Option(help="Merge the contexts into this file, readable only by you.")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Print a kubeconfig with a context for every cluster. It holds credentials.

    Example: fairlead clusters kubeconfig --write ~/.kube/fleet
    """
    from fairlead.cli.editing import contexts_of
    from fairlead.kube.kubeconfig.writer import dump, merge_into

    entries = contexts_of(settings_for(context, config), names or [])
    if write is None:
        sys.stdout.write(dump(entries, entries[0].name if entries else None))
        return
    merge_into(write.expanduser(), entries)
    known = ", ".join(entry.name for entry in entries)
    error_console().print(f"Wrote {len(entries)} contexts to {write}: {known}.")


def _labels(given: list[str]) -> dict[str, str]:
    labels = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"{text!r} is not of the form key=value", param_hint="--label")
        labels[key] = value
    return labels


def _token(path: Path | None) -> str | None:
    if path is None:
        return None
    if str(path) == "-":
        return sys.stdin.read(65536).strip()
    from fairlead.kube.credentials import read_file

    try:
        return read_file(path, "token").decode("ascii").strip()
    except UnicodeDecodeError as error:
        raise InvalidInput(str(path), "is not a token", "a token is plain ASCII text") from error


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1000:.0f} ms"
