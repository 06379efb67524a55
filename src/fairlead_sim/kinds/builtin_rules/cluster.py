"""Namespaces, services, volumes, storage classes and role bindings."""

from __future__ import annotations

from fairlead_sim.kinds.builtin_rules.field_errors import Errors, go_map, invalid, required
from fairlead_sim.kinds.catalogue import Kind, Object


def namespace(kind: Kind, obj: Object, old: Object | None) -> Errors:
    labels = obj["metadata"].setdefault("labels", {})
    labels["kubernetes.io/metadata.name"] = obj["metadata"]["name"]
    obj.pop("spec", None)
    if old is not None:
        obj["spec"] = old.get("spec", {})
    return []


_ALLOCATED = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


def service(kind: Kind, obj: Object, old: Object | None) -> Errors:
    spec = obj.setdefault("spec", {})
    before = (old or {}).get("spec") or {}
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
        for field in _ALLOCATED:
            if field in before:
                spec.setdefault(field, before[field])
    headless = spec.get("clusterIP") == "None" or spec["type"] == "ExternalName"
    errors = [] if spec.get("ports") or headless else [required("spec.ports")]
    if before.get("clusterIP") and spec.get("clusterIP") not in (before["clusterIP"], None):
        why = "may not change once set"
        errors.append(invalid("spec.clusterIPs[0]", f'["{spec["clusterIP"]}"]', why))
    return errors


def cluster_ip(obj: Object) -> str:
    """Stable for one object and spread over 10.96.0.0/12, without a table of what is taken."""
    number = int(obj["metadata"]["uid"].replace("-", "")[:8], 16)
    return f"10.{96 + number % 16}.{(number >> 4) % 256}.{(number >> 12) % 254 + 1}"


def role_binding(kind: Kind, obj: Object, old: Object | None) -> Errors:
    reference = obj.get("roleRef") or {}
    if old and reference != old.get("roleRef"):
        return [invalid("roleRef", go_map(reference), "cannot change roleRef")]
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", "rbac.authorization.k8s.io")
    if isinstance(obj.get("roleRef"), dict):
        obj["roleRef"].setdefault("apiGroup", "rbac.authorization.k8s.io")
    return [] if reference.get("name") else [required("roleRef.name")]


def claim(kind: Kind, obj: Object, old: Object | None) -> Errors:
    spec = obj.setdefault("spec", {})
    spec.setdefault("volumeMode", "Filesystem")
    return [] if spec.get("accessModes") else [
        required("spec.accessModes", "at least 1 access mode is required")
    ]  # fmt: skip


def volume(kind: Kind, obj: Object, old: Object | None) -> Errors:
    spec = obj.setdefault("spec", {})
    spec.setdefault("volumeMode", "Filesystem")
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    return []


def storage_class(kind: Kind, obj: Object, old: Object | None) -> Errors:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")
    return [] if obj.get("provisioner") else [required("provisioner")]
