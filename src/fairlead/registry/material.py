"""Credentials as they are written down, and the `Access` made of them. Owns the rules about which
pieces belong together and which are refused; knows nothing of the files they stood in."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field, replace
from datetime import timedelta
from urllib.parse import urlsplit

import msgspec
from cryptography import x509

from fairlead.errors import InvalidInput
from fairlead.kube.access import (
    Access,
    CertificatePair,
    Presented,
    TlsSettings,
    checked_proxy,
    checked_server,
)
from fairlead.kube.credentials import StaticCredentials, bearer
from fairlead.kube.tls import check_authorities, check_certificate
from fairlead.registry.entry import digest

_SHORT = timedelta(days=2)
_KEY_BLOCK = re.compile(
    rb"-----BEGIN [A-Z ]*PRIVATE KEY-----.+?-----END [A-Z ]*PRIVATE KEY-----\s*", re.DOTALL
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What somebody wrote down about how to reach a cluster; every complaint made of it has an
    empty place, the caller knows where it stood."""

    endpoint: str
    ca: bytes | None = None
    token: str | None = field(default=None, repr=False)
    certificate: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)
    server_name: str | None = None
    insecure: bool = False
    proxy_url: str | None = field(default=None, repr=False)


def access_of(material: Material, description: str) -> tuple[Access, str]:
    """The access, and the digest of its credential."""
    server = checked_server(material.endpoint)
    _check_combination(material, server)
    if material.ca is not None:
        check_authorities(material.ca)
    access = Access(
        server=server,
        tls=TlsSettings(material.ca, material.server_name, material.insecure),
        credentials=StaticCredentials(_presented(material)),
        proxy_url=checked_proxy(material.proxy_url) if material.proxy_url else None,
        description=description,
    )
    return access, _credential_digest(material)


def pem(text: str) -> bytes:
    """PEM as it is, or base64 of it as kubeconfigs have it."""
    if "-----BEGIN" in text:
        return text.encode("utf-8", "replace")
    try:
        decoded = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        problem = "is neither PEM nor base64 of PEM"
        raise InvalidInput("", problem, "paste the -----BEGIN ...----- block") from error
    if b"-----BEGIN" not in decoded:
        remedy = "paste the -----BEGIN ...----- block or its base64"
        raise InvalidInput("", "is base64, but not of PEM", remedy)
    return decoded


def split_certificate(content: bytes) -> tuple[bytes, bytes | None]:
    """Certificate and key of a PEM that may hold both."""
    key = _KEY_BLOCK.search(content)
    return (_KEY_BLOCK.sub(b"", content), key[0]) if key else (content, None)


def is_authority(content: bytes) -> bool:
    """Whether the first certificate is one that signs others or itself."""
    try:
        certificate = x509.load_pem_x509_certificate(content)
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
        return constraints.value.ca or certificate.issuer == certificate.subject
    except x509.ExtensionNotFound:
        return certificate.issuer == certificate.subject
    except ValueError:
        return False


def readdress(access: Access, endpoint: str) -> Access:
    """The same access at another address, if that cannot give the credential away.

    Whoever answers at the new address must prove to be the cluster of the kubeconfig: only its
    own certificate authority proves that, any public one would do for a stranger.
    """
    server = checked_server(endpoint)
    if server == access.server:
        return access
    if urlsplit(server).scheme != "https":
        problem = "endpoint must be an https:// address, because the credential is sent to it"
        raise InvalidInput("", problem, "use the API server's https address")
    if access.tls.ca_pem is None or access.tls.insecure:
        problem = (
            "endpoint is another address than the kubeconfig's, which has no certificate "
            "authority of its own to recognise the cluster by"
        )
        remedy = "add certificate-authority-data to the kubeconfig, or remove the endpoint"
        raise InvalidInput("", problem, remedy)
    return replace(access, server=server)


def _check_combination(material: Material, server: str) -> None:
    pair = material.certificate is not None
    if pair != (material.key is not None):
        missing = "key" if pair else "certificate"
        problem = f"the client certificate and its key belong together, the {missing} is missing"
        raise InvalidInput("", problem, f"add the {missing}")
    presents = pair or material.token is not None
    if urlsplit(server).scheme == "http":
        if presents:
            problem = "the endpoint is http://, which would show the credential to everybody"
            raise InvalidInput("", problem, "use the API server's https address")
    elif not presents:
        problem = "has no credential"
        remedy = "add a token, a client certificate with its key, or a kubeconfig"
        raise InvalidInput("", problem, remedy)
    if material.insecure and material.ca is not None:
        problem = "both a certificate authority and insecureSkipTlsVerify are given"
        raise InvalidInput("", problem, "remove insecureSkipTlsVerify")


def _presented(material: Material) -> Presented:
    certificate = None
    if material.certificate is not None and material.key is not None:
        certificate = CertificatePair(material.certificate, material.key)
        check_certificate(certificate)
    return Presented(bearer(material.token) if material.token is not None else None, certificate)


def _credential_digest(material: Material) -> str:
    pair = [digest(part or b"") for part in (material.certificate, material.key)]
    return digest([*pair, material.token])


def is_short_lived(material: Material) -> bool:
    """Whether the credential was made for hours: then a machine made it and will make another."""
    lifetimes = [
        _token_lifetime(material.token) if material.token else None,
        _certificate_lifetime(material.certificate) if material.certificate else None,
    ]
    return any(known is not None and known <= _SHORT for known in lifetimes)


class _Claims(msgspec.Struct):
    exp: float | None = None
    iat: float | None = None


def _token_lifetime(token: str) -> timedelta | None:
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        payload = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        claims = msgspec.json.decode(payload, type=_Claims)
        if claims.exp is None or claims.iat is None:
            return None
        return timedelta(seconds=claims.exp - claims.iat)
    except (msgspec.MsgspecError, ValueError, OverflowError):
        return None


def _certificate_lifetime(content: bytes) -> timedelta | None:
    try:
        certificate = x509.load_pem_x509_certificate(content)
    except ValueError:
        return None
    return certificate.not_valid_after_utc - certificate.not_valid_before_utc
