"""Entries from a ConfigMap with a `clusters.yaml` and a Secret with the credentials, both followed.
Owns the names of the Secret's keys and what a ConfigMap may not say; the fields of an entry are
those of `clusters_document`."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairlead import yamltext
from fairlead.errors import InvalidInput
from fairlead.kube.client import Client
from fairlead.kube.kubeconfig import parse_kubeconfig
from fairlead.kube.resource import CONFIG_MAPS, SECRETS, Object
from fairlead.registry.clusters_document import Connection, read_clusters
from fairlead.registry.entry import HealthCheck, digest
from fairlead.registry.fields import Fields
from fairlead.registry.inline import (
    FIELDS,
    FILE_FIELDS,
    SECRET_FIELDS,
    read_material,
    warnings_of,
)
from fairlead.registry.last_good import LastGood, ProviderSnapshot, Reading
from fairlead.registry.material import access_of, is_authority, readdress, split_certificate
from fairlead.registry.problem import Problem, Severity
from fairlead.registry.providers import Publish
from fairlead.registry.providers.file_entries import without_quotations
from fairlead.registry.providers.followed import publish_from
from fairlead.registry.providers.follower import Follower, Seen, Target

_SUFFIXES = ("token", "cert", "key", "ca", "kubeconfig")


@dataclass(frozen=True, slots=True)
class ConfigMapNames:
    """Where the configuration stands; the defaults are k8s-mca's."""

    namespace: str = "mca-system"
    config_map: str = "mca-config"
    secret: str = "mca-cluster-credentials"
    key: str = "clusters.yaml"


class ConfigMapProvider:
    """A ConfigMap and a Secret of the cluster behind `client`."""

    def __init__(
        self,
        client: Client,
        names: ConfigMapNames | None = None,
        *,
        defaults: HealthCheck | None = None,
    ) -> None:
        self._client = client
        self._names = names or ConfigMapNames()
        self._defaults = defaults or HealthCheck()
        self._last_good = LastGood()
        namespace = self._names.namespace
        self._config_map = Target(CONFIG_MAPS, namespace, self._names.config_map)
        self._secret = Target(SECRETS, namespace, self._names.secret)

    @property
    def description(self) -> str:
        return str(self._config_map)

    async def run(self, publish: Publish) -> None:
        await publish_from(self._client, publish, self._evaluate)

    def _evaluate(self, follower: Follower) -> ProviderSnapshot | None:
        follower.follow({self._config_map, self._secret})
        config, secret = follower.seen(self._config_map), follower.seen(self._secret)
        for seen in (config, secret):
            if not seen.complete and seen.error is None:
                return None
        away = [
            Problem(str(target), f"is not followed right now: {seen.error}")
            for target, seen in ((self._config_map, config), (self._secret, secret))
            if seen.error is not None
        ]
        if config.complete:
            self._last_good.accept(self.description, self._read(config, secret))
        return self._last_good.snapshot(*away)

    def _read(self, config: Seen, secret: Seen) -> Reading:
        try:
            text = self._text(config)
            document = yamltext.parse(text, f"{self._config_map}, {self._names.key}")
        except InvalidInput as error:
            return Reading(problems=(Problem.of(without_quotations(error)),), readable=False)
        credentials = SecretCredentials(str(self._secret), secret)
        reading = read_clusters(document, credentials.connect, self._defaults)
        names = {entry.name for entry in reading.entries} | reading.broken
        strays = () if reading.nameless else credentials.strays(names)
        return Reading(
            entries=reading.entries,
            problems=(*reading.problems, *strays),
            broken=reading.broken,
            nameless=reading.nameless,
            readable=reading.readable,
        )

    def _text(self, config: Seen) -> str:
        place, key = str(self._config_map), self._names.key
        if not config.objects:
            raise InvalidInput(place, "does not exist", "create it")
        data = config.objects[0].get("data")
        text = data.get(key) if isinstance(data, dict) else None
        if not isinstance(text, str):
            raise InvalidInput(place, f"has no key {key!r}", "add it")
        return text


