"""What can go wrong while a patch or an apply is computed. Knows nothing of HTTP; `code` is the
status the API server answers with, so that the caller need not guess."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.errors import Conflict, FairleadError


class PatchError(FairleadError):
    """The patch cannot be read (400), not be applied to this object (422) or not be typed (500).

    The sentence is the Status message; `detail` says what is wrong where the API server does not.
    """

    def __init__(self, message: str, code: int, detail: str = "") -> None:
        self.code = code
        self.detail = detail or message
        super().__init__(message)


class ApplyConflict(Conflict):
    """Server-side apply without force would change fields that other managers own.

    `conflicts` holds (manager as the API server names it, field path) pairs, e.g.
    `('"kubectl-edit" using apps/v1', ".spec.replicas")`; the sentence is the Status message and
    `causes()` are the Status causes. The Status has code 409 and reason Conflict.
    """

    def __init__(self, conflicts: Sequence[tuple[str, str]]) -> None:
        self.conflicts = list(conflicts)
        super().__init__(self._sentence())

    def causes(self) -> list[dict[str, str]]:
        """`details.causes` of the Status; kubectl reads them to explain what to do."""
        return [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {manager}",
                "field": path,
            }
            for manager, path in self.conflicts
        ]

    def _sentence(self) -> str:
        if len(self.conflicts) == 1:
            manager, path = self.conflicts[0]
            return f"Apply failed with 1 conflict: conflict with {manager}: {path}"
        by_manager: dict[str, list[str]] = {}
        for manager, path in self.conflicts:
            by_manager.setdefault(manager, []).append(path)
        lines = []
        for manager, paths in by_manager.items():
            lines += [f"conflicts with {manager}:", *(f"- {path}" for path in paths)]
        return f"Apply failed with {len(self.conflicts)} conflicts: " + "\n".join(lines)
