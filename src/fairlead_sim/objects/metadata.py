"""The rules for `metadata` that hold for every kind: types, names, labels, finalizers, and the
fields that only the server sets. Knows nothing of storage or of any one kind's spec."""

from __future__ import annotations

import re
import secrets
import uuid
from datetime import UTC, datetime
from typing import Any

import msgspec

from fairlead_sim.answers import Refusal, bad_request
from fairlead_sim.kinds.catalogue import Kind, Object
from fairlead_sim.schema import FieldError

SYSTEM_FIELDS = (
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_FINALIZERS = (
    "foregroundDeletion",
    "kubernetes",
    "orphan",
    "customresourcecleanup.apiextensions.k8s.io",
)
_GENERATED = "bcdfghjklmnpqrstvwxz2456789"
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_VALUE = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_is_label = re.compile(rf"{_LABEL}\Z").match
_is_subdomain = re.compile(rf"{_SUBDOMAIN}\Z").match
_is_label_value = re.compile(rf"{_LABEL_VALUE}\Z").match
_is_qualified = re.compile(rf"{_QUALIFIED}\Z").match

SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    rf"for validation is '{_SUBDOMAIN}')"
)
LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "
    f"used for validation is '{_LABEL}')"
)
_LABEL_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    f"or '12345', regex used for validation is '{_LABEL_VALUE}')"
)
_QUALIFIED_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    f"validation is '{_QUALIFIED}')"
)


class _OwnerReference(msgspec.Struct):
    apiVersion: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    blockOwnerDeletion: bool | None = None


class ObjectMeta(msgspec.Struct):
    """Only for its types: decoding into it tells what does not fit."""

    name: str | None = None
    generateName: str | None = None
    namespace: str | None = None
    selfLink: str | None = None
    uid: str | None = None
    resourceVersion: str | None = None
    generation: int | None = None
    creationTimestamp: str | None = None
    deletionTimestamp: str | None = None
    deletionGracePeriodSeconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    ownerReferences: list[_OwnerReference] | None = None
    finalizers: list[str] | None = None
    managedFields: list[dict[str, Any]] | None = None


_KNOWN = frozenset(ObjectMeta.__struct_fields__)


