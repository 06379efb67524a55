"""The files of one real cluster: their names, and the keys and tokens that must stand in them
before a kube-apiserver can start. Everything is readable by the owner only."""

from __future__ import annotations

import csv
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from fairlead_sim.certificates import Authority, key_pem, new_key

_SERVICE_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc")


@dataclass(frozen=True, slots=True)
class User:
    """Somebody the kube-apiserver knows by a token. Without groups they may do next to nothing."""

    name: str
    groups: tuple[str, ...] = ()
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)


class Files:
    """Where the files of one cluster are."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.authority = directory / "ca.crt"
        self.serving_certificate = directory / "serving.crt"
        self.serving_key = directory / "serving.key"
        self.proxy_certificate = directory / "front-proxy.crt"
        self.proxy_key = directory / "front-proxy.key"
        self.service_account_key = directory / "service-accounts.key"
        self.tokens = directory / "tokens.csv"
        self.controllers_kubeconfig = directory / "kube-controller-manager.kubeconfig"

    def log(self, program: str) -> Path:
        return self.directory / f"{program}.log"

    def write_keys(self, authority: Authority, users: Iterable[User]) -> None:
        """Make the directory and what kube-apiserver identifies itself and others with."""
        self.directory.mkdir(parents=True, exist_ok=True)
        serving = authority.serving("kube-apiserver", _SERVICE_NAMES)
        proxy = authority.client("front-proxy")
        tokens = StringIO()
        csv.writer(tokens).writerows(
            (user.token, user.name, user.name, ",".join(user.groups)) for user in users
        )
        for path, content in (
            (self.authority, authority.certificate_pem),
            (self.serving_certificate, serving.certificate),
            (self.serving_key, serving.key),
            (self.proxy_certificate, proxy.certificate),
            (self.proxy_key, proxy.key),
            (self.service_account_key, key_pem(new_key())),
            (self.tokens, tokens.getvalue().encode()),
        ):
            write_private(path, content)


def write_private(path: Path, content: bytes) -> None:
    """Replace a file by one that only the owner can read."""
    # Unlinked first: opening an existing file would keep its wider mode.
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
