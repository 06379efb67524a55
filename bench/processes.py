"""The bench's side of its child processes: start one, give it orders, read its answers, end it for
certain. Knows nothing of what the children do."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from bench.children.conversation import LONGEST_LINE

ROOT = Path(__file__).resolve().parent.parent
_ORDER_SECONDS = 300.0
_END_SECONDS = 10.0


class BenchFailed(Exception):
    """A measurement could not be made; the text is one sentence."""


class Child:
    """`async with Child("followers", "kopf") as child: await child.ask(do="list")`."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._module = module
        self._arguments = arguments
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            f"bench.children.{self._module}",
            *self._arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=self._errors,
            cwd=ROOT,
            limit=LONGEST_LINE,
        )
        return self

    async def ask(self, **order: Any) -> dict[str, Any]:
        """The answer to one order."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise BenchFailed(f"{self._name} was never started.")
        try:
            process.stdin.write(msgspec.json.encode(order) + b"\n")
            await process.stdin.drain()
            async with asyncio.timeout(_ORDER_SECONDS):
                line = await process.stdout.readline()
        except TimeoutError as error:
            problem = f"gave no answer to {order.get('do')!r} within {_ORDER_SECONDS:.0f} s"
            raise BenchFailed(f"{self._name} {problem}: {self._last_words()}") from error
        except ConnectionError as error:
            raise BenchFailed(f"{self._name} ended early: {self._last_words()}") from error
        if not line:
            raise BenchFailed(f"{self._name} ended early: {self._last_words()}")
        return msgspec.json.decode(line, type=dict[str, Any])

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        process = self._process
        if process is not None:
            await _end(process)
        self._errors.close()

    @property
    def _name(self) -> str:
        return " ".join(("bench.children." + self._module, *self._arguments))

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it left no message"


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(_END_SECONDS):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        raise
