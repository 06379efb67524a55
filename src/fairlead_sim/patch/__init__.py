"""How the simulated API server computes a new object from an old one and a patch: JSON patch,
merge patch, strategic merge patch, server-side apply and the bookkeeping of managedFields. Pure
functions on plain dicts; knows nothing of HTTP, storage or admission."""

from fairlead_sim.patch.apply import server_side_apply, track_update
from fairlead_sim.patch.errors import ApplyConflict, PatchError
from fairlead_sim.patch.json_patch import apply_json_patch
from fairlead_sim.patch.list_types import ListTypes, builtin_list_types, schema_list_types
from fairlead_sim.patch.merge_patch import apply_merge_patch
from fairlead_sim.patch.strategic import apply_strategic_patch

__all__ = [
    "ApplyConflict",
    "ListTypes",
    "PatchError",
    "apply_json_patch",
    "apply_merge_patch",
    "apply_strategic_patch",
    "builtin_list_types",
    "schema_list_types",
    "server_side_apply",
    "track_update",
]
