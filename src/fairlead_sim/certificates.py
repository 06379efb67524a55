"""The certificates of one cluster, simulated or real: its own authority, serving certificates for
the loopback names, client certificates for users, and the key that signs service-account tokens.
Made in memory with short elliptic-curve keys; whoever needs a file writes it."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID = timedelta(days=365)
# A clock that was set back a little between making and checking must not break a test run.
_BACKDATED = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    # Kubernetes takes the public half out of a service-account key in this older format only.
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


class Authority:
    """A certificate authority that lives as long as one cluster."""

    def __init__(self, name: str) -> None:
        self._key = new_key()
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = (
            _builder(self._name, self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.certificate_pem = self._certificate.public_bytes(serialization.Encoding.PEM)
        self.key_pem = key_pem(self._key)

    def serving(self, name: str, addresses: Sequence[str] = ()) -> KeyPair:
        """A certificate for a server; `localhost` and `127.0.0.1` are always in it."""
        names: list[x509.GeneralName] = [
            x509.DNSName("localhost"),
            x509.IPAddress(ipaddress.IPv4Address("127.0.0.1")),
            *(x509.DNSName(each) for each in addresses),
        ]
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return self._issue(subject, ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """A certificate that Kubernetes reads as this user in these groups."""
        subject = x509.Name(
            [
                *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups),
                x509.NameAttribute(NameOID.COMMON_NAME, user),
            ]
        )
        return self._issue(subject, ExtendedKeyUsageOID.CLIENT_AUTH, [])

    def _issue(
        self, subject: x509.Name, usage: x509.ObjectIdentifier, names: list[x509.GeneralName]
    ) -> KeyPair:
        key = new_key()
        builder = (
            _builder(subject, self._name, key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            # Python's own strict verification wants the authority named by its key.
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), key_pem(key))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + _VALID)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
