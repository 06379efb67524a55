"""The clusters the contract is checked on, seen the same way whatever they are made of."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgspec
import yaml

from fairlead.errors import Unreachable
from fairlead.kube import (
    CUSTOM_RESOURCE_DEFINITIONS,
    Access,
    Client,
    Object,
    Presented,
    Resource,
    parse_kubeconfig,
)
from fairlead.kube.call import Answer, Call
from fairlead.kube.credentials import StaticCredentials
from fairlead.kube.transport import Transport

T = TypeVar("T")
DEADLINE_SECONDS = 40.0


@dataclass(frozen=True)
class Target:
    """A cluster under contract: how its administrator gets in, and a token with no rights."""

    name: str
    kubeconfig: Object
    nobody: str

    @property
    def access(self) -> Access:
        text = yaml.safe_dump(self.kubeconfig)
        return parse_kubeconfig(text, f"kubeconfig of {self.name}").access()

    def client(self, token: str | None = None) -> Client:
        """As the administrator, or with another token ("" for none)."""
        access = self.access
        if token is not None:
            presented = Presented(f"Bearer {token}" if token else None)
            access = replace(access, credentials=StaticCredentials(presented))
        return Client(access, name=self.name)


@dataclass(frozen=True)
class Raw:
    """Requests without the client's judgement: the code, the headers and the body as they come."""

    transport: Transport

    async def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> Answer:
        call = Call(method, path, accept=accept)
        if body is not None:
            call.body = body if isinstance(body, bytes) else msgspec.json.encode(body)
            call.content_type = content_type
        async with asyncio.timeout(30):
            return await self.transport.exchange(call)


def unique(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex[:10]}"


async def eventually(
    look: Callable[[], Awaitable[T]],
    accept: Callable[[T], bool] = bool,
    *,
    seconds: float = DEADLINE_SECONDS,
) -> T:
    """What `look` gives once it is acceptable; controllers need a moment."""
    async with asyncio.timeout(seconds):
        while True:
            seen = await look()
            if accept(seen):
                return seen
            await asyncio.sleep(0.05)


def config_map(name: str, **data: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": data,
    }


@dataclass(frozen=True)
class Widgets:
    """A custom resource of its own for one test, served and with a status subresource."""

    resource: Resource
    client: Client
    namespace: str

    def new(self, name: str, /, **spec: Any) -> Object:
        return {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": {"name": name},
            "spec": spec,
        }

    async def create(self, name: str, /, **spec: Any) -> Object:
        return await self.client.create(self.resource, self.new(name, **spec), self.namespace)


def widget_definition(group: str, **version: Any) -> Object:
    """A CRD whose schema has what Fairlead's own have: defaults, rules, columns, short names."""
    spec = {
        "type": "object",
        "required": ["size"],
        "x-kubernetes-validations": [
            {
                "rule": "!has(self.max) || self.size <= self.max",
                "message": "size must not exceed max",
            },
        ],
        "properties": {
            "size": {"type": "integer", "minimum": 1, "maximum": 100},
            "max": {"type": "integer"},
            "colour": {"type": "string", "enum": ["red", "green", "blue"], "default": "blue"},
            "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 10},
            "frozen": {
                "type": "string",
                "x-kubernetes-validations": [
                    {"rule": "self == oldSelf", "message": "frozen is immutable"}
                ],
            },
            "parts": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["id"],
                "items": {
                    "type": "object",
                    "required": ["id"],
                    "properties": {
                        "id": {"type": "string"},
                        "weight": {"type": "integer", "default": 1},
                    },
                },
            },
            "tags": {
                "type": "array",
                "x-kubernetes-list-type": "set",
                "items": {"type": "string"},
            },
            "order": {"type": "array", "items": {"type": "string"}},
            "options": {"type": "object", "additionalProperties": {"type": "string"}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    status = {
        "type": "object",
        "properties": {
            "phase": {"type": "string"},
            "conditions": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": {
                    "type": "object",
                    "required": ["type"],
                    "properties": {"type": {"type": "string"}, "status": {"type": "string"}},
                },
            },
        },
    }
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Phase", "type": "string", "jsonPath": ".status.phase", "priority": 1},
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {
                "plural": "widgets",
                "singular": "widget",
                "kind": "Widget",
                "listKind": "WidgetList",
                "shortNames": ["wi"],
                "categories": ["contract"],
            },
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": columns,
                }
                | version
            ],
        },
    }


def condition(obj: Object, kind: str) -> str | None:
    """The status of one of an object's conditions."""
    conditions = obj.get("status", {}).get("conditions") or []
    return next((one["status"] for one in conditions if one["type"] == kind), None)


async def serve(client: Client, definition: Object) -> Resource:
    """Create a CRD and wait until its resource can be used."""
    created = await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
    name = created["metadata"]["name"]

    async def look() -> Object:
        return await client.get(CUSTOM_RESOURCE_DEFINITIONS, name)

    await eventually(look, lambda found: condition(found, "Established") == "True")
    spec = definition["spec"]
    resource = Resource(
        spec["group"],
        spec["versions"][0]["name"],
        spec["names"]["plural"],
        spec["names"]["kind"],
        spec["scope"] == "Namespaced",
    )

    async def answers() -> bool:
        # Established comes shortly before the handler is in place everywhere.
        return (await _code(client, resource)) == 200

    await eventually(answers)
    return resource


async def _code(client: Client, resource: Resource) -> int:
    try:
        return (await client.request("GET", resource.path())).code
    except Unreachable:
        return 0
