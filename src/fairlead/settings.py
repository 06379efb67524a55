"""The configuration file or folder of Fairlead to the frozen settings of each package. Owns the
names in `fairlead.yaml` and the places where it is looked for; the only module that reads
environment variables. Imported by the application alone."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairlead import yamltext
from fairlead.errors import InvalidInput
from fairlead.registry.entry import HealthCheck
from fairlead.registry.fields import Fields
from fairlead.registry.settings import RegistrySettings
from fairlead.runtime.settings import RuntimeSettings

FILE_NAME = "fairlead.yaml"


@dataclass(frozen=True, slots=True)
class FileSource:
    """A registry file, or a folder of them."""

    path: Path


@dataclass(frozen=True, slots=True)
class KubeconfigSource:
    """The contexts of a kubeconfig; without a path those of KUBECONFIG or the user's own."""

    path: Path | None = None
    contexts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfigMapSource:
    """A ConfigMap with `clusters.yaml` and a Secret with the credentials, in the home cluster."""

    namespace: str = "mca-system"
    name: str = "mca-config"
    secret: str = "mca-cluster-credentials"


@dataclass(frozen=True, slots=True)
class ClusterRegistrySource:
    """The ClusterRegistry resources of the home cluster, their kubeconfigs in one namespace."""

    namespace: str = "ramen-system"


Source = FileSource | KubeconfigSource | ConfigMapSource | ClusterRegistrySource


@dataclass(frozen=True, slots=True)
class Home:
    """The cluster that an agent runs on: from where it reads its resources."""

    kubeconfig: Path | None = None
    context: str | None = None
    name: str | None = None
    """Its name in the registry."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything, and where it was read."""

    place: str
    sources: tuple[Source, ...]
    home: Home = Home()
    controllers: Mapping[str, bool] = field(default_factory=dict)
    registry: RegistrySettings = field(default_factory=RegistrySettings)
    runtime: RuntimeSettings = field(default_factory=RuntimeSettings)


def load_settings(
    config: Path | None = None, environment: Mapping[str, str] | None = None
) -> Settings:
    """From the path given, else from the first place that exists."""
    environment = os.environ if environment is None else environment
    path = config or default_path(environment)
    if path is None:
        return _defaults("your kubeconfig", (KubeconfigSource(),))
    path = path.expanduser()
    if path.is_dir():
        return _from_folder(path)
    document = yamltext.read(path)
    if isinstance(document.data, dict) and document.data.get("kind") == "Config":
        return _defaults(str(path), (KubeconfigSource(path),))
    if isinstance(document.data, dict) and "clusters" in document.data:
        return _defaults(str(path), (FileSource(path),))
    return _from_document(document, path.parent, (FileSource(path.parent),))


def editable_registry(
    config: Path | None = None, environment: Mapping[str, str] | None = None
) -> Path:
    """The registry file or folder that commands may write to; it need not exist yet."""
    environment = os.environ if environment is None else environment
    path = config or default_path(environment) or config_home(environment)
    path = path.expanduser()
    if not path.exists():
        return path
    settings = load_settings(path, environment)
    for source in settings.sources:
        if isinstance(source, FileSource):
            return source.path
    problem = "names no registry file, so there is nothing to write to"
    raise InvalidInput(settings.place, problem, "add a source of `type: file` to it")


def default_path(environment: Mapping[str, str]) -> Path | None:
    if named := environment.get("FAIRLEAD_CONFIG"):
        return Path(named)
    for candidate in (Path(FILE_NAME), config_home(environment)):
        if candidate.exists():
            return candidate
    return None


def config_home(environment: Mapping[str, str]) -> Path:
    base = environment.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "fairlead"


def with_memory(settings: Settings, environment: Mapping[str, str] | None = None) -> Settings:
    """The same settings, remembering the identities of clusters from one command to the next."""
    if settings.registry.identity_file is not None:
        return settings
    environment = os.environ if environment is None else environment
    base = Path(environment.get("XDG_STATE_HOME") or "~/.local/state").expanduser() / "fairlead"
    key = hashlib.sha256(os.path.abspath(settings.place).encode()).hexdigest()[:12]
    try:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return settings  # a home that cannot be written to is no reason not to look
    file = base / f"identities-{key}.json"
    return replace(settings, registry=replace(settings.registry, identity_file=file))


def _from_folder(folder: Path) -> Settings:
    sources = (FileSource(folder),)
    file = folder / FILE_NAME
    if not file.exists():
        return _defaults(str(folder), sources)
    return _from_document(yamltext.read(file), folder, sources)


def _defaults(place: str, sources: tuple[Source, ...]) -> Settings:
    observer = socket.gethostname() or "fairlead"
    return Settings(place, sources, registry=RegistrySettings(observer=observer))


