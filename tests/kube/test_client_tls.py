"""Over TLS: what each failure of trust is called, rotation of client certificates, proxies."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from aiohttp import web

from fairlead.errors import Reason, Unreachable
from fairlead.kube import CONFIG_MAPS, CertificatePair, NoAnswer, Presented, TlsSettings
from tests.kube.pki import Identity, issue
from tests.kube.scripted import ScriptedServer, answer, config_map, scripted

AUTHORITY = issue("the authority", authority=True)
SERVER = issue("the server", AUTHORITY, hosts=("127.0.0.1", "api.example.com"))


def server_context(identity: Identity, clients: Identity | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with tempfile.NamedTemporaryFile() as file:
        file.write(identity.cert_pem + identity.key_pem)
        file.flush()
        context.load_cert_chain(file.name)
    if clients is not None:
        context.load_verify_locations(cadata=clients.cert_pem.decode())
        context.verify_mode = ssl.CERT_REQUIRED
    return context


async def failure(identity: Identity, tls: TlsSettings) -> NoAnswer:
    async with (
        scripted(answer(config_map("a")), tls=server_context(identity)) as server,
        server.client(tls=tls) as client,
    ):
        with pytest.raises(NoAnswer) as raised:
            await client.get(CONFIG_MAPS, "a", "default")
    assert raised.value.reason is Reason.TLS
    assert "cluster west" in str(raised.value)
    return raised.value


async def test_a_trusted_server_answers() -> None:
    async with (
        scripted(answer(config_map("a")), tls=server_context(SERVER)) as server,
        server.client(tls=TlsSettings(ca_pem=AUTHORITY.cert_pem)) as client,
    ):
        assert await client.get(CONFIG_MAPS, "a", "default")


async def test_an_unknown_authority_is_named_with_the_remedy() -> None:
    stranger = issue("somebody else", authority=True)
    error = await failure(SERVER, TlsSettings(ca_pem=stranger.cert_pem))
    assert "unknown authority" in str(error)
    assert "certificate-authority-data" in str(error)


async def test_an_expired_certificate_is_named() -> None:
    expired = issue("old", AUTHORITY, hosts=("127.0.0.1",), valid_for=timedelta(seconds=-60))
    error = await failure(expired, TlsSettings(ca_pem=AUTHORITY.cert_pem))
    assert "has expired" in str(error)


async def test_a_certificate_for_another_name_suggests_tls_server_name() -> None:
    other = issue("other", AUTHORITY, hosts=("api.example.com",))
    error = await failure(other, TlsSettings(ca_pem=AUTHORITY.cert_pem))
    assert "not for this name" in str(error)
    assert "tls-server-name" in str(error)


async def test_tls_server_name_is_checked_instead_of_the_host() -> None:
    other = issue("other", AUTHORITY, hosts=("api.example.com",))
    tls = TlsSettings(ca_pem=AUTHORITY.cert_pem, server_name="api.example.com")
    async with (
        scripted(answer(config_map("a")), tls=server_context(other)) as server,
        server.client(tls=tls) as client,
    ):
        assert await client.get(CONFIG_MAPS, "a", "default")


def refuse_one_client(listener: socket.socket, context: ssl.SSLContext) -> None:
    """A TLS server that says why it refuses, and waits until that was heard."""
    connection, _ = listener.accept()
    with context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False) as peer:
        with pytest.raises(ssl.SSLError, match="peer did not return a certificate"):
            peer.do_handshake()
        with contextlib.suppress(OSError):
            socket.socket.shutdown(peer, socket.SHUT_WR)
            while socket.socket.recv(peer, 4096):
                pass


async def test_a_missing_client_certificate_is_named() -> None:
    context = server_context(SERVER, AUTHORITY)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        refusing = asyncio.create_task(asyncio.to_thread(refuse_one_client, listener, context))
        server = ScriptedServer([], url=f"https://127.0.0.1:{listener.getsockname()[1]}")
        async with server.client(tls=TlsSettings(ca_pem=AUTHORITY.cert_pem)) as client:
            with pytest.raises(NoAnswer, match="refused our client certificate") as raised:
                await client.create(CONFIG_MAPS, config_map("a"))
        await refusing
    assert raised.value.reason is Reason.TLS


async def test_a_server_without_tls_is_named() -> None:
    async with scripted(answer(config_map("a"))) as server:
        server.url = server.url.replace("http:", "https:")
        async with server.client() as client:
            with pytest.raises(NoAnswer, match="does not speak TLS") as raised:
                await client.get(CONFIG_MAPS, "a", "default")
    assert raised.value.reason is Reason.TLS


async def test_an_unusable_authority_is_unreachable_and_not_a_traceback() -> None:
    async with (
        scripted(answer(config_map("a")), tls=server_context(SERVER)) as server,
        server.client(tls=TlsSettings(ca_pem=b"no certificate")) as client,
    ):
        with pytest.raises(Unreachable, match="context test") as raised:
            await client.get(CONFIG_MAPS, "a", "default")
    assert raised.value.reason is Reason.TLS


@dataclass
class SwitchableCredentials:
    presented: Presented
    refreshable: bool = True
    expires_at: datetime | None = None

    async def current(self) -> Presented:
        return self.presented

    def invalidate(self, presented: Presented) -> None:
        pass


def peer_name(request: web.Request) -> str:
    assert request.transport is not None
    certificate = request.transport.get_extra_info("peercert")
    return str(dict(entry[0] for entry in certificate["subject"])["commonName"])


async def test_a_new_client_certificate_is_used_while_old_requests_finish() -> None:
    old, new = (issue(name, AUTHORITY).pair for name in ("old", "new"))
    finish = asyncio.Event()
    seen: list[str] = []

    async def slow_for_old(request: web.Request) -> web.StreamResponse:
        name = peer_name(request)
        if name == "old":
            await finish.wait()
        seen.append(name)
        return await answer(config_map("a"))(request)

    credentials = SwitchableCredentials(Presented(certificate=old))
    async with (
        scripted(slow_for_old, tls=server_context(SERVER, AUTHORITY)) as server,
        server.client(
            credentials=credentials, tls=TlsSettings(ca_pem=AUTHORITY.cert_pem)
        ) as client,
    ):
        first = asyncio.create_task(client.get(CONFIG_MAPS, "a", "default"))
        await server.wait_for(1)
        credentials.presented = Presented(certificate=new)
        await client.get(CONFIG_MAPS, "a", "default")
        finish.set()
        assert await first == config_map("a")
        await client.get(CONFIG_MAPS, "a", "default")
    assert seen == ["new", "old", "new"]


async def test_a_new_token_needs_no_new_connection() -> None:
    ports: list[object] = []

    async def note_peer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        ports.append(request.transport.get_extra_info("peername"))
        return await answer(config_map("a"))(request)

    credentials = SwitchableCredentials(Presented("Bearer one"))
    async with scripted(note_peer) as server, server.client(credentials=credentials) as client:
        await client.get(CONFIG_MAPS, "a", "default")
        credentials.presented = Presented(
            "Bearer two", headers=(("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
        )
        await client.get(CONFIG_MAPS, "a", "default")
    assert server.asked[1].headers["Authorization"] == "Bearer two"
    assert server.asked[1].headers["Impersonate-Group"] in {"a", "b"}
    assert ports[0] == ports[1]


async def test_a_proxy_is_asked_with_the_password_of_its_url() -> None:
    async with scripted(answer(config_map("a"))) as proxy:
        proxy_url = proxy.url.replace("http://", "http://user:p%40ss@")
        proxy.url = "http://behind-the-proxy.invalid:6443"
        async with proxy.client(proxy_url=proxy_url) as client:
            assert await client.get(CONFIG_MAPS, "a", "default")
    [asked] = proxy.asked
    assert asked.headers["Host"] == "behind-the-proxy.invalid:6443"
    expected = base64.b64encode(b"user:p@ss").decode()
    assert asked.headers["Proxy-Authorization"] == f"Basic {expected}"


async def test_a_proxy_that_refuses_is_named_without_its_password() -> None:
    async with scripted(answer(b"no", 407, content_type="text/plain")) as proxy:
        proxy_url = proxy.url.replace("http://", "http://user:hunter2@")
        proxy.url = "https://behind-the-proxy.invalid:6443"
        async with proxy.client(proxy_url=proxy_url) as client:
            with pytest.raises(NoAnswer, match="the proxy refused") as raised:
                await client.get(CONFIG_MAPS, "a", "default")
    assert raised.value.reason is Reason.CONNECT
    assert "hunter2" not in str(raised.value)
    assert "hunter2" not in repr(client.access)


def test_a_pair_does_not_show_its_key() -> None:
    pair = CertificatePair(b"certificate", b"private")
    assert "private" not in repr(Presented(certificate=pair))


@asynccontextmanager
async def tunnel() -> AsyncIterator[tuple[str, list[str]]]:
    """A proxy that connects where it is asked to: its URL, and the heads of what it was asked."""
    heads: list[str] = []

    async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
        sink.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        heads.append(head)
        host, port = head.split()[1].split(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(copy(reader, far_writer), copy(far_reader, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://user:hunter2@127.0.0.1:{server.sockets[0].getsockname()[1]}", heads
    finally:
        server.close()


async def test_a_secure_server_is_reached_through_a_proxy_that_learns_no_token() -> None:
    other = issue("other", AUTHORITY, hosts=("api.example.com",))
    tls = TlsSettings(ca_pem=AUTHORITY.cert_pem, server_name="api.example.com")
    async with (
        tunnel() as (proxy_url, heads),
        scripted(answer(config_map("a")), tls=server_context(other)) as server,
        server.client(tls=tls, proxy_url=proxy_url) as client,
    ):
        assert await client.get(CONFIG_MAPS, "a", "default")
        assert await client.get(CONFIG_MAPS, "a", "default")
    [head] = heads
    assert head.startswith(f"CONNECT {server.url.removeprefix('https://')} HTTP/1.1")
    assert f"Proxy-Authorization: Basic {base64.b64encode(b'user:hunter2').decode()}" in head
    assert "the-secret-token" not in head
    assert server.asked[0].headers["Authorization"] == "Bearer the-secret-token"
    assert "Proxy-Authorization" not in server.asked[0].headers
