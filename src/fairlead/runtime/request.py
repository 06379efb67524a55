"""The key of all work: which object in which cluster. Owns its spelling; knows nothing of what
the object is or what happens to it."""

from __future__ import annotations

from typing import Any, NamedTuple

FLEET = "*"
"""The cluster of a request that belongs to no single cluster, such as a document in the store.
No cluster can have this name. No Lease stands over it, so every replica serves its requests: what
they change must be guarded where it is written, as the store does by compare-and-swap."""


class Request(NamedTuple):
    """Look at this object. Never says why: the reconciler compares the world with the wish."""

    cluster: str
    namespace: str | None
    name: str

    @property
    def object(self) -> str:
        """`namespace/name`, or `name` for an object without a namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return f"{self.cluster}/{self.namespace or ''}/{self.name}"

    @classmethod
    def of(cls, cluster: str, obj: dict[str, Any]) -> Request:
        """The request for an object as the API server returned it."""
        metadata = obj["metadata"]
        return cls(cluster, metadata.get("namespace"), metadata["name"])
