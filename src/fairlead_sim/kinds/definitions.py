"""What a custom resource definition must be and which kinds it makes. Pure: the controller that
acts on stored definitions is elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead_sim.kinds.builtin_rules.field_errors import Errors, invalid, required
from fairlead_sim.kinds.catalogue import Column, Custom, Kind, Object, ScalePaths
from fairlead_sim.objects.metadata import is_label, is_subdomain
from fairlead_sim.schema import CompiledSchema, FieldError, check_structural

_COLUMN_TEXT = "Custom resource definition column (in JSONPath format): "


def stored_versions(spec: Object, before: Object | None) -> Object:
    """The status of a definition after a write to its spec."""
    status: Object = before or {"acceptedNames": {"plural": "", "kind": ""}, "conditions": None}
    stored = list(status.get("storedVersions") or ())
    for version in spec["versions"]:
        if version.get("storage") and version["name"] not in stored:
            stored.append(version["name"])
    return {**status, "storedVersions": stored}


def fill_in(spec: Object) -> None:
    names = spec.setdefault("names", {})
    if names.get("kind"):
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", f"{names['kind']}List")
    spec.setdefault("conversion", {"strategy": "None"})


def problems(obj: Object, spec: Object, old: Object | None) -> Errors:
    group, names = spec.get("group") or "", spec["names"]
    errors = [required(f"spec.{each}") for each in ("group", "scope") if not spec.get(each)]
    errors += [required(f"spec.names.{each}") for each in ("plural", "kind") if not names.get(each)]
    if errors:
        return errors
    name = obj["metadata"]["name"]
    if name != f"{names['plural']}.{group}":
        why = 'must be spec.names.plural+"."+spec.group'
        errors.append(invalid("metadata.name", f'"{name}"', why))
    if not is_subdomain(group) or "." not in group:
        why = "should be a domain with at least one dot"
        errors.append(invalid("spec.group", f'"{group}"', why))
    if not is_label(names["plural"]):
        errors.append(invalid("spec.names.plural", f'"{names["plural"]}"', "must be a DNS label"))
    if spec["scope"] not in ("Namespaced", "Cluster"):
        message = f'Unsupported value: "{spec["scope"]}": supported values: "Cluster", "Namespaced"'
        errors.append(FieldError("spec.scope", "FieldValueNotSupported", message))
    before = (old or {}).get("spec") or spec
    errors += [
        invalid(f"spec.{each}", f'"{spec[each]}"', "field is immutable")
        for each in ("group", "scope")
        if before.get(each) != spec[each]
    ]
    return errors + _version_errors(spec)


def _version_errors(spec: Object) -> Errors:
    versions = spec.get("versions") or []
    errors: Errors = []
    if sum(1 for each in versions if each.get("storage")) != 1:
        why = "must have exactly one version marked as storage version"
        errors.append(invalid("spec.versions", "[]", why))
    if len({each.get("name") for each in versions}) != len(versions):
        why = "must contain unique version names"
        errors.append(invalid("spec.versions", "[]", why))
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        if not is_label(version.get("name") or ""):
            errors.append(
                invalid(f"{path}.name", f'"{version.get("name")}"', "must be a DNS label")
            )
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        place = f"{path}.schema.openAPIV3Schema"
        if schema is None:
            errors.append(required(place))
            continue
        if spec.get("preserveUnknownFields"):
            why = "must be false in order to use defaults in the schema"
            errors.append(invalid("spec.preserveUnknownFields", "true", why))
        errors += check_structural(schema, place)
        status = (version.get("subresources") or {}).get("scale")
        if status is not None:
            errors += [
                required(f"{path}.subresources.scale.{each}")
                for each in ("specReplicasPath", "statusReplicasPath")
                if not status.get(each)
            ]
    return errors


def kinds_of(definition: Object) -> Iterator[Kind]:
    """One kind for each served version of an established definition."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    if not any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
        return
    spec = definition["spec"]
    for version in spec["versions"]:
        if version.get("served"):
            yield _kind(definition["metadata"]["name"], spec, version)


def _kind(definition: str, spec: Object, version: Object) -> Kind:
    names = spec["names"]
    subresources = version.get("subresources") or {}
    schema = version["schema"]["openAPIV3Schema"]
    deprecation = None
    if version.get("deprecated"):
        deprecation = version.get("deprecationWarning") or (
            f"{spec['group']}/{version['name']} {names['kind']} is deprecated"
        )
    return Kind(
        spec["group"],
        version["name"],
        names["kind"],
        names["plural"],
        namespaced=spec["scope"] == "Namespaced",
        singular=names["singular"],
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(each for each in ("scale", "status") if each in subresources),
        unconditional_update=False,
        tracks_generation=True,
        scale=_scale(subresources.get("scale")),
        list_kind=names["listKind"],
        custom=Custom(
            definition,
            CompiledSchema(schema),
            schema,
            tuple(_columns(version)),
            bool(version.get("storage")),
            deprecation,
        ),
    )


def _scale(scale: Object | None) -> ScalePaths | None:
    if scale is None:
        return None
    selector = scale.get("labelSelectorPath")
    return ScalePaths(
        scale["specReplicasPath"].lstrip("."),
        scale["statusReplicasPath"].lstrip("."),
        selector.lstrip(".") if selector else None,
    )


def _columns(version: dict[str, Any]) -> Iterator[Column]:
    columns = version.get("additionalPrinterColumns")
    if not columns:
        columns = [{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]
    for column in columns:
        yield Column(
            column["name"],
            column.get("type", "string"),
            column.get("priority", 0),
            column.get("format", ""),
            column.get("description") or _COLUMN_TEXT + column.get("jsonPath", ""),
            column.get("jsonPath", ""),
        )
