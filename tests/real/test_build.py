"""`make real` builds what is missing, once, and says in one sentence why it cannot. A script
stands in for the `go` command, so these tests need neither Go nor a network."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fairlead_sim.real import binary
from fairlead_sim.real.parts import PARTS, binary_path, part
from tests.real import build, toolchain

GO = """\
#!/bin/sh
echo "$GOFLAGS|$GOTOOLCHAIN|$CGO_ENABLED $*" >> "$CALLS"
case $1 in
env) echo "${RELEASE:-go1.26.0}" ;;
list) [ -z "$NO_NETWORK" ] || { echo "noise" >&2; echo "$NO_NETWORK" >&2; exit 1; } ;;
build)
    [ -z "$BROKEN" ] || { echo "$BROKEN" >&2; exit 1; }
    while [ "$1" != -o ]; do shift; done
    printf '#!/bin/sh\\n' > "$2" && chmod +x "$2" ;;
esac
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `go` first on PATH, an empty cache, and the file where every call is noted."""
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text(GO)
    go.chmod(0o755)
    noted = tmp_path / "calls"
    noted.touch()
    monkeypatch.setenv("PATH", f"{go.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(noted))
    monkeypatch.setenv("FAIRLEAD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GOFLAGS", "-race")
    return noted


def builds(calls: Path) -> list[str]:
    return [line for line in calls.read_text().splitlines() if " build " in line]


def leftovers(tmp_path: Path) -> list[str]:
    return [path.name for path in (tmp_path / "cache" / "real").iterdir() if path.is_dir()]


def test_every_part_is_built_once(calls: Path) -> None:
    assert build.main([]) == 0
    assert build.main([]) == 0
    assert len(builds(calls)) == len(PARTS)
    for each in PARTS:
        assert binary(each.name) == binary_path(each)


def test_one_part_can_be_built_alone(calls: Path, tmp_path: Path) -> None:
    assert build.main(["kubectl"]) == 0
    assert leftovers(tmp_path) == [binary_path(part("kubectl")).parent.name]


def test_the_build_depends_on_go_mod_and_not_on_the_environment(calls: Path) -> None:
    assert build.main(["kubectl"]) == 0
    (line,) = builds(calls)
    assert line.startswith("|local|0 build -mod=readonly -trimpath ")
    assert "version.gitVersion=v1.36." in line


def test_no_network_is_one_sentence_that_names_the_fast_tests(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NO_NETWORK", "dial tcp: lookup proxy.invalid: no such host")
    assert build.main(["kubectl"]) == 1
    captured = capsys.readouterr()
    assert "fetched in" not in captured.out
    said = captured.err
    assert said.count("\n") == 1
    assert "lookup proxy.invalid: no such host" in said
    assert "`make test-fast`" in said
    assert leftovers(tmp_path) == []


def test_a_failed_build_is_one_sentence_and_leaves_nothing(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BROKEN", "main.go:1: no space left on device")
    assert build.main(["etcd"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "no space left on device" in said
    assert "`make test-fast`" in said
    assert leftovers(tmp_path) == []


def test_go_that_cannot_be_installed_is_one_sentence(
    calls: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RELEASE", "go1.22.1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    assert build.main(["etcd"]) == 1
    captured = capsys.readouterr()
    assert "Go on PATH is too old" in captured.out
    assert captured.err.count("\n") == 1
    assert f"Go {toolchain.pinned_release()} could not be installed" in captured.err
    assert "`make test-fast`" in captured.err


def test_a_cache_that_cannot_be_written_is_one_sentence(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAIRLEAD_CACHE", str(calls))
    assert build.main([]) == 1
    assert "set FAIRLEAD_CACHE to a directory of yours" in capsys.readouterr().err


def test_a_second_build_waits_for_the_first(calls: Path, tmp_path: Path) -> None:
    directory = tmp_path / "cache" / "real"
    directory.mkdir(parents=True)
    with (directory / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with subprocess.Popen(
            [sys.executable, "-m", "tests.real.build", "etcd"],
            cwd=build.ROOT,
            stdout=subprocess.PIPE,
            text=True,
        ) as second:
            # Should it not wait, it ends; should it never go on, this ends it.
            guard = threading.Timer(30, second.kill)
            guard.start()
            assert second.stdout is not None
            assert "waiting" in second.stdout.readline()
            assert calls.read_text() == ""
            fcntl.flock(lock, fcntl.LOCK_UN)
            second.stdout.read()
            assert second.wait() == 0
            guard.cancel()
    assert len(builds(calls)) == 1
