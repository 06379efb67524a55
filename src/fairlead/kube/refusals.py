"""What an API server's refusal means: one HTTP answer in, one error out, whose sentence names the
cluster, the request and the remedy. Faults of the connection itself are translated in `faults`;
nothing here does I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fairlead.errors import Conflict, FairleadError, Reason, Unreachable
from fairlead.kube.errors import (
    AlreadyExists,
    ApplyConflict,
    Asked,
    Denied,
    Gone,
    Invalid,
    NotServed,
    ObjectNotFound,
    StaleResource,
    Throttled,
)
from fairlead.kube.status import Status, parse_status

# Server-side apply of a field the schema lacks, or of a key twice: the object is wrong, not the
# server, but kube-apiserver answers 500 and no reason.
_NOT_TYPED = "failed to create typed patch object"
# Policies and webhooks choose the code and reason of their denial; by default 422 and 400.
_DENIED = re.compile(
    r"ValidatingAdmissionPolicy '[^']*' .*denied request|webhook \"[^\"]*\" denied the request"
)
_LACKS_RIGHTS = re.compile(r'User "[^"]*" cannot \S+ (resource|path)')


def refusal(asked: Asked, code: int, headers: Mapping[str, str], body: bytes) -> FairleadError:
    """The error for an answer that is not 2xx."""
    status = parse_status(body)
    if status is None:
        return _no_status(asked, code, headers, body)
    return refusal_by_status(asked, code, status, retry_after=_retry_after(headers, status))


def refusal_by_status(
    asked: Asked, code: int, status: Status, *, retry_after: float | None = None
) -> FairleadError:
    """The error for a Status, from an answer's body or a watch's ERROR event."""
    message = status.message or status.reason or f"HTTP {code}"
    match code:
        case 401:
            return unauthorized(asked, message)
        case 403:
            return _forbidden(asked, message, status)
        case 404:
            return _not_found(asked, message, status)
        case 409:
            return _conflict(asked, message, status)
        case 410:
            return Gone(asked.sentence(message))
        case 429:
            return Throttled(
                Reason.THROTTLED,
                asked.sentence(message, "the API server is overloaded, asked to come back later"),
                retry_after,
            )
        case 500 if message.startswith(_NOT_TYPED):
            return _invalid(asked, message, status)
        case _ if code >= 500:
            return _server_error(asked, code, message, retry_after)
        case _ if code >= 400:
            return _invalid(asked, message, status)
        case _:
            return Unreachable(
                Reason.BAD_ANSWER, asked.sentence(f"answered HTTP {code} with a Status: {message}")
            )


def unauthorized(asked: Asked, message: str) -> Unreachable:
    return Unreachable(
        Reason.UNAUTHORIZED,
        asked.sentence(
            f"the API server does not accept the credentials (401 {message})",
            "renew the token or certificate of this cluster's kubeconfig user",
        ),
    )


def _forbidden(asked: Asked, message: str, status: Status) -> FairleadError:
    # Quota, policy and terminating namespaces share code and reason with a lack of rights, but
    # only writes meet admission, and authorization says who cannot do what.
    if asked.method == "GET" or _LACKS_RIGHTS.search(message):
        return _no_rights(asked, message)
    return Denied(asked.sentence(message), status.causes)


def _no_rights(asked: Asked, message: str) -> Unreachable:
    return Unreachable(
        Reason.FORBIDDEN,
        asked.sentence(message, "grant this user the verb on the resource (RBAC)"),
    )


def _not_found(asked: Asked, message: str, status: Status) -> FairleadError:
    if _is_about(asked, status):
        return ObjectNotFound(asked.sentence(message), status)
    return not_served(asked, message)


def _is_about(asked: Asked, status: Status) -> bool:
    """Only a NotFound that names what was asked for is the authority's word on it."""
    details = status.details
    if status.reason != "NotFound" or details is None or not details.name:
        return False
    resource = asked.resource
    if resource is None:
        return True
    if details.kind == "namespaces" and details.name == asked.namespace:
        return asked.method != "GET"  # a write into a namespace that does not exist
    return (
        details.name == asked.name
        and details.kind in {resource.plural, resource.kind}
        and (details.group or "") == resource.group
    )


