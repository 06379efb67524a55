"""Leases and events: above all the two ways of writing a time, which are not interchangeable."""

from __future__ import annotations

import re

from fairlead_sim.kinds.builtin_rules.field_errors import Errors, invalid, required, unmarshal
from fairlead_sim.kinds.catalogue import Kind, Object
from fairlead_sim.objects.metadata import wrong_type

_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)\Z")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)\Z")


def _times(kind: Kind, values: Object, fields: tuple[str, ...], pattern: re.Pattern[str]) -> None:
    for field in fields:
        value = values.get(field)
        if value is None:
            values.pop(field, None)
        elif not isinstance(value, str) or not pattern.match(value):
            layout, rest = "2006-01-02T15:04:05Z07:00", f'"{value}"'
            if pattern is _MICRO_TIME:
                layout = "2006-01-02T15:04:05.000000Z07:00"
                if _TIME.match(str(value)):
                    rest = f'"{str(value)[19:]}" as ".000000"'
            raise wrong_type(kind, f'parsing time "{value}" as "{layout}": cannot parse {rest}')


def lease(kind: Kind, obj: Object, old: Object | None) -> Errors:
    spec = obj.setdefault("spec", {})
    _times(kind, spec, ("acquireTime", "renewTime"), _MICRO_TIME)
    errors: Errors = []
    for field, least in (("leaseDurationSeconds", 1), ("leaseTransitions", 0)):
        value = spec.get(field)
        if value is None:
            spec.pop(field, None)
        elif not isinstance(value, int) or isinstance(value, bool):
            raise wrong_type(kind, unmarshal(value, f"LeaseSpec.spec.{field}", "int32"))
        elif value < least:
            why = "must be greater than 0" if least else "must be greater than or equal to 0"
            errors.append(invalid(f"spec.{field}", str(value), why))
    return errors


def event(kind: Kind, obj: Object, old: Object | None) -> Errors:
    _times(kind, obj, ("eventTime",), _MICRO_TIME)
    _times(kind, obj, ("firstTimestamp", "lastTimestamp"), _TIME)
    about = (obj.get("involvedObject") or {}).get("namespace") or "default"
    if about != obj["metadata"].get("namespace"):
        why = "does not match event.namespace"
        return [invalid("involvedObject.namespace", f'"{about}"', why)]
    return []


def new_event(kind: Kind, obj: Object, old: Object | None) -> Errors:
    _times(kind, obj, ("eventTime",), _MICRO_TIME)
    if old is None and not obj.get("eventTime"):
        return [required("eventTime")]
    for field in ("reportingController", "reportingInstance", "action"):
        if old is None and not obj.get(field):
            return [required(field)]
    return []
