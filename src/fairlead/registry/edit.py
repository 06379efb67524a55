"""Adding clusters to and removing them from the files that a `FileProvider` reads, for the
command line. Owns that a change happens whole or not at all and that secrets only ever stand in
files of their own; knows nothing of running registries."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlead import yamltext
from fairlead.atomic_file import write_atomically
from fairlead.errors import InvalidInput
from fairlead.registry.clusters_document import NAME_REMEDY
from fairlead.registry.entry import HealthCheck, is_cluster_name
from fairlead.registry.inline import SECRET_FIELDS
from fairlead.registry.problem import Problem, Severity
from fairlead.registry.providers.file import registry_paths
from fairlead.registry.providers.file_entries import RegistryFile, is_registry, without_quotations
from fairlead.registry.yaml_edit import with_item, without_item
from fairlead.yamltext import Document

FILE_NAME = "clusters.yaml"
_SECRET_FILE_FIELDS = ("kubeconfig", "tokenFile", "clientKeyFile")
_PRIVATE = 0o600


@dataclass(frozen=True, slots=True)
class Edit:
    """What was done: the registry file, and the credential file written or deleted with it."""

    file: Path
    credential_file: Path | None = None
    warnings: tuple[Problem, ...] = ()


def add_cluster(
    config: Path,
    fields: Mapping[str, Any],
    *,
    kubeconfig: str | None = None,
    token: str | None = None,
) -> Edit:
    """Add an entry with these fields to a registry file, or to `clusters.yaml` of a folder.

    `kubeconfig` and `token` are contents: they go into a file beside it that only its owner can
    read, and the entry names that. Raises `InvalidInput` and changes nothing if the name is taken
    or the entry could not be used.
    """
    name = fields.get("name")
    if not isinstance(name, str) or not is_cluster_name(name):
        raise InvalidInput("", f"{name!r} cannot be a cluster's name", NAME_REMEDY)
    for key in SECRET_FIELDS:
        if fields.get(key) is not None:
            raise InvalidInput(key, "a secret does not go into the registry file", "name a file")
    with _locked(config):
        path = config / FILE_NAME if config.is_dir() else config
        _refuse_duplicate(config, name)
        entry = {key: value for key, value in fields.items() if value is not None}
        secret = _secret_file(path.parent, name, kubeconfig, token)
        if secret is not None:
            entry[secret.field] = secret.path.name
        edited = with_item(_text_to_extend(path), str(path), entry)
        with _written(secret):
            warnings = _check(path, edited, name)
            write_atomically(path, edited, _mode(path))
    return Edit(path, secret.path if secret else None, warnings)


def remove_cluster(config: Path, name: str) -> Edit:
    """Remove the entry, and the credential file that `add_cluster` wrote for it."""
    with _locked(config):
        for document in _documents(config):
            for index, item in enumerate(_items(document)):
                if item.get("name") == name:
                    path = Path(document.source)
                    text = path.read_text(encoding="utf-8-sig")
                    edited = without_item(text, str(path), index)
                    write_atomically(path, edited, _mode(path))
                    return Edit(path, _delete_own_secret(config, path.parent, name, item))
    raise InvalidInput(str(config), f"there is no cluster {name!r}", "see `fairlead clusters list`")


def permission_problems(config: Path) -> tuple[Problem, ...]:
    """A warning for every file with secrets that others on this machine can read."""
    problems = []
    for document in _documents(config):
        folder = Path(document.source).parent
        suspects: set[Path] = set()
        for item in _items(document):
            if any(item.get(key) is not None for key in SECRET_FIELDS):
                suspects.add(Path(document.source))
            names = (item.get(key) for key in _SECRET_FILE_FIELDS)
            suspects |= {folder / os.path.expanduser(n) for n in names if isinstance(n, str)}
        problems += [problem for path in sorted(suspects) if (problem := _loose(path))]
    return tuple(problems)


@dataclass(frozen=True, slots=True)
class _Secret:
    path: Path
    field: str
    content: str


def _secret_file(
    folder: Path, name: str, kubeconfig: str | None, token: str | None
) -> _Secret | None:
    if kubeconfig is not None and token is not None:
        raise InvalidInput("", "both a kubeconfig and a token are given", "give one of them")
    if kubeconfig is not None:
        return _Secret(folder / f"{name}.kubeconfig", "kubeconfig", kubeconfig)
    if token is not None:
        return _Secret(folder / f"{name}.token", "tokenFile", token.strip() + "\n")
    return None


@contextmanager
def _written(secret: _Secret | None) -> Iterator[None]:
    """The credential file is there inside, and stays if nothing goes wrong."""
    if secret is None:
        yield
        return
    try:
        descriptor = os.open(secret.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
    except FileExistsError as error:
        problem = "is already there and may belong to somebody else"
        raise InvalidInput(str(secret.path), problem, "remove it or choose another name") from error
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(secret.content)
            file.flush()
            os.fsync(file.fileno())
        yield
    except BaseException:
        secret.path.unlink(missing_ok=True)
        raise


def _text_to_extend(path: Path) -> str:
    if not path.exists():
        return ""
    document = yamltext.read(path)
    data = document.data
    if data is not None and (not isinstance(data, dict) or data.get("kind") == "Config"):
        remedy = "name another file or a folder"
        raise document.invalid("is not a registry file", remedy=remedy)
    return path.read_text(encoding="utf-8-sig")


def _check(path: Path, text: str, name: str) -> tuple[Problem, ...]:
    """Refuse a text in which the new entry would not work; what was bad before does not count."""
    document = yamltext.parse(text, str(path))
    reading = RegistryFile(path, HealthCheck()).read_document(document)
    about = [problem for problem in reading.problems if problem.cluster == name]
    if not reading.readable:
        about = list(reading.problems)
    for problem in about:
        if problem.severity is Severity.ERROR:
            raise InvalidInput(_place(name, problem), problem.message, problem.remedy)
    return tuple(about)


def _place(name: str, problem: Problem) -> str:
    """The field alone: the line is one that was never written."""
    _, _, field = problem.place.rpartition("].")
    return f"cluster {name}: {field}" if field and field != problem.place else f"cluster {name}"


def _refuse_duplicate(config: Path, name: str) -> None:
    for document in _documents(config):
        for index, item in enumerate(_items(document)):
            if item.get("name") == name:
                place = document.place("clusters", index)
                remedy = "choose another name, or remove that one first"
                raise InvalidInput(place, f"cluster {name!r} is already there", remedy)


def _documents(config: Path) -> list[Document]:
    """The registry files. One that cannot be read is an error: it might hold what is looked for."""
    if not config.exists():
        return []
    paths = registry_paths(config) if config.is_dir() else [config]
    try:
        documents = [yamltext.read(path) for path in paths]
    except InvalidInput as error:
        raise without_quotations(error) from None
    return [document for document in documents if is_registry(document)]


def _items(document: Document) -> list[dict[str, Any]]:
    items = document.data["clusters"]
    if not isinstance(items, list | None):
        raise document.invalid("must be a list", "clusters", remedy="correct it first")
    return [item if isinstance(item, dict) else {} for item in items or ()]


def _delete_own_secret(
    config: Path, folder: Path, name: str, item: Mapping[str, Any]
) -> Path | None:
    for key, own in (("kubeconfig", f"{name}.kubeconfig"), ("tokenFile", f"{name}.token")):
        if item.get(key) != own:
            continue
        used = {other.get(key) for document in _documents(config) for other in _items(document)}
        if own not in used:
            (folder / own).unlink(missing_ok=True)
            return folder / own
    return None


def _loose(path: Path) -> Problem | None:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return None  # a missing file is reported where it is read
    if not mode & 0o077:
        return None
    problem = f"holds a secret, but others can read it (mode {mode:04o})"
    return Problem(str(path), problem, f"run `chmod 600 {path}`", severity=Severity.WARNING)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644


@contextmanager
def _locked(config: Path) -> Iterator[None]:
    """One change at a time: two would each lose what the other wrote."""
    folder = config if config.is_dir() else config.parent
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        problem = f"the folder cannot be opened ({error.strerror})"
        raise InvalidInput(str(folder), problem, "create it first") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    except OSError as error:
        problem = f"cannot be changed ({error.strerror or error})"
        raise InvalidInput(str(error.filename or config), problem, "check permissions") from error
    finally:
        os.close(descriptor)
