"""A child process, its directory and its port are ours alone and never outlive us."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairlead_sim.real import RealPartFailed, Workspace
from fairlead_sim.real.port import ReservedPort
from fairlead_sim.real.process import Process, Ready

pytestmark = pytest.mark.slow

WAIT = "touch up; while :; do sleep 0.01; done"

PARENT = """
import asyncio, sys, time
from pathlib import Path
from fairlead_sim.real import Workspace
from fairlead_sim.real.process import Process

async def ready():
    return True

workspace = Workspace()
process = Process("sleep", ["/bin/sleep", "1000"], workspace.path / "log", workspace.path)
# Started on a loop whose threads end, as a session fixture does.
asyncio.run(process.start(ready, 5))
time.sleep(0.2)
print(process.pid, workspace.path, flush=True)
time.sleep(1000)
"""


def script(directory: Path, text: str) -> Process:
    return Process("script", ["/bin/sh", "-c", text], directory / "log", directory)


async def never() -> bool:
    return False


def up(directory: Path) -> Ready:
    async def exists() -> bool:
        return (directory / "up").exists()

    return exists


def gone(pid: int) -> bool:
    """Also when it has ended and only waits for an init that is slow to take notice."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except ProcessLookupError:
        return True
    except FileNotFoundError:
        return sys.platform == "linux"
    return state == "Z"


def eventually_gone(pid: int, directory: Path) -> bool:
    give_up = time.monotonic() + 10
    while time.monotonic() < give_up:
        if gone(pid) and not directory.exists():
            return True
        time.sleep(0.02)
    return False


async def test_stop_asks_first(tmp_path: Path) -> None:
    process = script(
        tmp_path, "trap 'echo bye; exit 0' TERM; touch up; while :; do sleep 0.01; done"
    )

    async def up() -> bool:
        return (tmp_path / "up").exists()

    await process.start(up, 5)
    await process.stop()
    assert process.last_words() == "bye"
    assert not process.alive


async def test_stop_ends_what_does_not_listen(tmp_path: Path) -> None:
    process = script(tmp_path, f"trap '' TERM; {WAIT}")
    await process.start(up(tmp_path), 5)
    pid = process.pid
    assert pid is not None
    await process.stop(within=0.2)
    assert gone(pid)


async def test_a_failed_start_says_what_the_program_said(tmp_path: Path) -> None:
    process = script(tmp_path, "echo first; echo 'no such flag' >&2; exit 3")
    with pytest.raises(RealPartFailed, match=r"script ended with code 3 .* first \| no such flag"):
        await process.start(never, 5)


async def test_a_restart_does_not_quote_the_run_before(tmp_path: Path) -> None:
    process = script(tmp_path, "echo run $(wc -l < log)")
    for run in ("run 0", "run 1"):
        with pytest.raises(RealPartFailed, match=run):
            await process.start(never, 5)
        assert process.last_words() == run


async def test_a_start_that_takes_too_long_leaves_nothing(tmp_path: Path) -> None:
    process = script(tmp_path, "echo $$; exec sleep 1000")
    with pytest.raises(RealPartFailed, match=r"not ready within 0\.3 seconds"):
        await process.start(never, 0.3)
    assert gone(int(process.last_words()))


async def test_a_cancelled_start_leaves_nothing(tmp_path: Path) -> None:
    process = script(tmp_path, "echo $$; exec sleep 1000")
    starting = asyncio.create_task(process.start(never, 60))
    await asyncio.sleep(0.3)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert gone(int(process.last_words()))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_the_parent(how: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        pid, directory = parent.stdout.readline().split()
        assert not gone(int(pid))
        assert Path(directory).is_dir()
        parent.send_signal(how)
        parent.wait(timeout=10)
    assert eventually_gone(int(pid), Path(directory))


def test_a_workspace_is_private_and_removed() -> None:
    with Workspace() as workspace:
        assert workspace.path.stat().st_mode & 0o777 == 0o700
        (workspace.path / "deep").mkdir()
        (workspace.path / "deep" / "file").touch()
    assert not workspace.path.exists()
    workspace.close()


def test_a_reserved_port_can_be_listened_on_again_and_again() -> None:
    port = ReservedPort()
    for _ in range(3):
        with socket.socket() as client, pytest.raises(ConnectionRefusedError):
            client.connect(("127.0.0.1", port.number))
        with socket.socket() as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            server.bind(("127.0.0.1", port.number))
            server.listen()
            with socket.create_connection(("127.0.0.1", port.number), timeout=2):
                connection, _ = server.accept()
                connection.close()


def test_a_reserved_port_is_refused_to_others() -> None:
    port = ReservedPort()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", port.number))
    number = port.number
    del port
    with socket.socket() as other:
        other.bind(("127.0.0.1", number))
