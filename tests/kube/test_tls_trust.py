from __future__ import annotations

import asyncio
import os
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from fairlead.errors import InvalidInput
from fairlead.kube.access import CertificatePair, TlsSettings
from fairlead.kube.tls import check_authorities, check_certificate, ssl_context
from tests.kube.pki import Identity, issue

ROOT = issue("root", authority=True)
INTERMEDIATE = issue("intermediate", ROOT, authority=True)
SERVER = issue("server", INTERMEDIATE, hosts=("127.0.0.1", "api.example"))
CLIENT = issue("client", INTERMEDIATE)


def server_context(identity: Identity, *chain: Identity) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(link.cert_pem for link in (identity, *chain)) + identity.key_pem)
        file.flush()
        context.load_cert_chain(file.name)
    return context


@asynccontextmanager
async def serving(
    identity: Identity, *chain: Identity, clients: Identity | None = None
) -> AsyncIterator[int]:
    """A TLS server on loopback that answers with the common name of its client."""
    context = server_context(identity, *chain)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(cadata=clients.cert_pem.decode())

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("peercert") or {}
        name = dict(pair for part in peer.get("subject", ()) for pair in part).get("commonName", "")
        writer.write(f"hello {name}".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def greeting(port: int, tls: TlsSettings, certificate: CertificatePair | None = None) -> str:
    reader, writer = await asyncio.open_connection(
        "127.0.0.1",
        port,
        ssl=ssl_context(tls, certificate),
        server_hostname=tls.server_name or "127.0.0.1",
    )
    try:
        return (await reader.read()).decode()
    finally:
        writer.close()


def trust(*authorities: Identity, server_name: str | None = None) -> TlsSettings:
    return TlsSettings(b"".join(authority.cert_pem for authority in authorities), server_name)


async def test_an_intermediate_alone_is_trusted_as_an_authority() -> None:
    async with serving(SERVER) as port:
        assert await greeting(port, trust(INTERMEDIATE)) == "hello "


async def test_the_root_is_trusted_through_the_chain_the_server_sends() -> None:
    async with serving(SERVER, INTERMEDIATE) as port:
        assert await greeting(port, trust(ROOT)) == "hello "


async def test_any_certificate_of_a_bundle_with_comments_is_trusted() -> None:
    other = issue("other", authority=True)
    bundle = "# größer\r\n".encode() + other.cert_pem + b"\n\xff text \n" + INTERMEDIATE.cert_pem
    async with serving(SERVER) as port:
        assert await greeting(port, TlsSettings(bundle)) == "hello "


async def test_an_authority_without_basic_constraints_is_trusted_if_it_is_the_certificate() -> None:
    selfsigned = issue("selfsigned", constraints=False, hosts=("127.0.0.1",))
    async with serving(selfsigned) as port:
        assert await greeting(port, trust(selfsigned)) == "hello "


async def test_an_authority_that_strict_verification_refuses_is_trusted() -> None:
    """No key identifiers: RFC 5280 demands them, many installers never wrote them, and Python
    turns strict verification on by default since 3.13."""
    strict = ssl.create_default_context(cadata=INTERMEDIATE.cert_pem.decode())
    strict.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
    async with serving(SERVER) as port:
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.open_connection("127.0.0.1", port, ssl=strict)
        assert await greeting(port, trust(INTERMEDIATE)) == "hello "
    assert not ssl_context(trust(INTERMEDIATE)).verify_flags & ssl.VERIFY_X509_STRICT


@pytest.mark.parametrize(
    "identity, tls",
    [
        pytest.param(SERVER, trust(issue("other", authority=True)), id="unknown authority"),
        pytest.param(SERVER, TlsSettings(), id="not known to the system"),
        pytest.param(
            SERVER, trust(INTERMEDIATE, server_name="wrong.example"), id="other server name"
        ),
        pytest.param(
            issue("server", INTERMEDIATE, hosts=("elsewhere.example",)),
            trust(INTERMEDIATE),
            id="other host",
        ),
        pytest.param(
            issue("api.example", INTERMEDIATE),
            trust(INTERMEDIATE, server_name="api.example"),
            id="only common name",
        ),
        pytest.param(
            issue("server", INTERMEDIATE, hosts=("127.0.0.1",), valid_for=timedelta(days=-1)),
            trust(INTERMEDIATE),
            id="expired",
        ),
    ],
)
async def test_a_server_that_cannot_prove_itself_is_refused(
    identity: Identity, tls: TlsSettings
) -> None:
    async with serving(identity) as port:
        with pytest.raises(ssl.SSLCertVerificationError):
            await greeting(port, tls)


async def test_the_tls_server_name_replaces_the_host() -> None:
    named = issue("server", INTERMEDIATE, hosts=("api.example",))
    async with serving(named) as port:
        assert await greeting(port, trust(INTERMEDIATE, server_name="api.example")) == "hello "


async def test_insecure_accepts_any_server() -> None:
    expired = issue("server", valid_for=timedelta(days=-1))
    async with serving(expired) as port:
        assert await greeting(port, TlsSettings(insecure=True)) == "hello "


async def test_the_client_certificate_is_presented() -> None:
    async with serving(SERVER, clients=INTERMEDIATE) as port:
        assert await greeting(port, trust(INTERMEDIATE), CLIENT.pair) == "hello client"


async def test_a_key_is_never_in_a_file_others_could_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no anonymous memory file, a private temporary one is used and removed."""
    seen: list[tuple[Path, int]] = []
    original = ssl.SSLContext.load_cert_chain

    def spy(
        self: ssl.SSLContext, cert: str, key: str, password: Callable[[], str] | None = None
    ) -> None:
        seen.append((Path(key), os.stat(key).st_mode & 0o777))
        original(self, cert, key, password)

    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", spy)
    check_certificate(CLIENT.pair)
    [(path, mode)] = seen
    assert mode == 0o600
    assert not path.exists()


def test_equal_contents_share_one_context() -> None:
    other_host = TlsSettings(ROOT.cert_pem, server_name="other.example")
    assert ssl_context(trust(ROOT), CLIENT.pair) is ssl_context(other_host, CLIENT.pair)
    assert ssl_context(trust(ROOT), CLIENT.pair) is not ssl_context(trust(ROOT), None)
    assert ssl_context(trust(ROOT)) is not ssl_context(trust(INTERMEDIATE))


def damaged(pem: bytes) -> bytes:
    lines = pem.splitlines(keepends=True)
    return b"".join([lines[0], *lines[2:]])


@pytest.mark.parametrize(
    "content, complaint",
    [
        (b"", "holds no PEM certificate"),
        (b"not a certificate", "holds no PEM certificate"),
        (CLIENT.key_pem, "holds no PEM certificate"),
        (ROOT.cert_pem + damaged(INTERMEDIATE.cert_pem), "certificate 2 of 2"),
    ],
)
def test_a_bad_authority_is_explained(content: bytes, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        check_authorities(content)


@pytest.mark.parametrize(
    "cert, key, complaint",
    [
        (b"", CLIENT.key_pem, "client certificate holds no PEM certificate"),
        (CLIENT.cert_pem, b"", "client key holds no PEM private key"),
        (CLIENT.cert_pem, CLIENT.cert_pem, "client key holds no PEM private key"),
        (CLIENT.cert_pem, SERVER.key_pem, "does not belong to the client certificate"),
        (CLIENT.cert_pem, CLIENT.private_key_pem(b"secret"), "is encrypted; remove its passphrase"),
        (CLIENT.cert_pem, damaged(CLIENT.key_pem), "cannot be used"),
        (damaged(CLIENT.cert_pem), CLIENT.key_pem, "cannot be used"),
    ],
)
def test_a_bad_client_certificate_is_explained(cert: bytes, key: bytes, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        check_certificate(CertificatePair(cert, key))


def test_a_key_of_another_kind_than_the_certificate_is_explained() -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    key = ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    with pytest.raises(InvalidInput, match="does not belong to the client certificate"):
        check_certificate(CertificatePair(CLIENT.cert_pem, key))


def test_no_key_shows_in_a_repr() -> None:
    secret = CLIENT.key_pem.splitlines()[1].decode()
    assert secret not in repr(CLIENT.pair)
