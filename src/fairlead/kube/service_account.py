"""Access to the cluster this process runs in, by the service account mounted into its pod. Owns
that convention of paths and environment; knows nothing of kubeconfigs."""

from __future__ import annotations

import os
from pathlib import Path

from fairlead.errors import InvalidInput
from fairlead.kube.access import Access, TlsSettings, checked_server
from fairlead.kube.credentials import CredentialFiles, FileCredentials, read_file
from fairlead.kube.tls import check_authorities

MOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_REMEDY = "run inside a pod with a service account, or name a kubeconfig"


def in_cluster(mount: Path = MOUNT) -> Access:
    """Access by the service account mounted at `mount`; the token is re-read as it rotates."""
    server = _server()
    ca_path = mount / "ca.crt"
    ca_pem = read_file(ca_path, "certificate authority")
    try:
        check_authorities(ca_pem)
    except InvalidInput as error:
        raise InvalidInput(str(ca_path), error.problem, error.remedy) from error
    return Access(
        server=server,
        tls=TlsSettings(ca_pem=ca_pem),
        credentials=FileCredentials(CredentialFiles(token=mount / "token")),
        namespace=_namespace(mount / "namespace"),
        description="the service account of this pod",
    )


def runs_in_cluster(mount: Path = MOUNT) -> bool:
    """Is this process in a pod that `in_cluster` could work in?"""
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST")) and (mount / "token").exists()


def _server() -> str:
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "")
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "")
    place = "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT"
    if not host or not port:
        raise InvalidInput(place, "not set, so this is not a pod", _REMEDY)
    authority = f"[{host}]" if ":" in host else host
    try:
        return checked_server(f"https://{authority}:{port}")
    except InvalidInput as error:
        raise InvalidInput(place, "do not name a host and a port", _REMEDY) from error


def _namespace(path: Path) -> str | None:
    try:
        return path.read_text("utf-8").strip() or None
    except (OSError, ValueError):
        # Some platforms mount only a token; then there simply is no default namespace.
        return None
