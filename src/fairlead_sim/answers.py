"""The refusals of the simulated API server as `Status` objects, worded as kube-apiserver words
them. Knows nothing of HTTP frameworks, storage or who asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fairlead_sim.kinds.catalogue import Kind
from fairlead_sim.schema import FieldError, invalid_sentence


class Refusal(Exception):
    """An answer that is a failure: everything a `Status` carries."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = None if details is None else dict(details)
        self.headers = dict(headers or {})
        self.list_metadata: dict[str, Any] = {}

    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.list_metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status

    def encoded(self) -> bytes:
        return msgspec.json.encode(self.status())


class PlainRefusal(Exception):
    """A failure that kube-apiserver words as plain text, such as `404 page not found`."""

    def __init__(self, code: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.headers = dict(headers or {})


def page_not_found() -> PlainRefusal:
    return PlainRefusal(404, "404 page not found\n")


def _about(kind: Kind, name: str = "") -> dict[str, Any]:
    details: dict[str, Any] = {}
    if name:
        details["name"] = name
    if kind.group:
        details["group"] = kind.group
    details["kind"] = kind.plural
    return details


def not_found(kind: Kind, name: str) -> Refusal:
    message = f'{kind.resource} "{name}" not found'
    return Refusal(404, "NotFound", message, _about(kind, name))


def already_exists(kind: Kind, name: str) -> Refusal:
    message = f'{kind.resource} "{name}" already exists'
    return Refusal(409, "AlreadyExists", message, _about(kind, name))


STALE = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def conflict(kind: Kind, name: str, why: str = STALE) -> Refusal:
    message = f'Operation cannot be fulfilled on {kind.resource} "{name}": {why}'
    return Refusal(409, "Conflict", message, _about(kind, name))


def apply_conflict(message: str, causes: Sequence[Mapping[str, str]]) -> Refusal:
    return Refusal(409, "Conflict", message, {"causes": [dict(cause) for cause in causes]})


def forbidden(resource: str, details: Mapping[str, Any], name: str, why: str) -> Refusal:
    subject = f'{resource} "{name}"' if name else resource
    message = f"{subject} is forbidden: {why}" if resource else f"forbidden: {why}"
    return Refusal(403, "Forbidden", message, details)


def forbidden_object(kind: Kind, name: str, why: str) -> Refusal:
    return forbidden(kind.resource, _about(kind, name), name, why)


def namespace_terminating(kind: Kind, name: str, namespace: str) -> Refusal:
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    details = {**_about(kind, name), "causes": [cause]}
    return forbidden(kind.resource, details, name, why)


def namespace_not_found(namespace: str) -> Refusal:
    message = f'namespaces "{namespace}" not found'
    return Refusal(404, "NotFound", message, {"name": namespace, "kind": "namespaces"})


def unauthorized() -> Refusal:
    return Refusal(401, "Unauthorized", "Unauthorized")


def bad_request(message: str) -> Refusal:
    return Refusal(400, "BadRequest", message)


def invalid(kind: Kind, name: str, errors: Sequence[FieldError]) -> Refusal:
    qualified = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    details: dict[str, Any] = {"name": name} if name else {}
    if kind.group:
        details["group"] = kind.group
    details["kind"] = kind.kind
    details["causes"] = [error.cause() for error in errors]
    return Refusal(422, "Invalid", invalid_sentence(qualified, name, list(errors)), details)


def unconditional_update(kind: Kind, name: str) -> Refusal:
    message = "Invalid value: 0: must be specified for an update"
    error = FieldError("metadata.resourceVersion", "FieldValueInvalid", message)
    details: dict[str, Any] = {"name": name}
    if kind.group:
        details["group"] = kind.group
    details |= {"kind": kind.plural, "causes": [error.cause()]}
    return Refusal(422, "Invalid", invalid_sentence(kind.resource, name, [error]), details)


def invalid_patch(patched: str, why: str) -> Refusal:
    quoted = msgspec.json.encode(patched).decode()
    error = FieldError("patch", "FieldValueInvalid", f"Invalid value: {quoted}: {why}")
    details = {"causes": [error.cause()]}
    return Refusal(422, "Invalid", invalid_sentence("", "", [error]), details)


def wrong_custom_kind(kind: Kind, given: str, name: str) -> Refusal:
    message = f'Invalid value: "{given}": must be {kind.kind}'
    error = FieldError("kind", "FieldValueInvalid", message)
    details = {"name": name, "group": kind.group, "kind": given, "causes": [error.cause()]}
    sentence = invalid_sentence(f"{given}.{kind.group}", name, [error])
    return Refusal(422, "Invalid", sentence, details)


def invalid_options(options: str, errors: Sequence[FieldError]) -> Refusal:
    """A query parameter that cannot be used, e.g. of `ListOptions.meta.k8s.io`."""
    name, _, group = options.partition(".")
    details = {"group": group, "kind": name, "causes": [error.cause() for error in errors]}
    return Refusal(422, "Invalid", invalid_sentence(options, "", list(errors)), details)


def expired(message: str) -> Refusal:
    return Refusal(410, "Expired", message)


def too_old(asked: int, oldest: int) -> Refusal:
    return expired(f"too old resource version: {asked} ({oldest})")


def too_large_version(asked: int, current: int) -> Refusal:
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details = {"causes": [cause], "retryAfterSeconds": 1}
    return Refusal(504, "Timeout", message, details, {"Retry-After": "1"})


def method_not_allowed() -> Refusal:
    message = "the server does not allow this method on the requested resource"
    return Refusal(405, "MethodNotAllowed", message, {})


def no_such_resource() -> Refusal:
    """For a resource that a built-in group does not have; other groups answer plain text."""
    message = "the server could not find the requested resource"
    return Refusal(404, "NotFound", message, {})


def rejected_patch() -> Refusal:
    """kube-apiserver's only word on a JSON patch that does not apply."""
    message = "the server rejected our request due to an error in our request"
    return Refusal(422, "Invalid", message, {})


def unsupported_patch() -> Refusal:
    return Refusal(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def unspecified(message: str) -> Refusal:
    """An error that kube-apiserver gives no reason for."""
    return Refusal(500, "", message)


def unsupported_media_type(given: str, accepted: Sequence[str]) -> Refusal:
    message = (
        f"the body of the request was in an unknown format - accepted media types include: "
        f"{', '.join(accepted)}"
        if given
        else "the body of the request was in an unknown format"
    )
    return Refusal(415, "UnsupportedMediaType", message)


def not_acceptable(accepted: Sequence[str]) -> Refusal:
    message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(accepted)}"
    return Refusal(406, "NotAcceptable", message, {})


def too_large(limit: int) -> Refusal:
    message = f"Request entity too large: limit is {limit}"
    return Refusal(413, "RequestEntityTooLarge", message)


def too_many_requests(seconds: int) -> Refusal:
    message = "the server has received too many requests and has asked us to try again later"
    details = {"retryAfterSeconds": seconds}
    return Refusal(429, "TooManyRequests", message, details, {"Retry-After": str(seconds)})


def internal_error(message: str, code: int = 500) -> Refusal:
    reasons = {500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}
    text = f"Internal error occurred: {message}" if code == 500 else message
    return Refusal(code, reasons.get(code, ""), text)
