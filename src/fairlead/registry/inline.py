"""The fields of a `clusters.yaml` entry that hold a credential or say how to trust the server.
Owns their names and which may stand together; knows nothing of files and Secrets."""

from __future__ import annotations

from typing import Any

from fairlead.errors import InvalidInput
from fairlead.registry.fields import Fields
from fairlead.registry.material import Material, pem

FIELDS = (
    *("endpoint", "token", "certificateData", "keyData", "certificateAuthorityData"),
    *("clientCertificateData", "clientKeyData"),
    *("tlsServerName", "insecureSkipTlsVerify", "proxyUrl"),
)
FILE_FIELDS = ("kubeconfig", "tokenFile", "caFile", "clientCertificateFile", "clientKeyFile")
SECRET_FIELDS = ("token", "clientKeyData", "keyData")

PLAIN_HTTP_WARNING = "the endpoint is http://, nobody proves who answers there"
INSECURE_WARNING = (
    "insecureSkipTlsVerify is set, anybody on the way can take the credential; "
    "give the cluster's certificate authority instead"
)


def read_material(fields: Fields, further: dict[str, Any]) -> Material | None:
    """What an entry says by itself, joined with what the caller found elsewhere, which wins."""
    before = len(fields.faults)
    values: dict[str, Any] = {
        "endpoint": fields.text("endpoint", limit=1024),
        "token": fields.text("token"),
        "server_name": fields.text("tlsServerName", limit=253),
        "insecure": fields.flag("insecureSkipTlsVerify") or False,
        "proxy_url": fields.text("proxyUrl", limit=1024),
        **_certificates(fields),
    }
    values |= {name: value for name, value in further.items() if value is not None}
    if values["endpoint"] is None and len(fields.faults) == before:
        remedy = "write it like https://host:6443, or name a kubeconfig"
        fields.fault("endpoint", "is missing", remedy)
    return None if len(fields.faults) > before else Material(**values)


def warnings_of(material: Material) -> tuple[str, ...]:
    found = []
    if material.endpoint.startswith("http://"):
        found.append(PLAIN_HTTP_WARNING)
    if material.insecure:
        found.append(INSECURE_WARNING)
    return tuple(found)


def _certificates(fields: Fields) -> dict[str, bytes | None]:
    """`certificateData` is the server's authority, unless a `keyData` makes it the client's."""
    authority = _pem(fields, "certificateAuthorityData")
    certificate = _pem(fields, "clientCertificateData")
    key = _pem(fields, "clientKeyData")
    either, either_key = _pem(fields, "certificateData"), _pem(fields, "keyData")
    if either_key is not None:
        certificate = _one(fields, "certificateData", certificate, either)
        key = _one(fields, "keyData", key, either_key)
    else:
        authority = _one(fields, "certificateData", authority, either)
    return {"ca": authority, "certificate": certificate, "key": key}


def _one(fields: Fields, key: str, first: bytes | None, second: bytes | None) -> bytes | None:
    if first is not None and second is not None:
        fields.fault(key, "is given under two names", "keep one of them")
    return first or second


def _pem(fields: Fields, key: str) -> bytes | None:
    text = fields.text(key)
    if text is None:
        return None
    try:
        return pem(text)
    except InvalidInput as error:
        fields.fault(key, error.problem, error.remedy)
        return None
