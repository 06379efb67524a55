"""The demo as a person runs it: in its own process, ended by its own id."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fairlead.demo.chapters import CHAPTERS

pytestmark = pytest.mark.slow

FAIRLEAD = [sys.executable, "-m", "fairlead"]


def environment(tmp: Path) -> dict[str, str]:
    """Everything a command leaves behind would be in `tmp`, its memory of clusters beside it."""
    memory = str(tmp.with_name(f"{tmp.name}-state"))
    own = {"TMPDIR": str(tmp), "XDG_STATE_HOME": memory, "PYTHONUNBUFFERED": "1"}
    return {**os.environ, **own}


def run(*arguments: str, tmp: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*FAIRLEAD, *arguments],
        capture_output=True,
        text=True,
        timeout=150,
        env=environment(tmp),
        check=False,
    )


@contextmanager
def running(*arguments: str, tmp: Path, until: str) -> Iterator[subprocess.Popen[str]]:
    """The program once it has printed `until`; ended for certain."""
    program = subprocess.Popen(
        [*FAIRLEAD, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=tmp,
        env=environment(tmp),
    )
    try:
        assert program.stdout is not None
        for line in program.stdout:
            if until in line:
                break
        yield program
    finally:
        program.kill()
        program.communicate()


@pytest.mark.timeout(180)
def test_the_tour_comes_true_to_its_end_and_leaves_nothing(tmp_path: Path) -> None:
    done = run("demo", "--once", tmp=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for chapter in CHAPTERS:
        assert chapter.title in done.stdout
    assert "every step came true" in done.stdout
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.timeout(60)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_demo_ends_when_told_and_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    with running("demo", tmp=tmp_path, until="Ctrl-C ends the fleet") as program:
        assert len(list(tmp_path.iterdir())) == 1
        program.send_signal(number)
        output, _ = program.communicate(timeout=40)
    assert "Traceback" not in output
    assert program.returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.timeout(60)
def test_a_tour_that_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    with running("demo", "--once", tmp=tmp_path, until="A region is gone") as program:
        program.send_signal(signal.SIGTERM)
        output, _ = program.communicate(timeout=40)
    assert "Traceback" not in output
    assert program.returncode == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.timeout(60)
def test_other_commands_can_use_the_running_fleet(tmp_path: Path) -> None:
    with running("demo", tmp=tmp_path, until="Ctrl-C ends the fleet"):
        (folder,) = tmp_path.iterdir()
        listed = run("clusters", "list", "--config", str(folder), tmp=tmp_path)
        rows = [line.split()[:3] for line in listed.stdout.splitlines()[1:]]
        assert rows == [
            ["east", "europe", "healthy"],
            ["west", "europe", "healthy"],
            ["south", "asia", "healthy"],
        ]


@pytest.mark.real
@pytest.mark.timeout(240)
@pytest.mark.usefixtures("kubectl")
def test_the_tour_comes_true_on_real_kube_apiservers() -> None:
    # Not pytest's folder: the path of etcd's unix socket has to be short.
    with tempfile.TemporaryDirectory(prefix="demo-") as folder:
        done = run("demo", "--once", "--real", tmp=Path(folder))
        assert done.returncode == 0, done.stdout + done.stderr
        assert "every step came true" in done.stdout
        assert list(Path(folder).iterdir()) == []


@pytest.mark.timeout(60)
def test_a_simulated_cluster_runs_until_it_is_told_to_end(tmp_path: Path) -> None:
    with running("sim", "run", "one", "--kubeconfig", "k", tmp=tmp_path, until="Try:") as program:
        assert (tmp_path / "k").stat().st_mode & 0o777 == 0o600
        checked = run("clusters", "check", "--config", str(tmp_path / "k"), tmp=tmp_path)
        assert re.search(r"^one\b.*healthy", checked.stdout, re.MULTILINE), checked.stderr
        again = run("sim", "run", "--kubeconfig", str(tmp_path / "k"), tmp=tmp_path)
        assert "already there" in again.stderr
        program.send_signal(signal.SIGINT)
        assert program.wait(timeout=20) == 0
    assert not (tmp_path / "k").exists()
