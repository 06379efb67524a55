"""The child's side of the talk between the bench and its child processes: one order per line on
standard input, one answer per line on standard output, the end of input is the end. Knows nothing
of what is ordered."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

Order = dict[str, Any]
Answer = Mapping[str, Any]
LONGEST_LINE = 64 << 20


async def converse(answer: Callable[[Order], Awaitable[Answer]]) -> None:
    """Answer one order after the other until there are no more."""
    orders = asyncio.StreamReader(limit=LONGEST_LINE)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    while line := await orders.readline():
        reply = await answer(msgspec.json.decode(line, type=dict))
        sys.stdout.buffer.write(msgspec.json.encode(reply) + b"\n")
        sys.stdout.buffer.flush()
