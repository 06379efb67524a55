"""Writing kubeconfigs: contexts as text, and into a file that others share, whole or not at all.
Owns the form that is written; knows nothing of merging or of using it."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml

from fairlead.atomic_file import write_atomically
from fairlead.errors import InvalidInput
from fairlead.kube.access import Access, Presented, TlsSettings
from fairlead.kube.credentials import read_file
from fairlead.kube.kubeconfig.schema import parse_file

_EXTRA = "Impersonate-Extra-"


@dataclass(frozen=True, slots=True)
class ContextEntry:
    """One context to write; its cluster and its user get the same name."""

    name: str
    server: str
    tls: TlsSettings = field(default_factory=TlsSettings)
    presented: Presented = field(default_factory=Presented, repr=False)
    proxy_url: str | None = field(default=None, repr=False)
    namespace: str | None = None

    @classmethod
    def of(cls, name: str, access: Access, presented: Presented) -> ContextEntry:
        """The entry for an access and what its credentials present at this moment."""
        return cls(name, access.server, access.tls, presented, access.proxy_url, access.namespace)


def dump(entries: Sequence[ContextEntry], current: str | None = None) -> str:
    """A kubeconfig of these contexts, as YAML."""
    return assemble(
        clusters={entry.name: _cluster(entry) for entry in entries},
        users={entry.name: _user(entry.presented) for entry in entries},
        contexts={entry.name: _context(entry) for entry in entries},
        current=current,
    )


def assemble(
    *,
    clusters: Mapping[str, Mapping[str, Any]],
    users: Mapping[str, Mapping[str, Any]],
    contexts: Mapping[str, Mapping[str, Any]],
    current: str | None,
) -> str:
    """The YAML of a kubeconfig from the bodies of its stanzas."""
    return _to_yaml(_merged({}, clusters, users, contexts, current))


def merge_into(path: Path, entries: Sequence[ContextEntry], current: str | None = None) -> None:
    """Adds these contexts to a kubeconfig, replacing those of the same names.

    Everything else in it is kept, though not comments. A file that is not a kubeconfig is
    refused (`InvalidInput`) and left as it is. Without `current` the current context stays.
    """
    try:
        raw = read_file(path, "kubeconfig")
    except InvalidInput as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise
        raw = b""
    existing = parse_file(raw, str(path), path.absolute().parent).fields.data
    merged = _merged(
        existing,
        {entry.name: _cluster(entry) for entry in entries},
        {entry.name: _user(entry.presented) for entry in entries},
        {entry.name: _context(entry) for entry in entries},
        current,
    )
    write_private(path, _to_yaml(merged))


def write_private(path: Path, text: str) -> None:
    """Replaces a file at once, readable by its owner only, since it holds credentials."""
    # Through a symbolic link, which people use to keep their kubeconfig elsewhere.
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(target, text, mode=0o600)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable path"
        problem = f"cannot be written ({reason})"
        raise InvalidInput(str(path), problem, "check folder, permissions and space") from error


def _merged(
    existing: Mapping[str, Any],
    clusters: Mapping[str, Mapping[str, Any]],
    users: Mapping[str, Mapping[str, Any]],
    contexts: Mapping[str, Mapping[str, Any]],
    current: str | None,
) -> dict[str, Any]:
    merged = {
        **existing,
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": _replaced(existing.get("clusters"), "cluster", clusters),
        "users": _replaced(existing.get("users"), "user", users),
        "contexts": _replaced(existing.get("contexts"), "context", contexts),
    }
    if current is not None:
        merged["current-context"] = current
    return merged


def _replaced(
    existing: Sequence[Mapping[str, Any]] | None,
    singular: str,
    new: Mapping[str, Mapping[str, Any]],
) -> list[Mapping[str, Any]]:
    kept = {entry["name"]: entry for entry in existing or ()}
    written = {name: {"name": name, singular: dict(body)} for name, body in new.items()}
    return list({**kept, **written}.values())


def _cluster(entry: ContextEntry) -> dict[str, Any]:
    body: dict[str, Any] = {"server": entry.server}
    if entry.tls.ca_pem is not None:
        body["certificate-authority-data"] = _base64(entry.tls.ca_pem)
    if entry.tls.server_name is not None:
        body["tls-server-name"] = entry.tls.server_name
    if entry.tls.insecure:
        body["insecure-skip-tls-verify"] = True
    if entry.proxy_url is not None:
        body["proxy-url"] = entry.proxy_url
    return body


def _context(entry: ContextEntry) -> dict[str, Any]:
    body = {"cluster": entry.name, "user": entry.name}
    return {**body, "namespace": entry.namespace} if entry.namespace else body


def _user(presented: Presented) -> dict[str, Any]:
    body: dict[str, Any] = {}
    scheme, _, value = (presented.authorization or "").partition(" ")
    if scheme == "Bearer":
        body["token"] = value
    elif scheme == "Basic":
        username, _, password = base64.b64decode(value).decode("utf-8").partition(":")
        body |= {"username": username, "password": password}
    if presented.certificate is not None:
        body["client-certificate-data"] = _base64(presented.certificate.cert_pem)
        body["client-key-data"] = _base64(presented.certificate.key_pem)
    return body | _impersonation(presented)


def _impersonation(presented: Presented) -> dict[str, Any]:
    # Left out, the written context would act with more rights than the access it stands for.
    body: dict[str, Any] = {}
    for name, value in presented.headers:
        if name == "Impersonate-User":
            body["as"] = value
        elif name == "Impersonate-Uid":
            body["as-uid"] = value
        elif name == "Impersonate-Group":
            body.setdefault("as-groups", []).append(value)
        elif name.startswith(_EXTRA):
            extra = body.setdefault("as-user-extra", {})
            extra.setdefault(unquote(name.removeprefix(_EXTRA)), []).append(value)
    return body


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _to_yaml(data: Mapping[str, Any]) -> str:
    # No aliases: two contexts with the same user body must stay two.
    return yaml.dump(dict(data), Dumper=_PlainDumper, sort_keys=False, width=2**20)


class _PlainDumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True
