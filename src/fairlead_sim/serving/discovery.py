"""Discovery documents, legacy and aggregated, from the catalogue. Knows nothing of HTTP."""

from __future__ import annotations

import base64
import hashlib

from fairlead_sim.kinds.catalogue import Catalogue, Kind, Object

_SUBRESOURCE_VERBS = {
    "finalize": ["update"],
    "token": ["create"],
    "eviction": ["create"],
    "binding": ["create"],
}
_SUBRESOURCE_KINDS = {
    "scale": ("autoscaling", "v1", "Scale"),
    "token": ("authentication.k8s.io", "v1", "TokenRequest"),
    "eviction": ("policy", "v1", "Eviction"),
    "binding": ("", "v1", "Binding"),
}


def core_versions(address: str) -> Object:
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def group_list(catalogue: Catalogue) -> Object:
    groups = [_group(catalogue, group) for group in catalogue.groups()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(catalogue: Catalogue, name: str) -> Object | None:
    if name not in catalogue.groups():
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(catalogue, name)}


def _group(catalogue: Catalogue, name: str) -> Object:
    versions = [
        {"groupVersion": f"{name}/{version}", "version": version}
        for version in catalogue.versions(name)
    ]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def resource_list(catalogue: Catalogue, group: str, version: str) -> Object | None:
    kinds = catalogue.in_version(group, version)
    if kinds is None:
        return None
    resources: list[Object] = []
    for kind in sorted(kinds.values(), key=lambda each: each.plural):
        resources.append(_resource(kind))
        resources += [_subresource(kind, name) for name in kind.subresources]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": resources,
    }


def _resource(kind: Kind) -> Object:
    made: Object = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        made["shortNames"] = list(kind.short_names)
    if kind.categories:
        made["categories"] = list(kind.categories)
    if "list" in kind.verbs:
        digest = hashlib.sha256("/".join((*kind.storage, kind.kind)).encode()).digest()
        made["storageVersionHash"] = base64.b64encode(digest[:8]).decode()
    return made


def _subresource(kind: Kind, name: str) -> Object:
    made: Object = {
        "name": f"{kind.plural}/{name}",
        "singularName": "",
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": _SUBRESOURCE_VERBS.get(name, ["get", "patch", "update"]),
    }
    if name in _SUBRESOURCE_KINDS:
        group, version, made["kind"] = _SUBRESOURCE_KINDS[name]
        made |= {"group": group, "version": version} if group else {"version": version}
    return made


def aggregated(catalogue: Catalogue, *, core: bool, version: str) -> Object:
    """`/api` (core) or `/apis` (the rest) in one document."""
    groups = [""] if core else catalogue.groups()
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": [_aggregated_group(catalogue, name) for name in groups],
    }


def _aggregated_group(catalogue: Catalogue, name: str) -> Object:
    versions = []
    for version in catalogue.versions(name):
        kinds = catalogue.in_version(name, version) or {}
        ordered = sorted(kinds.values(), key=lambda each: each.plural)
        resources = [_aggregated_resource(kind) for kind in ordered]
        versions.append({"version": version, "resources": resources, "freshness": "Current"})
    return {"metadata": {"name": name, "creationTimestamp": None}, "versions": versions}


def _aggregated_resource(kind: Kind) -> Object:
    made: Object = {
        "resource": kind.plural,
        "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        made["shortNames"] = list(kind.short_names)
    if kind.categories:
        made["categories"] = list(kind.categories)
    if kind.subresources:
        made["subresources"] = [_aggregated_subresource(kind, name) for name in kind.subresources]
    return made


def _aggregated_subresource(kind: Kind, name: str) -> Object:
    group, version, answer = _SUBRESOURCE_KINDS.get(name, (kind.group, kind.version, kind.kind))
    return {
        "subresource": name,
        "responseKind": {"group": group, "version": version, "kind": answer},
        "verbs": _SUBRESOURCE_VERBS.get(name, ["get", "patch", "update"]),
    }
