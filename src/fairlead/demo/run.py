"""The demo from its first line to its last: open the stage, play the tour or show the live view,
say what to try."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import time

from rich.console import Console

from fairlead.demo.chapters import CHAPTERS
from fairlead.demo.live import LiveView
from fairlead.demo.narrator import Narrator
from fairlead.demo.stage import REGIONS, Stage, open_stage
from fairlead.demo.story import play_all


async def run_demo(console: Console, *, once: bool, real: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    if not once:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
    kind = "real kube-apiservers" if real else "simulated clusters"
    started = time.monotonic()
    console.print(f"Starting {len(REGIONS)} {kind} and an agent for each ...")
    async with open_stage(real=real) as stage:
        console.print(f"[green]✓[/] the fleet is up [dim]({time.monotonic() - started:.1f} s)[/]")
        if once:
            await play_all(CHAPTERS, stage, Narrator(console))
            console.print("\n[bold green]✓ The tour is over; every step came true.[/]")
            return
        _say_what_to_try(console, stage)
        await LiveView(stage, console, stop).run()
        console.print("Cleaning up ...")


def _say_what_to_try(console: Console, stage: Stage) -> None:
    # `make demo` does not put the command on the PATH of the other terminal.
    fairlead = "fairlead" if shutil.which("fairlead") else os.path.abspath(sys.argv[0])
    console.print("\nIn another terminal, try:\n")
    for command in (
        f"export FAIRLEAD_CONFIG={stage.folder} KUBECONFIG={stage.kubeconfig}",
        f"{fairlead} clusters list",
        "kubectl --context west get namespaces",
        "kubectl --context east get clusterregistries -w",
        f"{fairlead} doctor",
    ):
        console.print(f"  [bold]$[/] [cyan]{command}[/]", soft_wrap=True)
    console.print("\nCtrl-C ends the fleet and removes everything.\n")
