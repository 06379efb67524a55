"""The table of built-in kinds: what a Kubernetes 1.36 cluster serves, as far as a fleet needs it.
Data only; the behaviour that differs between kinds is a flag here and code elsewhere."""

from __future__ import annotations

from typing import Any

from fairlead_sim.kinds.catalogue import ALL_VERBS, Kind, ScalePaths

_ALL = ("all",)
_EXTENSIONS = ("api-extensions",)
_NO_COLLECTION = tuple(verb for verb in ALL_VERBS if verb != "deletecollection")
_REVIEW: dict[str, Any] = {"verbs": ("create",), "namespaced": False}
_CLUSTER: dict[str, Any] = {"namespaced": False}
_STATUS = ("status",)
_STATUS_SCALE = ("scale", "status")
_REPLICAS = ScalePaths()


def _kind(group_version: str, kind: str, plural: str, short: str = "", **more: Any) -> Kind:
    group, _, version = group_version.rpartition("/")
    return Kind(group, version, kind, plural, short_names=tuple(short.split()), **more)


def _core() -> list[Kind]:
    return [
        _kind("v1", "ConfigMap", "configmaps", "cm"),
        _kind("v1", "Endpoints", "endpoints", "ep", create_on_update=True),
        _kind("v1", "Event", "events", "ev", create_on_update=True),
        _kind("v1", "LimitRange", "limitranges", "limits", create_on_update=True),
        _kind(
            "v1", "Namespace", "namespaces", "ns",
            verbs=_NO_COLLECTION, subresources=("finalize", "status"), returns_deleted=True,
            **_CLUSTER,
        ),
        _kind("v1", "Node", "nodes", "no", subresources=_STATUS, **_CLUSTER),
        _kind(
            "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "pvc",
            subresources=_STATUS, returns_deleted=True,
        ),
        _kind(
            "v1", "PersistentVolume", "persistentvolumes", "pv",
            subresources=_STATUS, returns_deleted=True, **_CLUSTER,
        ),
        _kind(
            "v1", "Pod", "pods", "po", categories=_ALL,
            subresources=("binding", "eviction", "status"),
            returns_deleted=True, tracks_generation=True,
        ),
        _kind(
            "v1", "ResourceQuota", "resourcequotas", "quota",
            subresources=_STATUS, returns_deleted=True,
        ),
        _kind("v1", "Secret", "secrets"),
        _kind(
            "v1", "ServiceAccount", "serviceaccounts", "sa",
            subresources=("token",), returns_deleted=True,
        ),
        _kind(
            "v1", "Service", "services", "svc", categories=_ALL,
            subresources=_STATUS, create_on_update=True, returns_deleted=True,
        ),
    ]  # fmt: skip


def _workloads() -> list[Kind]:
    workload: dict[str, Any] = {"categories": _ALL, "tracks_generation": True}
    return [
        _kind("apps/v1", "ControllerRevision", "controllerrevisions"),
        _kind(
            "apps/v1", "DaemonSet", "daemonsets", "ds",
            subresources=_STATUS, **workload,
        ),
        _kind(
            "apps/v1", "Deployment", "deployments", "deploy",
            subresources=_STATUS_SCALE, scale=_REPLICAS, **workload,
        ),
        _kind(
            "apps/v1", "ReplicaSet", "replicasets", "rs",
            subresources=_STATUS_SCALE, scale=_REPLICAS, **workload,
        ),
        _kind(
            "apps/v1", "StatefulSet", "statefulsets", "sts",
            subresources=_STATUS_SCALE, scale=_REPLICAS, **workload,
        ),
        _kind(
            "autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa",
            categories=_ALL, subresources=_STATUS,
        ),
        _kind(
            "batch/v1", "CronJob", "cronjobs", "cj", subresources=_STATUS, **workload
        ),
        _kind("batch/v1", "Job", "jobs", subresources=_STATUS, **workload),
    ]  # fmt: skip


