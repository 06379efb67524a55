"""Simulated clusters on a loop of their own, because commands bring theirs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest
import yaml

from fairlead.cli.main import run
from fairlead_sim.cluster import SimCluster

T = TypeVar("T")


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


class Sims:
    """`await`s on the clusters' own loop, from outside of it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.clusters: dict[str, SimCluster] = {}

    def do(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    def start(self, name: str) -> SimCluster:
        async def start() -> SimCluster:
            return await SimCluster(name).start()

        self.clusters[name] = self.do(start())
        return self.clusters[name]

    def close(self) -> None:
        for cluster in self.clusters.values():
            self.do(cluster.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture
def sims() -> Iterator[Sims]:
    running = Sims()
    try:
        yield running
    finally:
        running.close()


@pytest.fixture
def fairlead(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Command:
    """Runs a command as the shell would, in an empty folder and with an empty home."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("FAIRLEAD_CONFIG", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("COLUMNS", "160")

    def command(*arguments: str | Path) -> Outcome:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return command


@pytest.fixture
def fleet(sims: Sims, tmp_path: Path) -> Path:
    """A folder with two clusters, east and west, and their kubeconfig."""
    folder = tmp_path / "fleet"
    folder.mkdir()
    entries = []
    for name, region in (("east", "eu"), ("west", "us")):
        sims.start(name).write_kubeconfig(folder / f"{name}.kubeconfig")
        entries.append({"name": name, "region": region, "kubeconfig": f"{name}.kubeconfig"})
    (folder / "clusters.yaml").write_text(yaml.safe_dump({"clusters": entries}))
    return folder
