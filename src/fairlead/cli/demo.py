"""`fairlead demo`: a whole fleet in one command."""

from __future__ import annotations

from typing import Annotated

import typer

from fairlead.cli.output import console


def demo(
    once: Annotated[
        bool, typer.Option("--once", help="Play the scripted tour to its end and exit.")
    ] = False,
    real: Annotated[
        bool, typer.Option("--real", help="Use real kube-apiservers (build them: make real).")
    ] = False,
) -> None:
    """Start three clusters in two regions with an agent each, and show the fleet live.

    Nothing is left behind, and nothing outside is touched.

    Example: fairlead demo --once
    """
    from fairlead.cli.loop import run
    from fairlead.demo.run import run_demo

    run(run_demo(console(), once=once, real=real))
