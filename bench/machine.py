"""What the figures depend on besides the code: processor, versions, and how busy others kept the
machine meanwhile. Names no host. Knows nothing of the measurements."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from fairlead_sim.real import part

_PACKAGES = (
    "aiohttp",
    "kopf",
    "kubernetes_asyncio",
    "lightkube",
    "msgspec",
    "prometheus-client",
    "structlog",
    "uvloop",
)
_SAMPLE_SECONDS = 0.5


def facts() -> dict[str, Any]:
    """The machine and the versions, without anything that names it."""
    return {
        "cores": len(os.sched_getaffinity(0)),
        "processor": _processor(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": {name: _version(name) for name in _PACKAGES},
        "kube-apiserver": part("kube-apiserver").version,
        "etcd": part("etcd").version,
    }


def busy_share() -> float:
    """The share of the machine that is in use right now, while this process rests."""
    before = _processor_times()
    time.sleep(_SAMPLE_SECONDS)
    busy, total = (now - then for now, then in zip(_processor_times(), before, strict=True))
    return round(busy / total, 3) if total else 0.0


def _processor_times() -> tuple[int, int]:
    first = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    times = [int(value) for value in first.split()[1:9]]
    idle = times[3] + times[4]
    return sum(times) - idle, sum(times)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
