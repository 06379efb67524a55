"""What form of answer a client wants, and how its body is to be read. Knows nothing of what is in
either."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import msgspec

from fairlead import yamltext
from fairlead.errors import InvalidInput
from fairlead_sim import answers
from fairlead_sim.kinds.builtin_types import ProtobufError, decode_object

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
_ACCEPTED = (JSON, YAML, PROTOBUF)
# Answered as JSON: every client that prefers one of these also reads JSON.
_ANSWERED_AS_JSON = (
    PROTOBUF,
    "application/cbor",
    "application/json",
    "application/*",
    "*/*",
)


@dataclass(frozen=True, slots=True)
class Form:
    """The form of an answer: `kind` is empty, Table, PartialObjectMetadata(List) or a discovery
    list; `version` belongs to it."""

    media_type: str = JSON
    kind: str = ""
    version: str = "v1"
    group: str = ""


_PLAIN = Form()
_KINDS = {
    "Table": ("meta.k8s.io", ("v1", "v1beta1")),
    "PartialObjectMetadata": ("meta.k8s.io", ("v1", "v1beta1")),
    "PartialObjectMetadataList": ("meta.k8s.io", ("v1", "v1beta1")),
    "APIGroupDiscoveryList": ("apidiscovery.k8s.io", ("v2",)),
}


def wanted_form(accept: str) -> Form:
    """The first clause of an Accept header that can be satisfied."""
    if not accept or accept in ("*/*", JSON):
        return _PLAIN
    for clause in accept.split(","):
        if form := _clause(clause):
            return form
    raise answers.not_acceptable(_ACCEPTED)


def _clause(clause: str) -> Form | None:
    media_type, *parameters = (part.strip() for part in clause.split(";"))
    values = dict(part.split("=", 1) for part in parameters if "=" in part)
    if kind := values.get("as"):
        group, versions = _KINDS.get(kind, ("", ()))
        fits = media_type == JSON and values.get("g") == group and values.get("v") in versions
        return Form(JSON, kind, values["v"], group) if fits else None
    if media_type in ("application/yaml", "text/yaml"):
        return Form(YAML)
    return _PLAIN if media_type in _ANSWERED_AS_JSON else None


def read_body(
    raw: bytes, content_type: str, wanted: str, *, strict: bool = False, builtin: bool = True
) -> Any:
    """A JSON or YAML body as plain data, protobuf for built-in kinds; else a 400 or a 415.
    `wanted` is what should be in it, for the sentence."""
    media_type = content_type.partition(";")[0].strip()
    unreadable = f"the object provided is unrecognized (must be of type {wanted}): "
    if media_type == PROTOBUF and builtin:
        try:
            return decode_object(raw)
        except ProtobufError as error:
            raise answers.bad_request(f"{unreadable}{error}") from error
    if media_type == "application/apply-patch+yaml":
        return _yaml(raw, "error decoding YAML: ")
    if media_type in (YAML, "text/yaml"):
        return _yaml(raw, unreadable)
    if media_type not in ("", JSON, "application/octet-stream"):
        accepted = (JSON, YAML, PROTOBUF) if builtin else (JSON, YAML)
        raise answers.unsupported_media_type(media_type, accepted)
    if strict:
        _refuse_duplicates(raw, wanted)
    return _json(raw, f"{unreadable}couldn't get version/kind; json parse error: ")


def read_patch(raw: bytes) -> Any:
    return _json(raw, "error decoding patch: ")


def _json(raw: bytes, problem: str) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise answers.bad_request(f"{problem}{error}") from error


def _yaml(raw: bytes, problem: str) -> Any:
    try:
        return yamltext.parse(raw, "body").data
    except InvalidInput as error:
        raise answers.bad_request(f"{problem}{error}") from error


def _refuse_duplicates(raw: bytes, wanted: str) -> None:
    duplicates: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in items:
            if name in found:
                duplicates.append(name)
            found[name] = value
        return found

    try:
        json.loads(raw, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return  # malformed: the decoder proper words that refusal
    if duplicates:
        listed = ", ".join(f'duplicate field "{name}"' for name in duplicates)
        raise answers.bad_request(f"{wanted} cannot be handled: strict decoding error: {listed}")