def _access() -> list[Kind]:
    rbac = "rbac.authorization.k8s.io/v1"
    return [
        _kind("authentication.k8s.io/v1", "SelfSubjectReview", "selfsubjectreviews", **_REVIEW),
        _kind("authentication.k8s.io/v1", "TokenReview", "tokenreviews", **_REVIEW),
        _kind(
            "authorization.k8s.io/v1", "LocalSubjectAccessReview", "localsubjectaccessreviews",
            verbs=("create",),
        ),
        _kind(
            "authorization.k8s.io/v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews",
            **_REVIEW,
        ),
        _kind(
            "authorization.k8s.io/v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews",
            **_REVIEW,
        ),
        _kind(
            "authorization.k8s.io/v1", "SubjectAccessReview", "subjectaccessreviews", **_REVIEW
        ),
        _kind(
            rbac, "ClusterRoleBinding", "clusterrolebindings",
            create_on_update=True, **_CLUSTER,
        ),
        _kind(
            rbac, "ClusterRole", "clusterroles",
            create_on_update=True, **_CLUSTER,
        ),
        _kind(rbac, "RoleBinding", "rolebindings", create_on_update=True),
        _kind(rbac, "Role", "roles", create_on_update=True),
    ]  # fmt: skip


def _extensions() -> list[Kind]:
    admission = "admissionregistration.k8s.io/v1"
    policy: dict[str, Any] = {
        "categories": _EXTENSIONS,
        "tracks_generation": True,
        "unconditional_update": False,
        "namespaced": False,
    }
    return [
        _kind(
            admission, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", **policy,
        ),
        _kind(
            admission, "ValidatingAdmissionPolicy", "validatingadmissionpolicies",
            subresources=_STATUS, **policy,
        ),
        _kind(
            admission, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings",
            **policy,
        ),
        _kind(
            admission, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations",
            **policy,
        ),
        _kind(
            "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions",
            "crd crds", categories=_EXTENSIONS, subresources=_STATUS,
            tracks_generation=True, unconditional_update=False, **_CLUSTER,
        ),
    ]  # fmt: skip


def builtin_kinds() -> list[Kind]:
    """Every built-in kind, in the order discovery lists the groups."""
    event: dict[str, Any] = {"create_on_update": True, "storage": ("", "events")}
    return [
        *_core(),
        _kind(
            "apiregistration.k8s.io/v1", "APIService", "apiservices",
            categories=_EXTENSIONS, subresources=_STATUS, **_CLUSTER,
        ),
        *(kind for kind in _workloads() if kind.group == "apps"),
        _kind("events.k8s.io/v1", "Event", "events", "ev", **event),
        *(kind for kind in _access() if kind.group.startswith("auth")),
        *(kind for kind in _workloads() if kind.group != "apps"),
        _kind(
            "networking.k8s.io/v1", "IngressClass", "ingressclasses",
            tracks_generation=True, **_CLUSTER,
        ),
        _kind(
            "networking.k8s.io/v1", "Ingress", "ingresses", "ing",
            subresources=_STATUS, tracks_generation=True,
        ),
        _kind(
            "networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", "netpol",
            tracks_generation=True,
        ),
        _kind(
            "policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb",
            subresources=_STATUS, tracks_generation=True, unconditional_update=False,
        ),
        *(kind for kind in _access() if kind.group.startswith("rbac")),
        _kind(
            "storage.k8s.io/v1", "StorageClass", "storageclasses", "sc",
                        returns_deleted=True, **_CLUSTER,
        ),
        *_extensions(),
        _kind(
            "scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", "pc",
            tracks_generation=True, **_CLUSTER,
        ),
        _kind(
            "coordination.k8s.io/v1", "Lease", "leases",
            create_on_update=True, unconditional_update=False,
        ),
        _kind(
            "discovery.k8s.io/v1", "EndpointSlice", "endpointslices", tracks_generation=True,
        ),
    ]  # fmt: skip