def not_served(asked: Asked, message: str) -> NotServed:
    resource = asked.resource
    if resource is None:
        return NotServed(asked.sentence(f"this path is not served ({message})"))
    return NotServed(
        asked.sentence(
            f"this cluster does not serve {resource.plural} in {resource.api_version} ({message})",
            "install its CustomResourceDefinition, or check group and version",
        )
    )


def _conflict(asked: Asked, message: str, status: Status) -> Conflict:
    if status.reason == "AlreadyExists":
        return AlreadyExists(asked.sentence(message))
    if any(cause.reason == "FieldManagerConflict" for cause in status.causes):
        owners = "; ".join(str(cause) for cause in status.causes)
        return ApplyConflict(asked.sentence(owners or message), status.causes)
    return StaleResource(asked.sentence(message))


def _invalid(asked: Asked, message: str, status: Status) -> FairleadError:
    if _DENIED.search(message):
        return Denied(asked.sentence(message), status.causes)
    return Invalid(asked.sentence(message), status.reason or "Invalid", status.causes)


def _server_error(asked: Asked, code: int, message: str, after: float | None) -> Unreachable:
    reason = Reason.TIMEOUT if code == 504 else Reason.SERVER_ERROR
    sentence = asked.sentence(
        f"the API server failed (HTTP {code}: {message})",
        "look at the API server's log and at the health of its etcd and webhooks",
    )
    if after is not None and code == 503:
        return Throttled(reason, sentence, after)
    return Unreachable(reason, sentence)


def _no_status(asked: Asked, code: int, headers: Mapping[str, str], body: bytes) -> FairleadError:
    """Something answered, but not as a Kubernetes API server answers about its objects."""
    if code == 401:
        return unauthorized(asked, _excerpt(headers, body))
    if code == 404 and body.strip() == b"404 page not found":
        return not_served(asked, "404 page not found")
    if code == 403:
        return _no_rights(asked, f"forbidden: {_excerpt(headers, body)}")
    after = _retry_after(headers, None)
    if code == 429:
        return Throttled(Reason.THROTTLED, asked.sentence("told to come back later (429)"), after)
    if code >= 500:
        return _server_error(asked, code, _excerpt(headers, body), after)
    if 300 <= code < 400:
        return Unreachable(
            Reason.BAD_ANSWER,
            asked.sentence(
                f"redirected (HTTP {code}) to {headers.get('Location', 'nowhere')}",
                "not followed, for the credentials would go along; use the API server's own URL",
            ),
        )
    return bad_answer(asked, f"HTTP {code} with {_excerpt(headers, body)}")


def bad_answer(asked: Asked, problem: str) -> Unreachable:
    """Whatever answered does not speak as a Kubernetes API server does."""
    return Unreachable(
        Reason.BAD_ANSWER,
        asked.sentence(
            f"not an answer of a Kubernetes API server: {problem}",
            "check the server URL, and whether a proxy or login page stands in between",
        ),
    )


def outline(headers: Mapping[str, str], body: bytes) -> str:
    """Type and size of a body. Its content stays out of sentences: it may be a Secret."""
    kind = headers.get("Content-Type", "").partition(";")[0] or "no content type"
    return f"{kind}, {len(body)} bytes"


def _excerpt(headers: Mapping[str, str], body: bytes, limit: int = 160) -> str:
    """A short printable look at a refusal, so that a person recognises who answered."""
    text = " ".join(body[: 4 * limit].decode(errors="replace").split())
    printable = "".join(letter for letter in text if letter.isprintable())
    if not printable:
        return outline(headers, body)
    kind = headers.get("Content-Type", "").partition(";")[0] or "no content type"
    return f"{kind}: {printable[:limit]}{'...' if len(printable) > limit else ''}"


def _retry_after(headers: Mapping[str, str], status: Status | None) -> float | None:
    """Seconds to wait. Dates are ignored: another machine's clock is not ours."""
    header = headers.get("Retry-After", "").strip()
    if header.isascii() and header.isdigit():
        return float(header)
    if status is not None and status.details is not None:
        seconds = status.details.retry_after_seconds
        if seconds is not None and seconds > 0:
            return float(seconds)
    return None
