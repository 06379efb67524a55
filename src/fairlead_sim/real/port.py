"""A loopback port nobody else can take. The port is bound here, never listened on, and shared
with one child by SO_REUSEPORT: the kernel neither hands it to another program nor lets a client
connect to itself on it while the child is down. Knows nothing of who listens."""

from __future__ import annotations

import os
import socket
import weakref


class ReservedPort:
    """Reserved as long as this object lives. The child must listen with SO_REUSEPORT."""

    def __init__(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as reservation:
            reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            reservation.bind(("127.0.0.1", 0))
            self.number: int = reservation.getsockname()[1]
            self.release = weakref.finalize(self, os.close, reservation.detach())
