"""Kinds found at run time, with aggregated discovery and without."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from fairlead.errors import NotFound, Reason, Unreachable
from fairlead.kube import CONFIG_MAPS, DEPLOYMENTS, Client, NotServed, Resource
from fairlead.kube import discovery as module
from tests.kube.scripted import ScriptedServer, answer, scripted, status


def listed(plural: str, kind: str, *short: str, namespaced: bool = True) -> dict[str, Any]:
    return {
        "name": plural,
        "singularName": kind.lower(),
        "namespaced": namespaced,
        "kind": kind,
        "verbs": ["get", "list"],
        "shortNames": list(short),
    }


class Cluster:
    """A server of discovery documents whose groups can fail one by one."""

    def __init__(self, *, aggregated: bool) -> None:
        self.aggregated = aggregated
        self.versions: dict[str, list[dict[str, Any]]] = {
            "v1": [
                listed("configmaps", "ConfigMap", "cm"),
                listed("configmaps/status", "ConfigMap"),
                listed("namespaces", "Namespace", "ns", namespaced=False),
                listed("events", "Event", "ev"),
            ],
            "apps/v1": [listed("deployments", "Deployment", "deploy")],
            "events.k8s.io/v1": [listed("events", "Event", "ev")],
            "example.com/v1alpha1": [listed("widgets", "Widget"), listed("oldies", "Oldie")],
            "example.com/v1": [listed("widgets", "Widget", "wi")],
        }
        self.preferred = {"example.com": "v1"}
        self.broken: set[str] = set()
        self.requests: list[str] = []

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        self.requests.append(path)
        if "everything" in self.broken:
            return await status(503, "ServiceUnavailable")(request)
        if self.aggregated and "APIGroupDiscoveryList" in request.headers["Accept"]:
            return await answer(self._aggregated(core=path == "/api"))(request)
        if path == "/api":
            return await answer({"kind": "APIVersions", "versions": ["v1"]})(request)
        if path == "/apis":
            return await answer({"kind": "APIGroupList", "groups": self._groups()})(request)
        version = path.removeprefix("/apis/").removeprefix("/api/")
        if version in self.broken:
            return await status(503, "ServiceUnavailable")(request)
        document = {"kind": "APIResourceList", "resources": self.versions[version]}
        return await answer(document)(request)

    def _by_group(self) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        for place in self.versions:
            group, _, version = place.rpartition("/")
            groups.setdefault(group, []).append(version)
        return groups

    def _groups(self) -> list[dict[str, Any]]:
        return [
            {
                "name": group,
                "versions": [{"version": v, "groupVersion": f"{group}/{v}"} for v in versions],
                "preferredVersion": {"version": self.preferred.get(group, versions[0])},
            }
            for group, versions in self._by_group().items()
            if group
        ]

    def _aggregated(self, *, core: bool) -> dict[str, Any]:
        items = []
        for group, versions in self._by_group().items():
            if (group == "") is not core:
                continue
            preferred = self.preferred.get(group, versions[0])
            ordered = sorted(versions, key=lambda version: version != preferred)
            items.append(
                {
                    "metadata": {"name": group} if group else {},
                    "versions": [self._version(group, version) for version in ordered],
                }
            )
        return {"kind": "APIGroupDiscoveryList", "items": items}

    def _version(self, group: str, version: str) -> dict[str, Any]:
        place = f"{group}/{version}".strip("/")
        if place in self.broken:
            return {"version": version, "freshness": "Stale"}
        resources = [
            {
                "resource": entry["name"],
                "responseKind": {"group": group, "version": version, "kind": entry["kind"]},
                "scope": "Namespaced" if entry["namespaced"] else "Cluster",
                "singularResource": entry["singularName"],
                "verbs": entry["verbs"],
                "shortNames": entry["shortNames"],
                "subresources": [{"subresource": "status", "verbs": ["get"]}]
                if entry["name"] == "configmaps"
                else [],
            }
            for entry in self.versions[place]
            if "/" not in entry["name"]
        ]
        return {"version": version, "freshness": "Current", "resources": resources}


@pytest.fixture(params=["aggregated", "old"])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    return Cluster(aggregated=request.param == "aggregated")


@asynccontextmanager
async def client_of(cluster: Cluster) -> AsyncIterator[Client]:
    async with scripted(cluster) as server, server.client() as client:
        yield client


WIDGETS = Resource("example.com", "v1", "widgets", "Widget")
OLD_WIDGETS = Resource("example.com", "v1alpha1", "widgets", "Widget")


@pytest.mark.parametrize(
    "kind, api_version, expected",
    [
        ("ConfigMap", "v1", CONFIG_MAPS),
        ("ConfigMap", None, CONFIG_MAPS),
        ("Deployment", "apps/v1", DEPLOYMENTS),
        ("Widget", None, WIDGETS),
        (
            "Widget",
            "example.com/v1alpha1",
            Resource("example.com", "v1alpha1", "widgets", "Widget"),
        ),
        ("Oldie", None, Resource("example.com", "v1alpha1", "oldies", "Oldie")),
        ("Event", None, Resource("", "v1", "events", "Event")),
        ("Event", "events.k8s.io/v1", Resource("events.k8s.io", "v1", "events", "Event")),
        ("Namespace", None, Resource("", "v1", "namespaces", "Namespace", namespaced=False)),
    ],
)
async def test_a_kind_is_found_in_the_asked_or_the_preferred_version(
    cluster: Cluster, kind: str, api_version: str | None, expected: Resource
) -> None:
    async with client_of(cluster) as client:
        assert await client.discovery.find(kind, api_version) == expected


@pytest.mark.parametrize(
    "name, expected",
    [
        ("cm", CONFIG_MAPS),
        ("configmap", CONFIG_MAPS),
        ("ConfigMaps", CONFIG_MAPS),
        ("configmaps.v1", CONFIG_MAPS),
        ("deploy", DEPLOYMENTS),
        ("deployments.apps", DEPLOYMENTS),
        ("deployments.v1.apps", DEPLOYMENTS),
        ("wi", WIDGETS),
        ("widgets.v1alpha1.example.com", OLD_WIDGETS),
        ("events.events.k8s.io", Resource("events.k8s.io", "v1", "events", "Event")),
    ],
)
async def test_a_resource_is_found_by_every_name_kubectl_takes(
    cluster: Cluster, name: str, expected: Resource
) -> None:
    async with client_of(cluster) as client:
        assert await client.discovery.find_resource(name) == expected


async def test_a_kind_that_is_not_served_is_neither_found_nor_an_absent_object(
    cluster: Cluster,
) -> None:
    async with client_of(cluster) as client:
        for lookup in (
            client.discovery.find("Gadget"),
            client.discovery.find("Widget", "example.com/v2"),
            client.discovery.find_resource("gadgets"),
            client.discovery.find_resource("pods.example.com"),
        ):
            with pytest.raises(NotServed, match="cluster west") as raised:
                await lookup
            assert not isinstance(raised.value, NotFound)


async def test_what_was_found_is_remembered_and_shared(cluster: Cluster) -> None:
    async with client_of(cluster) as client:
        await asyncio.gather(*(client.discovery.find("Deployment") for _ in range(10)))
        await client.discovery.find("Widget")
        assert cluster.requests.count("/apis") == 1


async def test_a_miss_asks_again_but_not_in_a_hot_loop(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with client_of(cluster) as client:
        await client.discovery.find("Widget")
        for _ in range(5):
            with pytest.raises(NotServed):
                await client.discovery.find("Gadget")
        assert cluster.requests.count("/apis") == 1
        cluster.versions["example.com/v1"].append(listed("gadgets", "Gadget"))
        monkeypatch.setattr(module, "_REFRESH_FLOOR_SECONDS", 0.0)
        assert (await client.discovery.find("Gadget")).plural == "gadgets"
        assert cluster.requests.count("/apis") == 2


async def test_an_invalidated_cache_is_read_anew(cluster: Cluster) -> None:
    async with client_of(cluster) as client:
        await client.discovery.find("Widget")
        cluster.versions["example.com/v1"].append(listed("gadgets", "Gadget"))
        client.discovery.invalidate()
        assert (await client.discovery.find("Gadget")).plural == "gadgets"


async def test_a_group_that_cannot_be_read_is_unknown_and_hides_no_other(cluster: Cluster) -> None:
    cluster.broken = {"apps/v1"}
    async with client_of(cluster) as client:
        assert await client.discovery.find("Widget") == WIDGETS
        for lookup in (
            client.discovery.find("Deployment", "apps/v1"),
            client.discovery.find("Deployment"),
            client.discovery.find_resource("deploy"),
        ):
            with pytest.raises(Unreachable, match="unknown: apps/v1 cannot be read") as raised:
                await lookup
            assert raised.value.reason is Reason.SERVER_ERROR
        with pytest.raises(NotServed):
            await client.discovery.find("Gadget", "example.com/v1")
        assert list((await client.discovery.served()).unknown) == [("apps", "v1")]


async def test_what_was_known_of_a_group_survives_its_failure(cluster: Cluster) -> None:
    async with client_of(cluster) as client:
        await client.discovery.find("Deployment")
        cluster.broken = {"apps/v1"}
        client.discovery.invalidate()
        assert await client.discovery.find("Deployment") == DEPLOYMENTS


async def test_what_was_known_survives_an_outage(cluster: Cluster) -> None:
    async with client_of(cluster) as client:
        await client.discovery.find("Deployment")
        cluster.broken = {"everything"}
        client.discovery.invalidate()
        assert await client.discovery.find("Deployment") == DEPLOYMENTS
        with pytest.raises(Unreachable) as raised:
            await client.discovery.find("Gadget")
        assert not isinstance(raised.value, NotServed)


async def test_verbs_short_names_and_subresources_are_known(cluster: Cluster) -> None:
    async with client_of(cluster) as client:
        served = await client.discovery.served()
    found = next(one for one in served.resources if one.resource == CONFIG_MAPS)
    assert found.verbs == ("get", "list")
    assert found.short_names == ("cm",)
    assert found.singular == "configmap"
    assert found.subresources == ("status",)


async def ask(server: ScriptedServer) -> Unreachable:
    async with server.client(request_timeout=5.0) as client:
        with pytest.raises(Unreachable) as raised:
            await client.discovery.find("Deployment")
    return raised.value


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b'{"kind": "PodList"}', json.dumps({"kind": 1}).encode()]
)
async def test_anything_but_discovery_is_a_bad_answer(body: bytes) -> None:
    async with scripted(answer(body)) as server:
        error = await ask(server)
    assert error.reason is Reason.BAD_ANSWER


async def test_an_unreachable_cluster_is_unreachable() -> None:
    async with scripted(status(401, "Unauthorized")) as server:
        error = await ask(server)
    assert error.reason is Reason.UNAUTHORIZED


async def test_a_server_without_a_core_group_is_read_all_the_same() -> None:
    cluster = Cluster(aggregated=True)

    async def no_core(request: web.Request) -> web.StreamResponse:
        if request.path == "/api":
            return await answer(b"404 page not found", 404, content_type="text/plain")(request)
        return await cluster(request)

    async with scripted(no_core) as server, server.client() as client:
        assert await client.discovery.find("Deployment") == DEPLOYMENTS
