"""TLS contexts with the trust rules of Kubernetes clients: every certificate in the bundle is an
anchor, an intermediate too. Owns the loading of certificates and keys into OpenSSL; knows nothing
of where they come from."""

from __future__ import annotations

import os
import re
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from fairlead.errors import InvalidInput
from fairlead.kube.access import CertificatePair, TlsSettings

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----")
_ENCRYPTED = re.compile(rb"-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED", re.M)
_PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----")


def ssl_context(tls: TlsSettings, certificate: CertificatePair | None = None) -> ssl.SSLContext:
    """The client context for these contents; equal contents share one context.

    Raises `InvalidInput` with an empty place if OpenSSL cannot use them.
    """
    return _context(tls.ca_pem, tls.insecure, certificate)


def check_authorities(ca_pem: bytes) -> None:
    """`InvalidInput` (empty place) unless this is a bundle of certificates."""
    _trust(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ca_pem)


def check_certificate(certificate: CertificatePair) -> None:
    """`InvalidInput` (empty place) unless certificate and key are usable and belong together."""
    _present(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), certificate)


@lru_cache(maxsize=1024)
def _context(
    ca_pem: bytes | None, insecure: bool, certificate: CertificatePair | None
) -> ssl.SSLContext:
    # Loading the system's authorities takes tens of milliseconds, and connections can only be
    # pooled and sessions resumed under the same context: hence the cache.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        # As in Go, which every other Kubernetes client is written in: no common names.
        context.hostname_checks_common_name = False
        # A cluster's authority is often an intermediate, or a certificate that signs itself.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        # Python 3.13 turns this on and then refuses authorities that Kubernetes installers made.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if ca_pem is None:
            context.load_default_certs(ssl.Purpose.SERVER_AUTH)
        else:
            _trust(context, ca_pem)
    if certificate is not None:
        _present(context, certificate)
    return context


def _trust(context: ssl.SSLContext, ca_pem: bytes) -> None:
    # Bundles carry comments in any encoding; OpenSSL gets the certificates only.
    blocks = _CERTIFICATE.findall(ca_pem)
    if not blocks:
        problem = "the certificate authority holds no PEM certificate"
        raise InvalidInput("", problem, "it must hold -----BEGIN CERTIFICATE----- blocks")
    for number, block in enumerate(blocks, start=1):
        try:
            context.load_verify_locations(cadata=block.decode("ascii"))
        except (ssl.SSLError, ValueError) as error:
            problem = f"certificate {number} of {len(blocks)} of the certificate authority"
            raise InvalidInput("", f"{problem} is damaged", "copy the bundle again") from error


def _present(context: ssl.SSLContext, certificate: CertificatePair) -> None:
    if not _CERTIFICATE.search(certificate.cert_pem):
        problem = "the client certificate holds no PEM certificate"
        raise InvalidInput("", problem, "it must hold a -----BEGIN CERTIFICATE----- block")
    if _ENCRYPTED.search(certificate.key_pem):
        remedy = "remove its passphrase with `openssl pkey -in KEY -out PLAIN-KEY`"
        raise InvalidInput("", "the client key is encrypted", remedy)
    if not _PRIVATE_KEY.search(certificate.key_pem):
        problem = "the client key holds no PEM private key"
        raise InvalidInput("", problem, "it must hold a -----BEGIN PRIVATE KEY----- block")
    with _private_file(certificate.cert_pem) as cert, _private_file(certificate.key_pem) as key:
        try:
            context.load_cert_chain(cert, key, password=_no_passphrase)
        except (ssl.SSLError, OSError, ValueError) as error:
            raise _unusable(error) from error


def _unusable(error: Exception) -> InvalidInput:
    reason = getattr(error, "reason", None) or ""
    if "MISMATCH" in reason or "NO_CERTIFICATE_ASSIGNED" in reason:
        problem = "the client key does not belong to the client certificate"
        return InvalidInput("", problem, "take both from the same place")
    detail = f" ({reason.replace('_', ' ').lower()})" if reason else ""
    problem = f"the client certificate or its key cannot be used{detail}"
    return InvalidInput("", problem, "copy both again")


def _no_passphrase() -> str:
    # Without a callback OpenSSL would ask on the terminal.
    raise ValueError("the client key is encrypted")


@contextmanager
def _private_file(content: bytes) -> Iterator[str]:
    """A path OpenSSL can read `content` from: Python's ssl loads client keys from files only.

    An anonymous file in memory where there are any, since a key on a disk outlives its deletion;
    otherwise a temporary file that only its owner can read, deleted at once.
    """
    try:
        descriptor = os.memfd_create("client-certificate", os.MFD_CLOEXEC)
    except (AttributeError, OSError):
        descriptor = -1
    path = f"/proc/self/fd/{descriptor}"
    if descriptor >= 0 and os.path.exists(path):
        with os.fdopen(descriptor, "wb") as memory:
            memory.write(content)
            memory.flush()
            yield path
        return
    if descriptor >= 0:
        os.close(descriptor)
    with tempfile.NamedTemporaryFile(prefix="fairlead-") as file:
        file.write(content)
        file.flush()
        yield file.name
