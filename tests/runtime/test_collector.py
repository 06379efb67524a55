"""Full garbage collections happen by the clock, and cycles are found all the same."""

from __future__ import annotations

import asyncio
import gc
import weakref

from fairlead.runtime.collector import Collector
from tests.runtime.virtual_time import VirtualClock, run_virtual


class Cycle:
    def __init__(self) -> None:
        self.itself = self


def test_cycles_are_collected_by_the_clock_and_the_thresholds_come_back() -> None:
    async def scenario() -> None:
        before = gc.get_threshold()
        running = asyncio.create_task(Collector(VirtualClock(), seconds=300.0).run())
        await asyncio.sleep(1)
        assert gc.get_threshold()[2] > 100_000
        old = Cycle()
        gc.collect()
        kept = weakref.ref(old)
        del old
        assert kept() is not None
        await asyncio.sleep(300)
        assert kept() is None
        running.cancel()
        await asyncio.wait([running])
        assert gc.get_threshold() == before

    run_virtual(scenario())