def timestamp(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def new_uid() -> str:
    return str(uuid.uuid4())


def generated_name(prefix: str) -> str:
    suffix = "".join(secrets.choice(_GENERATED) for _ in range(5))
    return prefix[: 63 - 5] + suffix


def check_types(kind: Kind, obj: Object) -> list[str]:
    """`metadata` in place and of the right types, cleaned of what nobody knows. Answers the
    unknown fields that were dropped."""
    metadata = obj.get("metadata")
    if metadata is None:
        metadata = {}
    try:
        msgspec.convert(metadata, ObjectMeta)
    except msgspec.ValidationError as error:
        raise wrong_type(kind, _unmarshal(str(error))) from error
    unknown = sorted(f"metadata.{name}" for name in metadata if name not in _KNOWN)
    obj["metadata"] = {
        name: value
        for name, value in metadata.items()
        if name in _KNOWN
        and name != "selfLink"
        # Go leaves empty values out; only an empty managedFields says something.
        and (value or name == "managedFields")
    }
    return unknown


_WRONG = re.compile(r"Expected `(\w+)(?: \| null)?`, got `(\w+)`(?: - at `\$(.*)`)?")
_GO = {"str": "string", "int": "int64", "bool": "bool", "object": "map[string]string"}
_JSON = {"int": "number", "float": "number", "str": "string", "bool": "bool"}


def _unmarshal(problem: str) -> str:
    """msgspec's complaint in the words of Go's decoder."""
    found = _WRONG.match(problem)
    if not found:
        return f"json: cannot unmarshal metadata: {problem}"
    place = re.sub(r"\[.*?\]", "", found[3] or "")
    wanted, given = _GO.get(found[1], found[1]), _JSON.get(found[2], found[2])
    field = f"ObjectMeta.metadata{place}"
    return f"json: cannot unmarshal {given} into Go struct field {field} of type {wanted}"


def wrong_type(kind: Kind, why: str) -> Refusal:
    return bad_request(
        f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {why}'
    )


def validate(kind: Kind, metadata: Object) -> list[FieldError]:
    """Everything wrong with names, labels, annotations, finalizers and owners."""
    errors = _name_errors(kind, metadata.get("name", ""))
    for field in ("labels", "annotations"):
        for key in metadata.get(field) or ():
            if problem := _qualified_problem(key):
                errors.append(_invalid(f"metadata.{field}", key, problem))
    errors += _label_errors(metadata.get("labels") or {})
    annotations = metadata.get("annotations") or {}
    if sum(len(key) + len(value) for key, value in annotations.items()) > 256 * 1024:
        message = "Too long: may not be more than 262144 bytes"
        errors.append(FieldError("metadata.annotations", "FieldValueTooLong", message))
    errors += _finalizer_errors(kind, metadata.get("finalizers") or [])
    return errors + _owner_errors(metadata.get("ownerReferences") or [])


def _label_errors(labels: dict[str, str]) -> list[FieldError]:
    errors = []
    for value in labels.values():
        if len(value) > 63:
            errors.append(_invalid("metadata.labels", value, "must be no more than 63 bytes"))
        elif not _is_label_value(value):
            errors.append(_invalid("metadata.labels", value, _LABEL_VALUE_RULE))
    return errors


def _finalizer_errors(kind: Kind, finalizers: list[str]) -> list[FieldError]:
    errors = []
    for index, finalizer in enumerate(finalizers):
        if problem := _qualified_problem(finalizer):
            errors.append(_invalid("metadata.finalizers", finalizer, problem))
        elif not kind.custom and "/" not in finalizer and finalizer not in _FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            errors.append(_invalid(f"metadata.finalizers[{index}]", finalizer, why))
    return errors


def _invalid(field: str, value: str, why: str) -> FieldError:
    return FieldError(field, "FieldValueInvalid", f'Invalid value: "{value}": {why}')


def _name_errors(kind: Kind, name: str) -> list[FieldError]:
    field = "metadata.name"
    if not name:
        message = "Required value: name or generateName is required"
        return [FieldError(field, "FieldValueRequired", message)]
    if kind.group == "rbac.authorization.k8s.io":
        if name in (".", ".."):
            return [_invalid(field, name, f"may not be '{name}'")]
        bad = next((each for each in "/%" if each in name), None)
        return [_invalid(field, name, f"may not contain '{bad}'")] if bad else []
    if kind.kind in ("Namespace", "Service") and not kind.group:
        if len(name) > 63:
            return [_invalid(field, name, "must be no more than 63 bytes")]
        return [] if _is_label(name) else [_invalid(field, name, LABEL_RULE)]
    if len(name) > 253:
        return [_invalid(field, name, "must be no more than 253 bytes")]
    return [] if _is_subdomain(name) else [_invalid(field, name, SUBDOMAIN_RULE)]


def is_label(text: str) -> bool:
    return bool(_is_label(text)) and len(text) <= 63


def is_subdomain(text: str) -> bool:
    return bool(_is_subdomain(text)) and len(text) <= 253


def _qualified_problem(key: str) -> str:
    prefix, slash, name = key.rpartition("/")
    if slash and not _is_subdomain(prefix):
        return "prefix part " + (SUBDOMAIN_RULE if prefix else "must be non-empty")
    if not name:
        return "name part must be non-empty"
    if len(name) > 63:
        return "name part must be no more than 63 bytes"
    return "" if _is_qualified(name) else _QUALIFIED_RULE


def finalizer_warnings(kind: Kind, metadata: Object) -> list[str]:
    """Custom objects may have any finalizer, but are told to be careful."""
    if not kind.custom:
        return []
    return [
        f'metadata.finalizers: "{finalizer}": prefer a domain-qualified finalizer name to avoid '
        "accidental conflicts with other finalizer writers"
        for finalizer in metadata.get("finalizers") or ()
        if "/" not in finalizer and finalizer not in _FINALIZERS
    ]


def _owner_errors(references: list[Object]) -> list[FieldError]:
    errors = []
    for reference in references:
        for field in ("apiVersion", "kind", "name", "uid"):
            if not reference.get(field):
                what = "version must" if field == "apiVersion" else "must"
                place = f"metadata.ownerReferences.{field}"
                errors.append(_invalid(place, "", f"{what} not be empty"))
    if sum(1 for reference in references if reference.get("controller")) > 1:
        message = "Invalid value: Only one reference can have Controller set to true"
        errors.append(FieldError("metadata.ownerReferences", "FieldValueInvalid", message))
    return errors


def new_uid_errors(old: Object, new: Object) -> list[FieldError]:
    if new.get("uid", old["uid"]) == old["uid"]:
        return []
    return [_invalid("metadata.uid", new["uid"], "field is immutable")]


def new_finalizer_errors(old: Object, new: Object) -> list[FieldError]:
    """An object that is being deleted may lose finalizers but not gain any."""
    if not old.get("deletionTimestamp"):
        return []
    before = old.get("finalizers") or []
    added = [each for each in new.get("finalizers") or () if each not in before]
    if not added:
        return []
    listed = ", ".join(f'"{each}"' for each in added)
    message = (
        "Forbidden: no new finalizers can be added if the object is being deleted, found new "
        f"finalizers []string{{{listed}}}"
    )
    return [FieldError("metadata.finalizers", "FieldValueForbidden", message)]
