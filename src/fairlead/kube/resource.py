"""REST mappings: which group, version, plural and scope a kind lives under, and the URL path of
every object of it. Knows nothing of connections; `discovery` finds the mappings of kinds that
are not known in advance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from fairlead.errors import InvalidInput

Object = dict[str, Any]
"""A Kubernetes object as it travels: plain JSON."""

Key = tuple[str | None, str]
"""(namespace or None, name): an object of a known resource within one cluster."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind as the API serves it. `str()` is what kubectl prints: `deployments.apps`."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects: `v1` or `group/version`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(
        self,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
    ) -> str:
        """The URL path of a collection (no name) or of an object, below the server's URL.

        A namespaced resource without a namespace is the collection over all namespaces.
        """
        path = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if namespace is not None:
            if not self.namespaced:
                raise InvalidInput(
                    str(self),
                    f"{self.kind} is cluster-scoped but a namespace ({namespace}) was given",
                    "leave the namespace out",
                )
            path = f"{path}/namespaces/{_segment('namespace', namespace)}"
        elif name is not None and self.namespaced:
            raise InvalidInput(
                f"{self}/{name}", f"{self.kind} is namespaced", "say which namespace it is in"
            )
        path = f"{path}/{self.plural}"
        if name is not None:
            path = f"{path}/{_segment('name', name)}"
            if subresource is not None:
                path = f"{path}/{_segment('subresource', subresource)}"
        return path


def _segment(what: str, value: str) -> str:
    if not value or value in {".", ".."} or "/" in value or "%" in value:
        raise InvalidInput(
            f"{what} {value!r}",
            "cannot be part of a Kubernetes path",
            "use a name without '/' and '%' that is not empty, '.' or '..'",
        )
    return quote(value, safe=":")


NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
SECRETS = Resource("", "v1", "secrets", "Secret")
EVENTS = Resource("", "v1", "events", "Event")
PODS = Resource("", "v1", "pods", "Pod")
SERVICES = Resource("", "v1", "services", "Service")
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
CUSTOM_RESOURCE_DEFINITIONS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)


def key_of(obj: Object) -> Key:
    """Where an object is: its namespace (None if cluster-scoped) and name.

    Raises KeyError or TypeError for something that is no object; only trust checked answers.
    """
    metadata = obj["metadata"]
    return metadata.get("namespace"), metadata["name"]
