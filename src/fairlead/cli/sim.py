"""`fairlead sim`: simulated clusters to play with."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Annotated

import typer

from fairlead.cli.output import error_console
from fairlead.errors import InvalidInput

app = typer.Typer(help="Simulated clusters to play with.", no_args_is_help=True)


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="The cluster's name.")] = "sim",
    kubeconfig: Annotated[
        Path, typer.Option(help="Where to write how to reach it; removed at the end.")
    ] = Path("sim.kubeconfig"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 picks a free one.")] = 0,
    crds: Annotated[bool, typer.Option(help="Install the CRDs of Fairlead's own kinds.")] = True,
) -> None:
    """Run a simulated Kubernetes API server until Ctrl-C.

    Example: fairlead sim run east --kubeconfig east.kubeconfig
    """
    from fairlead.cli.loop import run as run_loop

    if kubeconfig.exists():
        problem = "is already there and would be overwritten"
        raise InvalidInput(str(kubeconfig), problem, "name another file with --kubeconfig")
    try:
        run_loop(_serve(name, kubeconfig, port, crds))
    finally:
        kubeconfig.unlink(missing_ok=True)


async def _serve(name: str, kubeconfig: Path, port: int, crds: bool) -> None:
    from fairlead.api.crd import crd
    from fairlead.api.kinds import kinds
    from fairlead_sim.cluster import SimCluster

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    cluster = SimCluster(name)
    try:
        await cluster.start(port=port)
    except OSError as error:
        problem = f"cannot listen on port {port} ({error.strerror or error})"
        raise InvalidInput("--port", problem, "use 0 for a free one") from error
    try:
        if crds:
            cluster.load(crd(kind) for kind in kinds())
        cluster.write_kubeconfig(kubeconfig)
        say = error_console().print
        say(f"Simulated cluster [bold]{name}[/] listens at {cluster.url}; Ctrl-C ends it.")
        say(f"Try: [cyan]kubectl --kubeconfig {kubeconfig} get namespaces[/]")
        await stop.wait()
    finally:
        await cluster.stop()
