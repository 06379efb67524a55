"""The command: which measurements to run, how large, where the results go, and the exit code. Knows
nothing of how anything is measured."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from bench import clusters, engine, machine, reflector, requests
from bench.figures import Bar, Report
from bench.processes import ROOT, BenchFailed
from bench.report import PageWithoutMarkers, Result, read_results, write_page, write_result
from bench.sizes import FULL, QUICK, Sizes
from fairlead_sim.real import RealPartFailed, RealPartsMissing

MEASUREMENTS: dict[str, Callable[[Sizes], Awaitable[Report]]] = {
    each.NAME: each.measure for each in (requests, reflector, engine, clusters)
}
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "performance.md"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    names = options.names or list(MEASUREMENTS)
    if options.quick and options.results is None:
        _say("bench: --quick is no measurement, so say with --results where its files may go.")
        return 2
    folder = options.results or RESULTS
    try:
        bars = asyncio.run(_measure(names, QUICK if options.quick else FULL, folder))
        if options.results is None:
            write_page(PAGE, read_results(RESULTS, list(MEASUREMENTS)))
    except (BenchFailed, RealPartsMissing, RealPartFailed, PageWithoutMarkers) as error:
        _say(f"bench: {error}")
        return 1
    except KeyboardInterrupt:
        _say("bench: interrupted; measurements that were complete are written.")
        return 130
    missed = [bar for bar in bars if not bar.met]
    if options.quick or not missed:
        return 0
    told = "; ".join(f"{bar.claim}: {bar.value:.3g} {bar.unit}" for bar in missed)
    _say(f"bench: {len(missed)} of {len(bars)} bars missed: {told}.")
    return 1


async def _measure(names: Sequence[str], sizes: Sizes, folder: Path) -> list[Bar]:
    """Each result is written as soon as it is there."""
    bars: list[Bar] = []
    facts = machine.facts()
    for name in names:
        _say(f"bench: {name} ...")
        before = machine.busy_share()
        report = await MEASUREMENTS[name](sizes)
        result = Result(report, facts, (before, machine.busy_share()))
        write_result(folder, result)
        for bar in report.bars:
            word = "met" if bar.met else "MISSED"
            _say(f"  {word}: {bar.claim}: {bar.value:.3g} {bar.unit} (limit {bar.limit:g})")
        bars += report.bars
    return bars


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="measurement",
        help=f"which to run, of {', '.join(MEASUREMENTS)} (default: all)",
        type=_known,
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="tiny sizes, no real parts, no bars: proves only that every measurement runs",
    )
    parser.add_argument(
        "--results",
        type=Path,
        metavar="FOLDER",
        help="write the JSON there and leave the page of the documentation as it is",
    )
    return parser


def _known(name: str) -> str:
    if name not in MEASUREMENTS:
        known = ", ".join(MEASUREMENTS)
        raise argparse.ArgumentTypeError(f"there is no measurement {name!r}; known are {known}")
    return name


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