class SecretCredentials:
    """The keys `<cluster>-token`, `-cert`, `-key`, `-ca` and `-kubeconfig` of a Secret."""

    def __init__(self, place: str, seen: Seen) -> None:
        self._place = place
        self._absence = ""
        if not seen.complete:
            self._absence = f"{place} cannot be read"
        elif not seen.objects:
            self._absence = f"{place} does not exist"
        self._data = secret_data(seen.objects[0]) if seen.objects else {}

    def connect(self, fields: Fields, name: str) -> Connection | None:
        before = len(fields.faults)
        fields.expect(*FIELDS, *FILE_FIELDS, "context")
        for key in FILE_FIELDS:
            if fields.given(key):
                problem = "names a file, which a ConfigMap may not do"
                fields.fault(key, problem, f"put its content into {self._place}")
        try:
            if f"{name}-kubeconfig" in self._data:
                return self._by_kubeconfig(fields, name)
            return self._by_keys(fields, name) if len(fields.faults) == before else None
        except InvalidInput as error:
            problem = f"{error.place}: {error.problem}" if error.place else error.problem
            if self._absence and error.problem == "has no credential":
                problem = f"{problem}, {self._absence}"
            fields.fault("", problem, error.remedy)
            return None

    def strays(self, names: set[str]) -> tuple[Problem, ...]:
        """Keys that belong to no cluster: most likely one of the names is misspelt."""
        known = {f"{name}-{suffix}" for name in names for suffix in _SUFFIXES}
        return tuple(
            Problem(
                self._place,
                f"the key {key!r} belongs to no cluster",
                "name it <cluster>-token, -cert, -key, -ca or -kubeconfig, or remove it",
                severity=Severity.WARNING,
            )
            for key in sorted(self._data.keys() - known)
        )

    def _by_kubeconfig(self, fields: Fields, name: str) -> Connection:
        source = f"{self._place}, {name}-kubeconfig"
        kubeconfig = parse_kubeconfig(self._data[f"{name}-kubeconfig"], source)
        access = kubeconfig.access(fields.text("context", limit=253))
        if (endpoint := fields.text("endpoint", limit=1024)) is not None:
            access = readdress(access, endpoint)
        return Connection(access, digest(self._data[f"{name}-kubeconfig"]))

    def _by_keys(self, fields: Fields, name: str) -> Connection | None:
        exposed = [key for key in SECRET_FIELDS if fields.given(key)]
        material = read_material(fields, self._material(name))
        if material is None:
            return None
        access, credential = access_of(material, f"cluster {name} of {self._place}")
        warnings = warnings_of(material)
        if exposed:
            who = "everybody who can read the ConfigMap can read it"
            warnings += (f"{exposed[0]} is a secret, but {who}; move it into {self._place}",)
        return Connection(access, credential, warnings)

    def _material(self, name: str) -> dict[str, Any]:
        """A `-cert` is the client's if a key goes with it, and the server's authority if not."""
        token = self._data.get(f"{name}-token")
        found: dict[str, Any] = {
            "token": token.decode("utf-8", "replace").strip() if token else None,
            "ca": self._data.get(f"{name}-ca"),
            "key": self._data.get(f"{name}-key"),
        }
        content = self._data.get(f"{name}-cert")
        if content is not None:
            certificate, key = split_certificate(content)
            found["key"] = found["key"] or key
            alone = found["key"] is None and found["ca"] is None and is_authority(certificate)
            found["ca" if alone else "certificate"] = certificate
        return found


def secret_data(secret: Object) -> Mapping[str, bytes]:
    """The decoded values of a Secret."""
    data = secret.get("data")
    decoded: dict[str, bytes] = {}
    for key, value in data.items() if isinstance(data, dict) else ():
        try:
            decoded[key] = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError, TypeError):
            # An API server never gives this out; whoever misses the key says so.
            continue
    return decoded
