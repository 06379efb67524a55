"""Builds the real parts that are missing into the user's cache: `python -m tests.real.build`, or
`make real`. Parts of one Go module are built one after the other because they share most of their
packages, and at most two modules at the same time. Knows nothing of how a part is run."""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairlead_sim.real.parts import PARTS, Part, binary_path, cache_directory, part
from tests.real.progress import Progress, show_progress
from tests.real.toolchain import (
    OTHERWISE,
    BuildFailed,
    Toolchain,
    find_toolchain,
    last_line,
)

ROOT = Path(__file__).resolve().parents[2]
_AT_ONCE = 2
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.real.build",
        description="Build the real kube-apiserver, etcd and other parts the tests run.",
    )
    names = [each.name for each in PARTS]
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one of {', '.join(names)}")
    chosen = parser.parse_args(arguments).parts
    if unknown := [name for name in chosen if name not in names]:
        parser.error(f"there is no part {unknown[0]!r}; choose from {', '.join(names)}")
    wanted = [part(name) for name in chosen] or list(PARTS)
    # Ended by either signal, the compilers that run must end too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with show_progress() as progress:
        try:
            with _only_one_build(progress) as staging:
                build(wanted, staging, progress)
        except BuildFailed as failure:
            progress.fail(str(failure))
            return 1
        except KeyboardInterrupt:
            progress.fail("The build was interrupted; run `make real` to go on where it stopped.")
            return _INTERRUPTED
        progress.tell(f"The real parts are ready in {cache_directory() / 'real'}.")
    return 0


def build(wanted: Sequence[Part], staging: Path, progress: Progress) -> None:
    """Build those of the wanted parts that are not in the cache."""
    missing = [each for each in wanted if not binary_path(each).exists()]
    if missing:
        go = find_toolchain(progress.tell)
        asyncio.run(_build_modules(missing, _Workshop(go, staging, progress)))


@dataclass(frozen=True, slots=True)
class _Workshop:
    go: Toolchain
    staging: Path
    progress: Progress


@contextmanager
def _only_one_build(progress: Progress) -> Iterator[Path]:
    """Wait for our turn; gives an empty directory that is gone afterwards."""
    directory = cache_directory() / "real"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = (directory / ".lock").open("w")
    except OSError as error:
        raise BuildFailed(
            f"The cache {directory} cannot be written ({error.strerror}): set FAIRLEAD_CACHE to a "
            f"directory of yours and run `make real` again, or {OTHERWISE}."
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.tell("Another build is running; waiting for it to end.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        staging = directory / ".building"
        # A build that was killed could not tidy up; nobody else can be using it now.
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir()
        try:
            yield staging
        finally:
            shutil.rmtree(staging, ignore_errors=True)


async def _build_modules(missing: Sequence[Part], shop: _Workshop) -> None:
    modules: dict[str, list[Part]] = {}
    for each in missing:
        modules.setdefault(each.module_directory, []).append(each)
    slots = asyncio.Semaphore(_AT_ONCE)

    async def build_module(parts: list[Part]) -> None:
        async with slots:
            await _fetch(parts, shop)
            for each in parts:
                await _build(each, shop)

    try:
        async with asyncio.TaskGroup() as group:
            for parts in modules.values():
                group.create_task(build_module(parts))
    except ExceptionGroup as failures:
        # The others were only cancelled because of it.
        raise failures.exceptions[0] from failures


async def _fetch(parts: Sequence[Part], shop: _Workshop) -> None:
    """Download what the build needs, so that a network failure is told from a build failure."""
    names = ", ".join(each.name for each in parts)
    packages = [each.package for each in parts]
    with shop.progress.step(f"Go modules of {names}", "fetching", "fetched"):
        code, said = await _run(shop, parts[0], "list", "-deps", "-f", "{{/**/}}", *packages)
        if code != 0:
            raise BuildFailed(
                f"The Go modules of {names} could not be fetched ({last_line(said)}): check the "
                f"network and GOPROXY and run `make real` again, or {OTHERWISE}."
            )


async def _build(each: Part, shop: _Workshop) -> None:
    built = shop.staging / each.name
    stamps = " ".join(f"-X {shlex.quote(f'{name}={value}')}" for name, value in each.stamps)
    with shop.progress.step(each.label, "building", "built"):
        code, said = await _run(
            shop,
            each,
            *("build", "-trimpath", "-buildvcs=false", "-ldflags", f"-s -w {stamps}"),
            *("-o", str(built), each.package),
        )
        if code != 0:
            raise BuildFailed(
                f"{each.label} could not be built with {shop.go.release} ({last_line(said)}): run "
                f"`make real` again to see whether it stays, or {OTHERWISE}."
            )
    final = binary_path(each)
    os.makedirs(final.parent, exist_ok=True)
    os.rename(built, final)


async def _run(shop: _Workshop, each: Part, command: str, *arguments: str) -> tuple[int, str]:
    """Run one `go` command in the module of a part; its children end with it."""
    child = await asyncio.create_subprocess_exec(
        *(str(shop.go.command), command, "-mod=readonly", *arguments),
        cwd=ROOT / each.module_directory,
        # A `go` that is killed leaves its own temporary files, so they belong where we tidy up.
        env=shop.go.environment() | {"GOTMPDIR": str(shop.staging)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        process_group=0,
    )
    try:
        _, said = await child.communicate()
    except BaseException:
        os.killpg(child.pid, signal.SIGKILL)
        await child.wait()
        raise
    assert child.returncode is not None
    return child.returncode, said.decode(errors="replace")


if __name__ == "__main__":
    sys.exit(main())
