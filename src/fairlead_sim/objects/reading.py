"""Lists: which records, at which revision, in which chunks. Knows nothing of how they are shown."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice

import msgspec

from fairlead_sim import answers
from fairlead_sim.kinds.catalogue import Kind
from fairlead_sim.objects.selectors import Matches, compile_selector
from fairlead_sim.objects.storage import Collection, Key, Record, Store
from fairlead_sim.schema import FieldError
from fairlead_sim.serving.routes import is_true

_LIST_OPTIONS = "ListOptions.meta.k8s.io"
_EXPIRED_CONTINUE = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


class ContinueToken(msgspec.Struct):
    """Where a chunked list goes on: after `start`, at revision `rv` (0: whatever is there now)."""

    rv: int
    start: tuple[str, str]

    def encoded(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


def _parse_token(text: str) -> ContinueToken:
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return msgspec.json.decode(raw, type=ContinueToken)
    except (binascii.Error, ValueError, msgspec.DecodeError) as error:
        message = f"invalid continue token: continue key is not valid: {error}"
        raise answers.bad_request(message) from error


@dataclass(frozen=True, slots=True)
class Listed:
    """One answer to a list."""

    records: list[Record]
    revision: int
    token: str = ""
    remaining: int | None = None
    custom: bool = False
    """Lists of custom objects always say `continue`, others only when there is more."""

    def metadata(self) -> dict[str, object]:
        made: dict[str, object] = {"resourceVersion": str(self.revision)}
        if self.token or self.custom:
            made["continue"] = self.token
        if self.remaining is not None:
            made["remainingItemCount"] = self.remaining
        return made


def parse_revision(text: str) -> int:
    """A resourceVersion; what is none raises ValueError with the API server's sentence."""
    if text and not (text.isascii() and text.isdigit()):
        why = f'strconv.ParseUint: parsing "{text}": invalid syntax'
        raise ValueError(f'resourceVersion: Invalid value: "{text}": {why}')
    return int(text or 0)


def asked_revision(query: Mapping[str, str]) -> int:
    """The resourceVersion of a get or a list."""
    try:
        return parse_revision(query.get("resourceVersion", ""))
    except ValueError as error:
        raise answers.bad_request(f"invalid resource version: {error}") from error


def check_options(query: Mapping[str, str]) -> None:
    """The combinations that kube-apiserver refuses."""
    match = query.get("resourceVersionMatch", "")
    revision = query.get("resourceVersion", "")
    initial = "sendInitialEvents" in query
    problems: list[tuple[str, str]] = []
    if is_true(query, "watch"):
        if initial and match != "NotOlderThan":
            why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            problems.append(("resourceVersionMatch", why))
        if match and not initial:
            why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            problems.append(("resourceVersionMatch", why))
    else:
        if match and not revision:
            why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            problems.append(("resourceVersionMatch", why))
        if match and query.get("continue"):
            why = "resourceVersionMatch is forbidden when continue is provided"
            problems.append(("resourceVersionMatch", why))
        if match == "Exact" and revision == "0":
            why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            problems.append(("resourceVersionMatch", why))
        if initial:
            problems.append(("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    errors = [
        FieldError(field, "FieldValueForbidden", f"Forbidden: {why}") for field, why in problems
    ]
    if match and match not in ("Exact", "NotOlderThan"):
        message = f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan", ""'
        errors.append(FieldError("resourceVersionMatch", "FieldValueNotSupported", message))
    if errors:
        raise answers.invalid_options(_LIST_OPTIONS, errors)


def list_records(store: Store, kind: Kind, namespace: str, query: Mapping[str, str]) -> Listed:
    """The records that a list request means."""
    check_options(query)
    matches = compile_selector(kind, query.get("labelSelector", ""), query.get("fieldSelector", ""))
    collection = store.collection(kind.storage)
    limit = _limit(query.get("limit", ""))
    token = _parse_token(query["continue"]) if query.get("continue") else None
    revision = _revision(store, collection, query, token)
    records, keys = _state(collection, revision, namespace or None, store.revision)
    start = token.start if token else None
    if matches is None and limit == 0 and start is None:
        return Listed([records[key] for key in keys], revision, custom=bool(kind.custom))
    return replace(_chunk(records, keys, start, matches, limit, revision), custom=bool(kind.custom))


def _limit(text: str) -> int:
    if text and not (text.isascii() and text.isdigit()):
        raise answers.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text or 0)


def _revision(
    store: Store, collection: Collection, query: Mapping[str, str], token: ContinueToken | None
) -> int:
    """The revision to list at: the present one unless a token or an exact match says otherwise."""
    if token is not None:
        if token.rv and token.rv < collection.compacted:
            refusal = answers.expired(_EXPIRED_CONTINUE)
            refusal.list_metadata = {"continue": ContinueToken(0, token.start).encoded()}
            raise refusal
        return token.rv or store.revision
    asked = asked_revision(query)
    if asked > store.revision:
        raise answers.too_large_version(asked, store.revision)
    exact = query.get("resourceVersionMatch") == "Exact"
    # An unspecific match with a limit means exactly this revision, too.
    exact = exact or (asked > 0 and "limit" in query and "resourceVersionMatch" not in query)
    if not exact:
        return store.revision
    if asked < collection.compacted:
        message = "The resourceVersion for the provided list is too old."
        raise answers.expired(message)
    return asked


def _state(
    collection: Collection, revision: int, namespace: str | None, current: int
) -> tuple[Mapping[Key, Record], list[Key]]:
    if revision >= current:
        return collection.records, collection.keys(namespace)
    records = collection.at(revision)
    return records, sorted(key for key in records if namespace in (None, key[0]))


def _chunk(
    records: Mapping[Key, Record],
    keys: list[Key],
    start: Key | None,
    matches: Matches | None,
    limit: int,
    revision: int,
) -> Listed:
    if start is not None:
        keys = [key for key in keys if key > tuple(start)]
    found = (records[key] for key in keys if matches is None or matches(records[key].object))
    if not limit:
        return Listed(list(found), revision)
    chosen = list(islice(found, limit))
    if next(found, None) is None:
        return Listed(chosen, revision)
    remaining = len(keys) - len(chosen) if matches is None else None
    return Listed(chosen, revision, ContinueToken(revision, chosen[-1].key).encoded(), remaining)
