"""Certificates for tests: authorities that sign authorities, leaves with any dates and names."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fairlead.kube.access import CertificatePair


@dataclass(frozen=True)
class Identity:
    """A certificate with its key, able to sign others."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def cert_pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.private_key_pem()

    @property
    def pair(self) -> CertificatePair:
        return CertificatePair(self.cert_pem, self.key_pem)

    def private_key_pem(self, passphrase: bytes | None = None) -> bytes:
        encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if passphrase is not None:
            encryption = serialization.BestAvailableEncryption(passphrase)
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
        )


def issue(
    name: str,
    issuer: Identity | None = None,
    *,
    authority: bool = False,
    constraints: bool = True,
    hosts: tuple[str, ...] = (),
    valid_for: timedelta = timedelta(days=30),
) -> Identity:
    """A new certificate; without issuer it signs itself. `hosts` are DNS names or addresses."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC).replace(microsecond=0)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=60))
        .not_valid_after(now + valid_for)
    )
    if constraints:
        constraint = x509.BasicConstraints(ca=authority, path_length=None)
        builder = builder.add_extension(constraint, critical=True)
    if hosts:
        names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        builder = builder.add_extension(names, critical=False)
    return Identity(builder.sign(issuer.key if issuer else key, hashes.SHA256()), key)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
