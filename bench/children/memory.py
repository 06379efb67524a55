"""How much memory and processor time this process has taken and what it waited for, as kernel and
interpreter count it. Knows nothing of who asks."""

from __future__ import annotations

import gc
import time
from pathlib import Path

_STATUS = Path("/proc/self/status")
_SCHEDULER = Path("/proc/self/schedstat")


def resident_mb() -> float:
    """What is in memory now, after a collection: garbage is nobody's need."""
    gc.collect()
    return _field("VmRSS")


def peak_mb() -> float:
    """The most that ever was in memory."""
    return _field("VmHWM")


def processor_seconds() -> float:
    """User and system time of all threads so far."""
    return time.process_time()


def seconds_without_a_core() -> float:
    """How long the main thread could have run while others had all the cores."""
    return int(_SCHEDULER.read_text(encoding="ascii").split()[1]) / 1e9


class Collections:
    """The time that garbage collections have stopped this process for."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began = 0.0
        gc.callbacks.append(self._collected)

    def _collected(self, phase: str, _: dict[str, int]) -> None:
        now = time.perf_counter()
        if phase == "start":
            self._began = now
        else:
            self.seconds += now - self._began


def _field(name: str) -> float:
    for line in _STATUS.read_text(encoding="ascii").splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0]) / 1024
    raise LookupError(f"{_STATUS} has no {name}; the bench needs Linux")
