"""What a request is about: the path and query of kube-apiserver's URLs, taken apart the way its
RequestInfo does. Knows nothing of what is served or allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_NAMESPACE_SUBRESOURCES = ("status", "finalize")
_TRUE = ("true", "1", "True", "TRUE", "t", "T")


@dataclass(frozen=True, slots=True)
class Target:
    """A resource that a path names, or (without a resource) just the path."""

    path: str
    group: str = ""
    version: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def in_namespace(self) -> str:
        """The namespace objects are in; namespaces themselves are in none."""
        return "" if self.resource == "namespaces" and not self.group else self.namespace


def parse_path(path: str) -> Target:
    """A Target without resource for paths such as `/version` and for discovery."""
    parts = [part for part in path.split("/") if part]
    if len(parts) >= 3 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return Target(path)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
            rest = rest[2:]
    resource, name, *subresource = [*rest, ""][: len(rest) if len(rest) > 1 else 2]
    return Target(path, group, version, resource, namespace, name, "/".join(subresource))


def is_true(query: Mapping[str, str], name: str) -> bool:
    return query.get(name, "") in _TRUE


def verb_of(method: str, target: Target, query: Mapping[str, str]) -> str:
    """The verb that authorization rules name."""
    if not target.resource:
        return method.lower()
    collection = not target.name
    match method:
        case "GET" | "HEAD":
            if is_true(query, "watch"):
                return "watch"
            return "list" if collection else "get"
        case "POST":
            return "create"
        case "PUT":
            return "update"
        case "PATCH":
            return "patch"
        case "DELETE":
            return "deletecollection" if collection else "delete"
    return method.lower()
