"""A server that answers every GET with a small ConfigMap of the name asked for, faster than any of
the clients can ask, so that what is measured is the client. Serves plain HTTP and HTTPS and writes
a kubeconfig for each. Knows nothing else of HTTP or Kubernetes."""

from __future__ import annotations

import asyncio
import base64
import ssl
import sys
from pathlib import Path
from typing import Any, cast

import msgspec
import uvloop
import yaml

from bench.children.conversation import Answer, Order, converse
from fairlead_sim.certificates import Authority

_CONFIG_MAP = {
    "kind": "ConfigMap",
    "apiVersion": "v1",
    "metadata": {
        "name": "NAME",
        "namespace": "default",
        "uid": "5f0c6e1c-6a68-4d0f-93a9-3d4a3e5c1b7e",
        "resourceVersion": "4711",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"app": "bench", "tier": "front"},
    },
    "data": {"greeting": "hello", "level": "info", "workers": "4"},
}
_HEAD, _TAIL = msgspec.json.encode(_CONFIG_MAP).split(b"NAME")


class CannedAnswers(asyncio.Protocol):
    """One connection with keep-alive."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._unread = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's do not derive from it

    def data_received(self, data: bytes) -> None:
        *requests, self._unread = (self._unread + data).split(b"\r\n\r\n")
        for request in requests:
            path = request.split(b" ", 2)[1]
            self._answer(path.rpartition(b"/")[2].partition(b"?")[0])

    def _answer(self, name: bytes) -> None:
        body = _HEAD + name + _TAIL
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        if self._transport is not None:
            self._transport.write(head % len(body) + body)


async def main(folder: Path) -> None:
    authority = Authority("bench")
    loop = asyncio.get_running_loop()
    plain = await loop.create_server(CannedAnswers, "127.0.0.1", 0)
    secured = await loop.create_server(CannedAnswers, "127.0.0.1", 0, ssl=_tls(authority, folder))

    async def answer(_: Order) -> Answer:
        return {
            "http": _kubeconfig(folder / "http", "http", plain, None),
            "https": _kubeconfig(folder / "https", "https", secured, authority.certificate_pem),
        }

    async with plain, secured:
        await converse(answer)


def _kubeconfig(file: Path, scheme: str, server: asyncio.Server, ca_pem: bytes | None) -> str:
    port = server.sockets[0].getsockname()[1]
    cluster: dict[str, Any] = {"server": f"{scheme}://127.0.0.1:{port}"}
    if ca_pem is not None:
        cluster["certificate-authority-data"] = base64.b64encode(ca_pem).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "bench", "cluster": cluster}],
        "users": [{"name": "bench", "user": {"token": "not-a-secret"}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
        "current-context": "bench",
    }
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    return str(file)


def _tls(authority: Authority, folder: Path) -> ssl.SSLContext:
    pair = authority.serving("bench")
    file = folder / "serving.pem"
    file.write_bytes(pair.key + pair.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


if __name__ == "__main__":
    uvloop.run(main(Path(sys.argv[1])))
