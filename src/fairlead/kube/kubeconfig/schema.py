"""One kubeconfig file as typed stanzas that know where they stand. Owns the format and its types;
knows nothing of merging, of reading the files it names or of what a stanza amounts to."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from fairlead import yamltext
from fairlead.errors import InvalidInput
from fairlead.kube.kubeconfig.fields import Fields, kind_of
from fairlead.yamltext import Document

_S = TypeVar("_S", bound="Stanza")

EXEC_EXTENSION = "client.authentication.k8s.io/exec"
_REPEATED = re.compile(r"'.*'|\".*\"|(?<=the tag )\S+")
_FLATTEN = "put the content in by `kubectl config view --raw --flatten`"


@dataclass(frozen=True, slots=True, repr=False)
class Stanza:
    """What clusters, users and contexts have in common."""

    name: str
    fields: Fields


@dataclass(frozen=True, slots=True, repr=False)
class ClusterStanza(Stanza):
    server: str
    ca_data: bytes
    ca_file: Path | None
    server_name: str
    insecure: bool
    proxy_url: str
    disable_compression: bool
    exec_config: Any

    def portable(self) -> dict[str, Any]:
        """The stanza as it was written, in a form that holds in any folder."""
        return _absolute(self.fields.data, {"certificate-authority": self.ca_file})


@dataclass(frozen=True, slots=True, repr=False)
class ExecStanza:
    fields: Fields
    api_version: str
    command: str
    args: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    install_hint: str
    provide_cluster_info: bool
    interactive_mode: str


@dataclass(frozen=True, slots=True, repr=False)
class UserStanza(Stanza):
    token: str
    token_file: Path | None
    username: str
    password: str
    certificate_data: bytes
    certificate_file: Path | None
    key_data: bytes
    key_file: Path | None
    impersonate: str
    impersonate_uid: str
    impersonate_groups: tuple[str, ...]
    impersonate_extra: tuple[tuple[str, str], ...]
    auth_provider: str | None
    exec: ExecStanza | None

    def portable(self) -> dict[str, Any]:
        """The stanza as it was written, in a form that holds in any folder."""
        data = _absolute(
            self.fields.data,
            {
                "client-certificate": self.certificate_file,
                "client-key": self.key_file,
                "tokenFile": self.token_file,
            },
        )
        if self.exec is not None:
            data["exec"] = {**data["exec"], "command": self.exec.command}
        return data


@dataclass(frozen=True, slots=True, repr=False)
class ContextStanza(Stanza):
    cluster: str
    user: str
    namespace: str


@dataclass(frozen=True, slots=True, repr=False)
class ConfigFile:
    """Everything one file says."""

    fields: Fields
    current_context: str
    clusters: dict[str, ClusterStanza]
    users: dict[str, UserStanza]
    contexts: dict[str, ContextStanza]


def parse_file(raw: bytes | str, source: str, folder: Path | None) -> ConfigFile:
    """The stanzas of one text; an empty one has none. `folder` None: it may not name files."""
    document = _document(raw, source)
    data = {} if document.data is None else document.data
    if not isinstance(data, dict):
        remedy = "it must start with `apiVersion: v1` and `kind: Config`"
        raise document.invalid(f"is {kind_of(data)}, not a kubeconfig", remedy=remedy)
    fields = Fields(document, (), data)
    for name, expected in (("apiVersion", "v1"), ("kind", "Config")):
        if fields.text(name) not in ("", expected):
            problem = f"is not {expected}, so this is not a kubeconfig"
            raise fields.invalid(problem, name, remedy="name a kubeconfig file")
    return ConfigFile(
        fields,
        fields.text("current-context"),
        _named(fields, "clusters", "cluster", lambda n, f: _cluster(n, f, folder)),
        _named(fields, "users", "user", lambda n, f: _user(n, f, folder)),
        _named(fields, "contexts", "context", _context),
    )


def _document(raw: bytes | str, source: str) -> Document:
    try:
        return yamltext.parse(raw, source)
    except InvalidInput as error:
        # The parser repeats what it stumbled over, which may be part of a password (`*abc` or
        # `!abc`); so only names of keys stay, and the original is not chained.
        problem = error.problem
        if not problem.startswith("the key "):
            problem = _REPEATED.sub("(not shown)", problem)
        raise InvalidInput(error.place, problem, error.remedy) from None


def _named(
    fields: Fields, plural: str, singular: str, build: Callable[[str, Fields], _S]
) -> dict[str, _S]:
    found: dict[str, _S] = {}
    for entry in fields.children(plural):
        name = entry.text("name")
        if not name:
            raise entry.invalid(f"the {singular} has no name", remedy="give it a `name`")
        if name in found:
            problem = f"a second {singular} is named {name!r}"
            raise entry.invalid(problem, "name", remedy="rename or remove one of them")
        body = entry.child(singular) or Fields(fields.document, entry.path, {})
        found[name] = build(name, body)
    return found


def _cluster(name: str, fields: Fields, folder: Path | None) -> ClusterStanza:
    extensions = {e.text("name"): e.data.get("extension") for e in fields.children("extensions")}
    return ClusterStanza(
        name,
        fields,
        server=fields.text("server"),
        ca_data=fields.decoded("certificate-authority-data"),
        ca_file=_file(fields, folder, "certificate-authority"),
        server_name=fields.text("tls-server-name"),
        insecure=fields.flag("insecure-skip-tls-verify"),
        proxy_url=fields.text("proxy-url"),
        disable_compression=fields.flag("disable-compression"),
        exec_config=extensions.get(EXEC_EXTENSION),
    )


def _user(name: str, fields: Fields, folder: Path | None) -> UserStanza:
    provider = fields.child("auth-provider")
    program = fields.child("exec")
    extra = fields.child("as-user-extra")
    return UserStanza(
        name,
        fields,
        token=fields.text("token"),
        token_file=_file(fields, folder, "tokenFile"),
        username=fields.text("username"),
        password=fields.text("password"),
        certificate_data=fields.decoded("client-certificate-data"),
        certificate_file=_file(fields, folder, "client-certificate"),
        key_data=fields.decoded("client-key-data"),
        key_file=_file(fields, folder, "client-key"),
        impersonate=fields.text("as"),
        impersonate_uid=fields.text("as-uid"),
        impersonate_groups=fields.texts("as-groups"),
        impersonate_extra=_pairs(extra) if extra else (),
        auth_provider=provider.text("name") if provider else None,
        exec=_exec(program, folder) if program else None,
    )


def _pairs(fields: Fields) -> tuple[tuple[str, str], ...]:
    """The entries of a mapping of lists, one by one."""
    return tuple((name, value) for name in fields.data for value in fields.texts(name))


def _exec(fields: Fields, folder: Path | None) -> ExecStanza:
    command = fields.text("command")
    if folder is not None and "/" in command:
        command = str(folder / command)
    env = fields.children("env")
    return ExecStanza(
        fields,
        api_version=fields.text("apiVersion"),
        command=command,
        args=fields.texts("args"),
        env=tuple((variable.text("name"), variable.text("value")) for variable in env),
        install_hint=fields.text("installHint"),
        provide_cluster_info=fields.flag("provideClusterInfo"),
        interactive_mode=fields.text("interactiveMode"),
    )


def _context(name: str, fields: Fields) -> ContextStanza:
    return ContextStanza(
        name,
        fields,
        cluster=fields.text("cluster"),
        user=fields.text("user"),
        namespace=fields.text("namespace"),
    )


def _file(fields: Fields, folder: Path | None, name: str) -> Path | None:
    """The file a field names, relative to the file the field stands in."""
    text = fields.text(name)
    if text and folder is None:
        problem = "names a file, which a kubeconfig from elsewhere may not do"
        raise fields.invalid(problem, name, remedy=_FLATTEN)
    return folder / text if text and folder is not None else None


def _absolute(data: dict[str, Any], files: dict[str, Path | None]) -> dict[str, Any]:
    return {**data, **{name: str(file) for name, file in files.items() if file is not None}}
