"""The two kinds of patch we send, each with the content type that says which it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class MergePatch:
    """RFC 7386: what is named is replaced, what is null is removed, lists are replaced whole."""

    content: dict[str, Any]
    content_type: ClassVar[str] = "application/merge-patch+json"


@dataclass(frozen=True, slots=True)
class JsonPatch:
    """RFC 6902: operations in order; `test` operations make it conditional."""

    content: list[dict[str, Any]]
    content_type: ClassVar[str] = "application/json-patch+json"
