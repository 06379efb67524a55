"""The scale subresource: a `Scale` object read from and written into an object that has replicas.
Pure."""

from __future__ import annotations

from fairlead_sim import answers
from fairlead_sim.display.cells import at, format_selector
from fairlead_sim.kinds.catalogue import Kind, Object, ScalePaths
from fairlead_sim.objects.storage import clone


def _paths(kind: Kind) -> ScalePaths:
    if kind.scale is None:
        raise answers.page_not_found()
    return kind.scale


def scale_of(kind: Kind, obj: Object) -> Object:
    """The autoscaling/v1 Scale of an object."""
    paths = _paths(kind)
    meta = obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: Object = {"replicas": at(obj, paths.status_replicas) or 0}
    if paths.label_selector:
        status["selector"] = at(obj, paths.label_selector) or ""
    elif selector := at(obj, "spec.selector"):
        status["selector"] = format_selector(selector)
    replicas = at(obj, paths.spec_replicas)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: meta[name] for name in kept if name in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def scaled(kind: Kind, obj: Object, scale: Object) -> Object:
    """The object with the replicas (and the precondition) of a Scale."""
    spec = scale.get("spec") or {}
    replicas = spec.get("replicas", 0) if isinstance(spec, dict) else None
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise answers.bad_request("spec.replicas of a Scale must be an integer")
    made = clone(obj)
    *parents, last = _paths(kind).spec_replicas.split(".")
    place = made
    for step in parents:
        place = place.setdefault(step, {})
    place[last] = replicas
    meta = scale.get("metadata") or {}
    for name in ("resourceVersion", "uid"):
        if meta.get(name):
            made["metadata"][name] = meta[name]
    return made
