"""Entries from `ClusterRegistry` objects and the Secrets they name, all followed. Owns how one
becomes the other; the shape of a ClusterRegistry is `fairlead.api.cluster_registry`'s."""

from __future__ import annotations

from typing import Any

from fairlead.api import cluster_registry as api
from fairlead.api.durations import parse_duration
from fairlead.api.meta import InvalidObject, decode
from fairlead.errors import InvalidInput
from fairlead.kube.client import Client
from fairlead.kube.errors import NotServed
from fairlead.kube.kubeconfig import parse_kubeconfig
from fairlead.kube.resource import SECRETS, Object, Resource
from fairlead.registry.entry import DEFAULT_WEIGHT, ClusterEntry, HealthCheck, digest
from fairlead.registry.last_good import LastGood, ProviderSnapshot, Reading
from fairlead.registry.material import readdress
from fairlead.registry.problem import Problem
from fairlead.registry.providers import Publish
from fairlead.registry.providers.configmap import secret_data
from fairlead.registry.providers.followed import publish_from
from fairlead.registry.providers.follower import Follower, Target

_KIND = api.CLUSTER_REGISTRY
CLUSTER_REGISTRIES = Resource(
    _KIND.group, _KIND.version, _KIND.plural, _KIND.kind, _KIND.namespaced
)
SECRET_KEY = "kubeconfig"


class CustomResourceProvider:
    """All ClusterRegistries of the cluster behind `client`; Secrets come from one namespace."""

    def __init__(
        self,
        client: Client,
        *,
        secret_namespace: str = "ramen-system",
        defaults: HealthCheck | None = None,
    ) -> None:
        self._client = client
        self._secret_namespace = secret_namespace
        self._defaults = defaults or HealthCheck()
        self._last_good = LastGood()
        self._registries = Target(CLUSTER_REGISTRIES)

    @property
    def description(self) -> str:
        return f"ClusterRegistries of {self._client.name or self._client.access.server}"

    async def run(self, publish: Publish) -> None:
        await publish_from(self._client, publish, self._evaluate)

    def _evaluate(self, follower: Follower) -> ProviderSnapshot | None:
        follower.follow({self._registries, *follower.targets})
        registries = follower.seen(self._registries)
        secrets = {
            Target(SECRETS, self._secret_namespace, name)
            for registry in registries.objects
            for name in _secret_names(registry)
        }
        follower.follow({self._registries, *secrets})
        if not registries.complete:
            away = self._away(follower, self._registries)
            return self._last_good.snapshot(*away) if away else None
        waiting = [follower.seen(target) for target in secrets]
        if any(not seen.complete and seen.error is None for seen in waiting):
            return None
        sources = {_source(registry): registry for registry in registries.objects}
        self._last_good.keep_only(sources)
        for source, registry in sources.items():
            self._last_good.accept(source, self._read(follower, source, registry))
        return self._last_good.snapshot(*self._away(follower, self._registries))

    def _away(self, follower: Follower, target: Target) -> tuple[Problem, ...]:
        error = follower.seen(target).error
        if error is None:
            return ()
        remedy = "install it with `fairlead crds | kubectl apply --server-side -f -`"
        missing = isinstance(error, NotServed)
        return (
            Problem(
                self.description,
                f"cannot be followed: {error}",
                remedy if missing else "they are tried again",
            ),
        )

    def _read(self, follower: Follower, source: str, registry: Object) -> Reading:
        spec = registry.get("spec")
        clusters = spec.get("clusters") if isinstance(spec, dict) else None
        if not isinstance(clusters, list):
            problem = Problem(f"{source}: spec.clusters", "is not a list", "apply the CRD again")
            return Reading(problems=(problem,), readable=False)
        entries: dict[str, ClusterEntry] = {}
        problems: list[Problem] = []
        broken: set[str] = set()
        nameless = False
        for index, item in enumerate(clusters):
            place = f"{source}: spec.clusters[{index}]"
            name = item.get("name") if isinstance(item, dict) else None
            try:
                entry = self._entry(follower, place, item)
                entries.setdefault(entry.name, entry)
            except (InvalidInput, InvalidObject) as error:
                problems.append(_problem(place, error, name if isinstance(name, str) else None))
                nameless = nameless or not isinstance(name, str)
                broken |= {name} if isinstance(name, str) else set()
        return Reading(
            entries=tuple(entries.values()),
            problems=tuple(problems),
            broken=frozenset(broken - entries.keys()),
            nameless=nameless,
        )

    def _entry(self, follower: Follower, place: str, item: Any) -> ClusterEntry:
        info = decode(item, api.ClusterInfo)
        if not info.name or not info.kubeconfig_secret:
            raise InvalidInput(place, "name and kubeconfigSecret are required", "add them")
        target = Target(SECRETS, self._secret_namespace, info.kubeconfig_secret)
        text = self._kubeconfig(follower, target)
        kubeconfig = parse_kubeconfig(text, f"{target}, {SECRET_KEY}")
        access = kubeconfig.access(info.context)
        if info.endpoint is not None:
            access = readdress(access, info.endpoint)
        return ClusterEntry(
            name=info.name,
            access=access,
            credential=digest(text),
            source=place,
            region=info.region,
            namespace=info.namespace,
            labels=dict(info.labels or {}),
            weight=DEFAULT_WEIGHT if info.weight is None else info.weight,
            available=info.status != "Unavailable",
            identity=info.identity,
            health_check=_health_check(place, info.health_check, self._defaults),
        )

    def _kubeconfig(self, follower: Follower, target: Target) -> bytes:
        seen = follower.seen(target)
        if not seen.complete:
            remedy = "allow the agent to get, list and watch this Secret"
            raise InvalidInput(str(target), f"cannot be read: {seen.error}", remedy)
        if not seen.objects:
            raise InvalidInput(str(target), "does not exist", "create it")
        data = secret_data(seen.objects[0])
        if SECRET_KEY not in data:
            remedy = "put the cluster's kubeconfig there"
            raise InvalidInput(str(target), f"has no key {SECRET_KEY!r}", remedy)
        return data[SECRET_KEY]


def _secret_names(registry: Object) -> set[str]:
    spec = registry.get("spec")
    clusters = spec.get("clusters") if isinstance(spec, dict) else None
    items = clusters if isinstance(clusters, list) else []
    names = {item.get("kubeconfigSecret") for item in items if isinstance(item, dict)}
    return {name for name in names if isinstance(name, str) and name}


def _source(registry: Object) -> str:
    return f"{_KIND.kind} {registry['metadata']['name']}"


def _problem(place: str, error: InvalidInput | InvalidObject, name: str | None) -> Problem:
    if isinstance(error, InvalidObject):
        field = f".{error.path}" if error.path else ""
        return Problem(f"{place}{field}", error.problem, "correct it", name)
    where = "" if error.place in ("", place) else f"{error.place}: "
    return Problem(place, f"{where}{error.problem}", error.remedy, name)


def _health_check(place: str, given: api.HealthCheck | None, defaults: HealthCheck) -> HealthCheck:
    if given is None:
        return defaults
    try:
        return defaults.with_given(
            path=given.path,
            interval=parse_duration(given.interval) if given.interval else None,
            timeout=parse_duration(given.timeout) if given.timeout else None,
            slow=parse_duration(given.slow) if given.slow else None,
            failure_threshold=given.failure_threshold,
            success_threshold=given.success_threshold,
        )
    except ValueError as error:
        raise InvalidInput(f"{place}.healthCheck", str(error), "correct it") from error
