"""`fairlead agent`: the process that runs on every cluster."""

from __future__ import annotations

import asyncio
import signal

import typer

from fairlead.cli.options import ConfigOption, settings_for

app = typer.Typer(help="The process that runs on every cluster.", no_args_is_help=True)


@app.command()
def run(context: typer.Context, config: ConfigOption = None) -> None:
    """Run the agent until it is stopped: registry, engine, probes, metrics and controllers.

    SIGTERM and Ctrl-C let running work finish.

    Example: fairlead agent run --config /etc/fairlead
    """
    from fairlead.app import Agent
    from fairlead.cli.loop import run as run_loop
    from fairlead.runtime.logs import configure_logging

    settings = settings_for(context, config)

    async def main() -> None:
        configure_logging(level=settings.runtime.log_level, format=settings.runtime.log_format)
        agent = Agent(settings)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, agent.stop)
        await agent.run()

    run_loop(main())
