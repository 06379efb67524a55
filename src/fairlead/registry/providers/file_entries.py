"""One registry file to entries. Owns the fields that name other files (kubeconfigs, tokens,
certificates) and where those are looked for; knows nothing of watching."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from fairlead import yamltext
from fairlead.errors import InvalidInput
from fairlead.kube.credentials import read_file
from fairlead.kube.kubeconfig import load_kubeconfig
from fairlead.registry.clusters_document import Connection, read_clusters
from fairlead.registry.entry import HealthCheck, digest
from fairlead.registry.fields import Fields
from fairlead.registry.inline import FIELDS, FILE_FIELDS, read_material, warnings_of
from fairlead.registry.last_good import Reading
from fairlead.registry.material import access_of, is_short_lived, readdress
from fairlead.registry.problem import Problem
from fairlead.yamltext import Document

_QUOTED = re.compile(r"'.*'|\".*\"|![^\s]+", re.DOTALL)
_BESIDE_A_KUBECONFIG = ("endpoint", "kubeconfig")


class RegistryFile:
    """The reading of one file, and the files it depends on."""

    def __init__(self, path: Path, defaults: HealthCheck) -> None:
        self.path = path
        self._defaults = defaults
        self.references: set[Path] = set()

    def read(self, *, named: bool) -> Reading | None:
        """The entries. None if the file is no registry file, unless it was `named` as one."""
        try:
            document = yamltext.read(self.path)
        except InvalidInput as error:
            return Reading(problems=(Problem.of(without_quotations(error)),), readable=False)
        if not is_registry(document) and not named:
            return None
        return self.read_document(document)

    def read_document(self, document: Document) -> Reading:
        """The entries of a text that stands, or is about to stand, in this file."""
        return read_clusters(document, self._connect, self._defaults)

    def _connect(self, fields: Fields, name: str) -> Connection | None:
        faults = len(fields.faults)
        fields.expect(*FIELDS, *FILE_FIELDS, "context")
        kubeconfig = self._file(fields, "kubeconfig")
        context = fields.text("context", limit=253)
        if kubeconfig is None and context is not None:
            fields.fault("context", "is given without a kubeconfig", "add `kubeconfig: FILE`")
        try:
            if kubeconfig is not None:
                return self._by_kubeconfig(fields, kubeconfig, context)
            connection = self._by_material(fields, name)
        except InvalidInput as error:
            fields.fault(
                "",
                f"{error.place}: {error.problem}" if error.place else error.problem,
                error.remedy,
            )
            return None
        return connection if len(fields.faults) == faults else None

    def _by_kubeconfig(self, fields: Fields, path: Path, context: str | None) -> Connection | None:
        for key in (*FIELDS, *FILE_FIELDS):
            if fields.given(key) and key not in _BESIDE_A_KUBECONFIG:
                problem = "cannot stand beside a kubeconfig, which says it"
                fields.fault(key, problem, "remove one of the two")
        endpoint = fields.text("endpoint", limit=1024)
        kubeconfig = load_kubeconfig([path])
        access = kubeconfig.access(context)
        if endpoint is not None:
            access = readdress(access, endpoint)
        chosen = context or kubeconfig.current_context
        return Connection(access, digest(kubeconfig.to_text([chosen] if chosen else None)))

    def _by_material(self, fields: Fields, name: str) -> Connection | None:
        # Read here and not by the credentials: a new content is verified before it is used.
        token = self._content(fields, "tokenFile", "token")
        certificate = self._content(fields, "clientCertificateFile", "client certificate")
        files: dict[str, Any] = {
            "ca": self._content(fields, "caFile", "certificate authority"),
            "token": token.decode("utf-8", "replace").strip() if token is not None else None,
            "certificate": certificate,
            "key": self._content(fields, "clientKeyFile", "client key"),
        }
        material = read_material(fields, files)
        if material is None:
            return None
        access, credential = access_of(material, f"cluster {name} of {self.path}")
        from_file = token is not None or certificate is not None
        renewed = from_file and is_short_lived(material)
        return Connection(access, credential, warnings_of(material), renewed)

    def _content(self, fields: Fields, key: str, what: str) -> bytes | None:
        path = self._file(fields, key)
        return read_file(path, what) if path is not None else None

    def _file(self, fields: Fields, key: str) -> Path | None:
        """A file named in the registry file, relative to its folder."""
        text = fields.text(key, limit=4096)
        if text is None:
            return None
        path = self.path.parent / os.path.expanduser(text)
        self.references.add(path)
        return path


def is_registry(document: Document) -> bool:
    """Whether a document is meant as one: a kubeconfig has a list of this name too."""
    data = document.data
    return isinstance(data, dict) and "clusters" in data and data.get("kind") != "Config"


def without_quotations(error: InvalidInput) -> InvalidInput:
    """The same complaint without the text it stumbled over, which may be part of a secret."""
    if error.problem.startswith("the key "):
        return error
    problem = _QUOTED.sub("(not shown)", error.problem)
    return InvalidInput(error.place, problem, error.remedy)
