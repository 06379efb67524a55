"""A request taken apart and an answer put together, as plain values between HTTP and the verbs; and
what the query of a write says. Knows nothing of storage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairlead_sim import answers
from fairlead_sim.authorization import User
from fairlead_sim.kinds.catalogue import Kind, Object
from fairlead_sim.objects.storage import Key
from fairlead_sim.schema import FieldError
from fairlead_sim.serving.negotiation import Form, read_body
from fairlead_sim.serving.received import WriteOptions
from fairlead_sim.serving.routes import Target

_OPTIONS = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}


@dataclass(slots=True)
class Call:
    """One request."""

    method: str
    verb: str
    target: Target
    query: Mapping[str, str]
    user: User
    form: Form
    user_agent: str = ""
    content_type: str = ""
    body: bytes = field(default=b"", repr=False)
    warnings: list[str] = field(default_factory=list)

    @property
    def key(self) -> Key:
        return (self.target.in_namespace, self.target.name)

    @property
    def media_type(self) -> str:
        return self.content_type.partition(";")[0].strip()

    def options_refused(self, field: str, reason: str, message: str) -> answers.Refusal:
        name = _OPTIONS.get(self.verb, "DeleteOptions")
        error = FieldError(field, reason, message)
        return answers.invalid_options(f"{name}.meta.k8s.io", [error])


@dataclass(frozen=True, slots=True)
class Answer:
    """A success."""

    body: bytes
    code: int = 200


def read_object(call: Call, kind: Kind | None = None) -> Object:
    """The body as an object; protobuf only where the kind is built in."""
    strict = call.query.get("fieldValidation") == "Strict"
    builtin = kind is None or kind.custom is None
    name = kind.kind if kind else call.target.resource
    body = read_body(call.body, call.content_type, name, strict=strict, builtin=builtin)
    if not isinstance(body, dict):
        raise answers.bad_request(
            f"the object provided is unrecognized (must be of type {name}): it is not an object"
        )
    return body


def write_options(call: Call, dry_run: list[str] | None = None) -> WriteOptions:
    """Field manager, dry run and field validation; what cannot be used is a 422."""
    query = call.query
    manager = query.get("fieldManager") or call.user_agent.split("/")[0] or "unknown"
    if len(query.get("fieldManager", "")) > 128:
        message = "Too long: may not be more than 128 bytes"
        raise call.options_refused("fieldManager", "FieldValueTooLong", message)
    dry = dry_run or ([query["dryRun"]] if query.get("dryRun") else [])
    if any(each != "All" for each in dry):
        listed = ", ".join(f'"{each}"' for each in dry)
        message = f'Unsupported value: [{listed}]: supported values: "All"'
        raise call.options_refused("dryRun", "FieldValueNotSupported", message)
    validation = query.get("fieldValidation") or "Warn"
    if validation not in ("Ignore", "Warn", "Strict"):
        supported = 'supported values: "", "Ignore", "Strict", "Warn"'
        message = f'Unsupported value: "{validation}": {supported}'
        raise call.options_refused("fieldValidation", "FieldValueNotSupported", message)
    force = query.get("force", "") in ("true", "1")
    return WriteOptions(call.user, manager[:128], bool(dry), validation, force, call.warnings)
