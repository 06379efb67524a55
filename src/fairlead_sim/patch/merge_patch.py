"""RFC 7386 JSON Merge Patch. Knows nothing of Kubernetes."""

from __future__ import annotations

from typing import Any

from fairlead_sim.patch.json_values import copied


def apply_merge_patch(obj: Any, patch: Any) -> Any:
    """The patched copy of `obj`; null removes, lists are replaced."""
    if not isinstance(patch, dict):
        return copied(patch)
    out = dict(obj) if isinstance(obj, dict) else {}
    for name, value in patch.items():
        if value is None:
            out.pop(name, None)
        else:
            out[name] = apply_merge_patch(out.get(name), value)
    return out
