"""One watch connection: bytes in any pieces to events, faults to errors. Knows nothing of
resuming; `reflector` does."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Literal, Self

import msgspec

from fairlead.errors import FairleadError
from fairlead.kube.errors import Asked
from fairlead.kube.faults import NETWORK_FAULTS, no_answer
from fairlead.kube.refusals import bad_answer, refusal_by_status
from fairlead.kube.resource import Object
from fairlead.kube.status import status_from
from fairlead.kube.transport import Stream

MAX_EVENT_BYTES = 64 << 20
"""The longest line that can be an event. etcd refuses objects of more than 1.5 MB by default."""


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """A change. A BOOKMARK's object holds only a resourceVersion; an ERROR's is a Status."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: dict[str, Any]


_decoder = msgspec.json.Decoder(WatchEvent)


class WatchDecoder:
    """Newline-delimited JSON to events, whatever pieces it comes in.

    `feed` returns the events that are complete. Once something was no event it raises, after
    having returned what came before it.
    """

    def __init__(self, asked: Asked, max_event: int = MAX_EVENT_BYTES) -> None:
        self._asked = asked
        self._max_event = max_event
        self._partial: list[bytes] = []
        self._partial_size = 0
        self._broken: FairleadError | None = None

    def feed(self, piece: bytes) -> list[WatchEvent]:
        self.check()
        end = piece.rfind(b"\n") + 1
        complete = b""
        if end:
            complete = b"".join((*self._partial, piece[:end]))
            self._partial.clear()
            self._partial_size = 0
            piece = piece[end:]
        if piece:
            self._partial.append(piece)
            self._partial_size += len(piece)
            if self._partial_size > self._max_event:
                self._broken = bad_answer(
                    self._asked, f"a watch event of more than {self._max_event} bytes"
                )
        events = self._decode(complete) if complete else []
        if not events:
            self.check()
        return events

    def check(self) -> None:
        """Raise if the stream has turned out to be broken."""
        if self._broken is not None:
            raise self._broken

    def finish(self) -> None:
        """The stream has ended: it must have ended between two events."""
        if self._broken is None and any(piece.strip() for piece in self._partial):
            self._broken = bad_answer(self._asked, "the watch ended in the middle of an event")
        self.check()

    def _decode(self, lines: bytes) -> list[WatchEvent]:
        try:
            return _decoder.decode_lines(lines)
        except (ValueError, RecursionError):
            return self._decode_until_broken(lines)

    def _decode_until_broken(self, lines: bytes) -> list[WatchEvent]:
        events = []
        for line in lines.split(b"\n"):
            if not line.strip():
                continue
            try:
                events.append(_decoder.decode(line))
            except (ValueError, RecursionError) as error:
                self._broken = bad_answer(self._asked, f"no watch event ({error})")
                self._broken.__cause__ = error
                break
        return events


class WatchStream:
    """The events of one watch connection: iterate it once, inside `async with`.

    Entering connects. The iteration ends when the server ends the watch (it does, after
    `timeoutSeconds`). Both raise `Gone` if the resourceVersion is too old and `Unreachable` for
    anything that broke or stalled.
    """

    def __init__(self, asked: Asked, connect: Callable[[], Awaitable[Stream]]) -> None:
        self._asked = asked
        self._connect = connect
        self._decoder = WatchDecoder(asked)
        self._ready: deque[WatchEvent] = deque()
        self._stream: Stream | None = None
        self._ended = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchEvent:
        while not self._ready:
            if self._ended:
                raise StopAsyncIteration
            await self._guarded(self._read)
        event = self._ready.popleft()
        if event.type == "ERROR":
            await self.aclose()
            raise _error(self._asked, event.object)
        return event

    async def __aenter__(self) -> Self:
        await self._guarded(self._open)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Drop the connection and whatever was not yet taken."""
        self._ended = True
        self._ready.clear()
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.close()

    async def _open(self) -> Stream:
        if self._stream is None:
            self._stream = await self._connect()
        return self._stream

    async def _read(self) -> None:
        self._decoder.check()
        stream = await self._open()
        piece = await stream.read_some()
        if piece:
            self._ready.extend(self._decoder.feed(piece))
        else:
            self._decoder.finish()
            await self.aclose()

    async def _guarded(self, step: Callable[[], Awaitable[object]]) -> None:
        """Whatever goes wrong, the connection is closed and the error is of our tree."""
        try:
            await step()
        except NETWORK_FAULTS as fault:
            await self.aclose()
            raise no_answer(self._asked, fault) from fault
        except BaseException:
            await self.aclose()
            raise


def _error(asked: Asked, obj: Object) -> FairleadError:
    status = status_from(obj)
    if status is None:
        return bad_answer(asked, "the watch failed without a Status")
    return refusal_by_status(asked, status.code or 500, status)