def _from_document(
    document: yamltext.Document, folder: Path, sources: tuple[Source, ...]
) -> Settings:
    data = {} if document.data is None else document.data
    if not isinstance(data, dict):
        raise document.invalid("must be a mapping", remedy=f"see the example of {FILE_NAME}")
    fields = Fields(document, (), data, [])
    settings = _Reader(fields, folder).read(_defaults(document.source, sources))
    fields.refuse_unknown()
    if fields.faults:
        raise fields.faults[0]
    return settings


class _Reader:
    """One `fairlead.yaml`; faults gather in `fields`, with their lines."""

    def __init__(self, fields: Fields, folder: Path) -> None:
        self._fields = fields
        self._folder = folder

    def read(self, defaults: Settings) -> Settings:
        return replace(
            defaults,
            sources=self._sources() or defaults.sources,
            home=self._home(),
            controllers=self._controllers(),
            registry=self._registry(defaults.registry),
            runtime=self._runtime(),
        )

    def _path(self, fields: Fields, key: str) -> Path | None:
        text = fields.text(key, limit=4096)
        return None if text is None else self._folder / Path(text).expanduser()

    def _sources(self) -> tuple[Source, ...]:
        items = self._fields.sections("sources")
        sources = [source for item in items if (source := self._source(item)) is not None]
        return tuple(sources)

    def _source(self, item: Fields) -> Source | None:
        kind = item.one_of("type", "file", "kubeconfig", "configMap", "clusterRegistry")
        source: Source | None = None
        if kind == "file":
            source = FileSource(self._path(item, "path") or self._folder)
        elif kind == "kubeconfig":
            source = KubeconfigSource(self._path(item, "path"), tuple(item.texts("contexts")))
        elif kind == "configMap":
            source = ConfigMapSource(**_given_texts(item, "namespace", "name", "secret"))
        elif kind == "clusterRegistry":
            source = ClusterRegistrySource(**_given_texts(item, "namespace"))
        elif not item.given("type"):
            item.fault("type", "is missing", "one of file, kubeconfig, configMap, clusterRegistry")
        item.refuse_unknown()
        return source

    def _home(self) -> Home:
        section = self._fields.section("home")
        if section is None:
            return Home()
        home = Home(
            kubeconfig=self._path(section, "kubeconfig"),
            context=section.text("context"),
            name=section.text("name"),
        )
        section.refuse_unknown()
        return home

    def _controllers(self) -> dict[str, bool]:
        section = self._fields.section("controllers")
        if section is None:
            return {}
        flags = {name: section.flag(name) for name in section.names()}
        return _given(flags)

    def _registry(self, defaults: RegistrySettings) -> RegistrySettings:
        section = self._fields.section("registry")
        if section is None:
            return defaults
        values = {
            "observer": section.text("observer", limit=63),
            "identity_file": self._path(section, "identityFile"),
            "health_check": _health_check(section),
        }
        section.refuse_unknown()
        return replace(defaults, **_given(values))

    def _runtime(self) -> RuntimeSettings:
        section = self._fields.section("agent")
        if section is None:
            return RuntimeSettings()
        values: dict[str, Any] = {
            "probe_host": section.text("host", limit=253),
            "probe_port": section.whole("port", 0, 65535),
            "log_format": section.one_of("logFormat", "auto", "json", "console"),
            "log_level": section.one_of("logLevel", "debug", "info", "warning", "error"),
            "leader_election": section.flag("leaderElection"),
            "lease_namespace": section.text("leaseNamespace", limit=63),
            "lease_name": section.text("leaseName", limit=63),
            "shutdown_grace": section.seconds("shutdownGrace", 0, 3600),
            "reconcile_timeout": section.seconds("reconcileTimeout", 1, 3600),
        }
        section.refuse_unknown()
        try:
            return RuntimeSettings(**_given(values))
        except InvalidInput as error:
            section.fault("", error.problem, error.remedy)
            return RuntimeSettings()


def _health_check(section: Fields) -> HealthCheck | None:
    check = section.section("healthCheck")
    if check is None:
        return None
    values: dict[str, Any] = {
        "interval": check.seconds("interval", 1, 86400),
        "timeout": check.seconds("timeout", 0.1, 3600),
        "slow": check.seconds("slow", 0.01, 3600),
        "failure_threshold": check.whole("failureThreshold", 1, 100),
        "success_threshold": check.whole("successThreshold", 1, 100),
    }
    check.refuse_unknown()
    return HealthCheck(**_given(values))


def _given_texts(fields: Fields, *keys: str) -> dict[str, str]:
    return _given({key: fields.text(key, limit=253) for key in keys})


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
