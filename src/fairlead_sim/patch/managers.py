"""managedFields as a table: who owns which fields, through which operation and since when.
Reads and writes `metadata.managedFields`; knows nothing of merging."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from fairlead_sim.patch.errors import PatchError
from fairlead_sim.patch.fields import FieldSet
from fairlead_sim.patch.json_values import go_json, go_quoted

# The API server merges the oldest update entries when there are more.
MAX_UPDATE_MANAGERS = 10


class Manager(NamedTuple):
    """Who: an applier keeps its entry across API versions, an updater has one for each."""

    name: str
    operation: str
    api_version: str
    subresource: str

    @staticmethod
    def of(name: str, operation: str, api_version: str, subresource: str) -> Manager:
        """The identity under which an operation is booked."""
        version = "" if operation == "Apply" else api_version
        return Manager(name or "unknown", operation, version, subresource)

    def described(self) -> str:
        """As conflicts name it."""
        text = go_quoted(self.name)
        if self.subresource:
            text += f" with subresource {go_quoted(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == "Update" else text

    def sort_key(self) -> str:
        """The JSON by which the API server sorts managers."""
        return go_json(self._asdict())


@dataclass(frozen=True, slots=True)
class Owned:
    """What one manager owns."""

    fields: FieldSet
    api_version: str
    time: str | None = None

    def having(self, fields: FieldSet) -> Owned:
        """The same entry with other fields."""
        return replace(self, fields=fields)


Managed = dict[Manager, Owned]


def decode(entries: list[dict[str, Any]] | None) -> Managed:
    """Read managedFields; raises PatchError when an entry is malformed."""
    managed: Managed = {}
    for index, entry in enumerate(entries or []):
        operation = entry.get("operation")
        if operation not in ("Apply", "Update"):
            raise PatchError("operation must be `Apply` or `Update`", 400)
        version = entry.get("apiVersion")
        if not version:
            raise PatchError("apiVersion must not be empty", 400)
        if entry.get("fieldsType") != "FieldsV1":
            raise PatchError(f"missing fieldsType in managed fields entry {index}", 400)
        who = Manager.of(
            entry.get("manager", ""), operation, version, entry.get("subresource") or ""
        )
        fields = FieldSet.from_fields(entry.get("fieldsV1") or {})
        managed[who] = Owned(fields, version, entry.get("time"))
    return managed


def encode(managed: Managed) -> list[dict[str, Any]]:
    """Write managedFields: appliers first, then by time and name."""
    order = sorted(
        managed.items(),
        key=lambda e: (e[0].operation, e[1].time or "", e[0].name, e[1].api_version, e[0][3]),
    )
    return [_entry(who, owned) for who, owned in order]


def _entry(who: Manager, owned: Owned) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "manager": who.name,
        "operation": who.operation,
        "apiVersion": owned.api_version,
        "time": owned.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": owned.fields.to_fields(),
        "subresource": who.subresource,
    }
    return {k: v for k, v in entry.items() if v not in (None, "")}


def capped(managed: Managed) -> Managed:
    """With at most ten updaters: the oldest are merged into `ancient-changes`, one a version."""
    updaters = [who for who in managed if who.operation == "Update"]
    surplus = len(updaters) - MAX_UPDATE_MANAGERS
    if surplus <= 0:
        return managed
    out = dict(managed)
    first_of: dict[str, Manager] = {}
    for who in sorted(updaters, key=lambda w: (managed[w].time or "", w.sort_key())):
        if surplus <= 0:
            break
        owned = out[who]
        first = first_of.setdefault(owned.api_version, who)
        if first is who:
            continue
        bucket = Manager.of("ancient-changes", "Update", owned.api_version, "")
        if bucket not in out:
            out[bucket] = out.pop(first)
        out[bucket] = owned.having(owned.fields | out[bucket].fields)
        if who != bucket:
            del out[who]
        surplus -= 1
    return out
