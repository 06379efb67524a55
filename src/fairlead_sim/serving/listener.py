"""The listening socket of a simulated cluster: opens on a port it keeps for life, and can refuse,
swallow or drop connections. Knows nothing of what is spoken on them."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import cast


class _Swallow(asyncio.Protocol):
    """Accepts a connection and never says anything."""

    def __init__(self, open_ones: set[asyncio.WriteTransport]) -> None:
        self._open_ones = open_ones
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses, so this cannot be an isinstance.
        self._transport = cast(asyncio.WriteTransport, transport)
        self._open_ones.add(self._transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is not None:
            self._open_ones.discard(self._transport)


class Listener:
    """One address, at most one server on it."""

    def __init__(self, host: str, tls: ssl.SSLContext) -> None:
        self.host = host
        self.port = 0
        self._tls = tls
        self._server: asyncio.Server | None = None
        # Bound but not listening: the port stays ours while connections are refused.
        self._holder: socket.socket | None = None
        self._swallowed: set[asyncio.WriteTransport] = set()

    async def serve(self, protocol: Callable[[], asyncio.BaseProtocol], port: int = 0) -> None:
        """Listen; the first time `port` 0 picks a free one, which is kept from then on."""
        await self._open(protocol, port or self.port, self._tls)

    async def swallow(self) -> None:
        """Connections succeed, and then nothing happens on them."""
        await self._open(lambda: _Swallow(self._swallowed), self.port, None)

    async def _open(
        self, protocol: Callable[[], asyncio.BaseProtocol], port: int, tls: ssl.SSLContext | None
    ) -> None:
        self.close()
        loop = asyncio.get_running_loop()
        if self._holder is None:
            self._holder = _socket(self.host, port)
            port = self._holder.getsockname()[1]
        self._server = await loop.create_server(
            protocol, sock=_socket(self.host, port), ssl=tls, backlog=512
        )
        self.port = self._server.sockets[0].getsockname()[1]

    def release(self) -> None:
        """Close for good and give the port back."""
        self.close()
        if self._holder is not None:
            self._holder.close()
            self._holder = None

    def close(self) -> None:
        """Refuse connections from now on; swallowed ones are dropped."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for transport in list(self._swallowed):
            transport.abort()
        self._swallowed.clear()


def _socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        # A restart takes the same port while old connections linger.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setblocking(False)
        made.bind((host, port))
    except OSError:
        made.close()
        raise
    return made
