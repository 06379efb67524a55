"""CustomResourceDefinitions from Structs: names, scope, columns and subresources around the
schema, and their YAML. Deterministic, so that the checked-in files can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import yaml

from fairlead.api.schema import Schema, struct_schema


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`; priority 1 shows only with `-o wide`."""

    name: str
    json_path: str
    type: Literal["string", "integer", "number", "boolean", "date"] = "string"
    description: str = ""
    priority: int = 0


AGE = Column("Age", ".metadata.creationTimestamp", "date")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind we own: everything its CRD says besides the fields of its Struct.

    `struct` has the fields `api_version`, `kind`, `metadata` and usually `spec` and `status`.
    """

    struct: type[msgspec.Struct]
    group: str
    version: str
    plural: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ("fairlead",)
    columns: tuple[Column, ...] = (AGE,)

    @property
    def kind(self) -> str:
        return self.struct.__name__

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    @property
    def crd_name(self) -> str:
        return f"{self.plural}.{self.group}"

    @property
    def file_name(self) -> str:
        return f"{self.group}_{self.plural}.yaml"


def crd(kind: Kind) -> dict[str, Any]:
    """The CustomResourceDefinition of a kind, as the API server takes it."""
    schema = _object_schema(kind)
    version: dict[str, Any] = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    if "status" in schema["properties"]:
        version["subresources"] = {"status": {}}
    if kind.columns:
        version["additionalPrinterColumns"] = [_column(column) for column in kind.columns]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.crd_name},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": _names(kind),
            "versions": [version],
        },
    }


def to_yaml(definition: dict[str, Any]) -> str:
    """The text of one document, the same for the same definition."""
    text: str = yaml.safe_dump(definition, sort_keys=False, width=100, allow_unicode=True)
    return text


def _object_schema(kind: Kind) -> Schema:
    schema = struct_schema(kind.struct)
    # The API server owns these three and refuses a schema of metadata beyond its name.
    schema["properties"] |= {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
    }
    return schema


def _names(kind: Kind) -> dict[str, Any]:
    names: dict[str, Any] = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.kind.lower(),
    }
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)
    if kind.categories:
        names["categories"] = list(kind.categories)
    return names


def _column(column: Column) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "name": column.name,
        "type": column.type,
        "jsonPath": column.json_path,
    }
    if column.description:
        fields["description"] = column.description
    if column.priority:
        fields["priority"] = column.priority
    return fields
