"""One real etcd for all real clusters of a run. It listens on unix sockets only, so it needs no
port and nobody else on the machine can reach it. Knows nothing of Kubernetes."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from fairlead.errors import InvalidInput
from fairlead_sim.real.parts import binary
from fairlead_sim.real.process import Process

_START_SECONDS = 60.0
_SOCKET_PATH_BYTES = 100


class RealEtcd:
    """Data and log stay in `directory` over `stop`, `crash` and `start`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.absolute()
        self._socket = self.directory / "client"
        if len(os.fsencode(self._socket)) > _SOCKET_PATH_BYTES:
            raise InvalidInput(
                str(self.directory),
                "the path is too long for the unix socket of etcd",
                "use a shorter directory, for example by setting TMPDIR",
            )
        self._process: Process | None = None

    @property
    def endpoint(self) -> str:
        """What kube-apiserver takes as `--etcd-servers`."""
        return f"unix://{self._socket}"

    @property
    def pids(self) -> tuple[int, ...]:
        """The process that runs now, if any."""
        pid = self._process.pid if self._process else None
        return () if pid is None else (pid,)

    async def start(self) -> None:
        """Run it and return when it answers; does nothing if it runs already."""
        if self._process is None:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._process = Process(
                "etcd",
                [str(binary("etcd")), *self._flags()],
                log=self.directory / "etcd.log",
                directory=self.directory,
            )
        await self._process.start(self._healthy, _START_SECONDS)

    async def stop(self) -> None:
        """End it and keep its data; does nothing if it does not run."""
        if self._process is not None:
            await self._process.stop()

    async def crash(self) -> None:
        """End it with no warning and keep its data."""
        if self._process is not None:
            self._process.kill()

    def _flags(self) -> list[str]:
        # The path of a peer URL is ignored and its host is the file; nobody ever connects to it.
        peer = "unix://peer"
        return [
            "--name=real",
            f"--data-dir={self.directory / 'data'}",
            f"--listen-client-urls={self.endpoint}",
            f"--advertise-client-urls={self.endpoint}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=real={peer}",
            "--unsafe-no-fsync",
            # What kubeadm sets as well: watch bookmarks depend on it.
            "--watch-progress-notify-interval=5s",
            "--log-level=warn",
        ]

    async def _healthy(self) -> bool:
        try:
            reader, writer = await asyncio.open_unix_connection(str(self._socket))
        except OSError:
            return False
        try:
            writer.write(b"GET /health HTTP/1.0\r\nHost: etcd\r\n\r\n")
            answer = await asyncio.wait_for(reader.read(), timeout=2.0)
        except (OSError, TimeoutError):
            return False
        finally:
            writer.close()
        return b'"health":"true"' in answer
