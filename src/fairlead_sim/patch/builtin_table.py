"""Makes `builtin_types.json` from the OpenAPI v3 documents of a kube-apiserver: for every type
only what differs from "fields are named, lists are atomic", so the table stays small. Run it
with the documents as arguments when the pinned Kubernetes release changes. Knows nothing of
patches."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any

Schema = dict[str, Any]
PREFIX = "#/components/schemas/"
# Quantities and times are scalars to everybody; raw values are any JSON.
SCALARS = ("resource.Quantity", "meta.v1.Time", "meta.v1.MicroTime", "intstr.IntOrString")
ATOMIC = ("runtime.RawExtension",)
RAW = (*ATOMIC, "v1.JSON", "v1.JSONSchemaPropsOrArray", "v1.JSONSchemaPropsOrBool")


def build_table(documents: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """{"kinds": {"group/Kind": type}, "types": {type: {field: what is special about it}}}."""
    schemas: dict[str, Schema] = {}
    for document in documents:
        schemas.update(document["components"]["schemas"])
    kinds = _kinds(schemas)
    types: dict[str, Any] = {}
    waiting = list(kinds.values())
    while waiting:
        name = waiting.pop()
        if name not in types:
            types[name] = _type(schemas[name])
            waiting += _references(types[name])
    _drop_plain(types)
    short = _short_names(types)
    return {
        "kinds": {k: short[v] for k, v in sorted(kinds.items()) if v in short},
        "types": {short[n]: _rename(types[n], short) for n in sorted(types)},
    }


def packaged_table() -> dict[str, Any]:
    """The table that comes with this package."""
    text = resources.files(__package__).joinpath("builtin_types.json").read_bytes()
    table: dict[str, Any] = json.loads(text)
    return table


def write_table(table: dict[str, Any]) -> str:
    """One line for each type, so that a new release gives a readable difference."""
    lines = (
        f"  {json.dumps(n)}: {json.dumps(t, separators=(',', ':'), sort_keys=True)}"
        for n, t in table["types"].items()
    )
    kinds = json.dumps(table["kinds"], indent=1, sort_keys=True).replace("\n", "\n ")
    return f'{{\n "kinds": {kinds},\n "types": {{\n' + ",\n".join(lines) + "\n }\n}\n"


def _kinds(schemas: dict[str, Schema]) -> dict[str, str]:
    found: dict[str, tuple[str, str]] = {}
    for name, schema in schemas.items():
        gvks = schema.get("x-kubernetes-group-version-kind", [])
        if len(gvks) != 1 or "metadata" not in schema.get("properties", {}):
            continue
        gvk = gvks[0]
        version = gvk["version"]
        if "alpha" in version or "beta" in version or gvk["kind"].endswith("List"):
            continue
        key = f"{gvk['group']}/{gvk['kind']}"
        found[key] = max(found.get(key, ("", "")), (version, name))
    return {key: name for key, (_, name) in found.items()}


def _target(schema: Schema) -> str | None:
    reference = _reference(schema)
    if reference and not reference.endswith(SCALARS + RAW):
        return reference.removeprefix(PREFIX)
    return None


def _reference(schema: Schema) -> str:
    return str(schema.get("$ref") or schema.get("allOf", [{}])[0].get("$ref", ""))


def _type(schema: Schema) -> dict[str, Any]:
    fields = {}
    required = schema.get("required", ())
    for name, member in schema.get("properties", {}).items():
        entry = _field(member)
        if name in required:
            if member.get("type") in ("array", "object"):
                entry["zero"] = None
            elif "default" in entry:
                entry["zero"] = entry.pop("default")
        if entry:
            fields[name] = entry
    if schema.get("x-kubernetes-map-type") == "atomic":
        return {"": {"atomic": True}}
    return fields


def _field(member: Schema) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    if _reference(member).endswith(ATOMIC):
        entry["atomic"] = True
    if any(_reference(s).endswith(RAW) for s in (member, member.get("items", {}))):
        entry["raw"] = True
    if (target := _target(member)) is not None:
        entry["of"] = target
    if "default" in member:
        entry["zero" if member["default"] == {} else "default"] = member["default"]
    if member.get("x-kubernetes-map-type") == "atomic":
        entry["atomic"] = True
    if "retainKeys" in member.get("x-kubernetes-patch-strategy", ""):
        entry["retain"] = True
    if member.get("type") == "array":
        entry |= _list(member)
    elif "additionalProperties" in member:
        extra = member["additionalProperties"]
        entry["map"] = _target(extra) if isinstance(extra, dict) else None
    return entry


def _list(member: Schema) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    merges = "merge" in member.get("x-kubernetes-patch-strategy", "")
    merge_key = member.get("x-kubernetes-patch-merge-key", "")
    kind = member.get("x-kubernetes-list-type")
    if kind == "map":
        entry["keys"] = member["x-kubernetes-list-map-keys"]
    elif kind == "set":
        entry["keys"] = []
    elif kind is None and merges:
        entry["keys"] = [merge_key] if merge_key else []
    if merges:
        entry["merge"] = merge_key
    target = _target(member.get("items", {}))
    if target is not None and entry:  # nobody looks into an atomic list
        entry["of"] = target
    return entry


def _references(fields: dict[str, Any]) -> list[str]:
    return [e[k] for e in fields.values() for k in ("of", "map") if e.get(k)]


def _drop_plain(types: dict[str, Any]) -> None:
    """Forget types of which nothing needs to be known, and the references to them."""
    while plain := {n for n, fields in types.items() if not fields}:
        for name in plain:
            del types[name]
        for name, fields in types.items():
            for entry in fields.values():
                if entry.get("of") in plain:
                    del entry["of"]
                if entry.get("map") in plain:
                    entry["map"] = None
            types[name] = {f: e for f, e in fields.items() if e}


def _short_names(types: dict[str, Any]) -> dict[str, str]:
    """io.k8s.api.core.v1.PodSpec -> PodSpec, or core.v1.PodSpec where that is taken."""
    plain = [n.rsplit(".", 1)[1] for n in types]
    return {
        n: p if plain.count(p) == 1 else ".".join(n.rsplit(".", 3)[1:])
        for n, p in zip(types, plain, strict=True)
    }


def _rename(fields: dict[str, Any], short: dict[str, str]) -> dict[str, Any]:
    return {
        name: {k: short[v] if k in ("of", "map") and v else v for k, v in entry.items()}
        for name, entry in fields.items()
    }


if __name__ == "__main__":
    sys.stdout.write(
        write_table(build_table(json.loads(Path(name).read_bytes()) for name in sys.argv[1:]))
    )
