"""A read from a cluster as a value: found, absent, or unknown with the reason. Only the API
server's own word makes something absent."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairlead.errors import NotFound, Transient
from fairlead.kube.client import Client
from fairlead.kube.resource import Object, Resource


@dataclass(frozen=True, slots=True)
class Found:
    """The cluster has it, and this is what it looks like."""

    object: Object = field(repr=False)


@dataclass(frozen=True, slots=True)
class Absent:
    """The cluster's API server says that it does not exist."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody with authority answered; `error` says why (mostly an `Unreachable`)."""

    error: Transient


Reading = Found | Absent | Unknown


async def read(
    client: Client, resource: Resource, name: str, namespace: str | None = None
) -> Reading:
    """What the cluster says about one object, faults included."""
    try:
        return Found(await client.get(resource, name, namespace))
    except NotFound:
        return Absent()
    except Transient as error:
        return Unknown(error)
