"""What kube-apiserver adds to and checks in built-in objects, as far as clients notice: defaults,
write-only fields, immutability. Custom kinds have schemas instead. Knows nothing of storage."""

from __future__ import annotations

from collections.abc import Callable

from fairlead_sim.kinds.builtin_rules.cluster import (
    claim,
    cluster_ip,
    namespace,
    role_binding,
    service,
    storage_class,
    volume,
)
from fairlead_sim.kinds.builtin_rules.configuration import config_map, move_string_data, secret
from fairlead_sim.kinds.builtin_rules.coordination import event, lease, new_event
from fairlead_sim.kinds.builtin_rules.field_errors import Errors
from fairlead_sim.kinds.builtin_rules.policies import policy, policy_binding
from fairlead_sim.kinds.builtin_rules.workloads import cron_job, job, pod, workload
from fairlead_sim.kinds.catalogue import Kind, Object
from fairlead_sim.objects.metadata import wrong_type

__all__ = ["finish", "move_string_data", "prepare"]


_RULES: dict[tuple[str, str], Callable[[Kind, Object, Object | None], Errors]] = {
    ("", "ConfigMap"): config_map,
    ("", "Secret"): secret,
    ("", "Namespace"): namespace,
    ("", "Pod"): pod,
    ("", "Service"): service,
    ("", "Event"): event,
    ("events.k8s.io", "Event"): new_event,
    ("", "PersistentVolumeClaim"): claim,
    ("", "PersistentVolume"): volume,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): policy,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): policy_binding,
    ("apps", "Deployment"): workload,
    ("apps", "ReplicaSet"): workload,
    ("apps", "StatefulSet"): workload,
    ("apps", "DaemonSet"): workload,
    ("batch", "Job"): job,
    ("batch", "CronJob"): cron_job,
    ("coordination.k8s.io", "Lease"): lease,
    ("rbac.authorization.k8s.io", "RoleBinding"): role_binding,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): role_binding,
    ("storage.k8s.io", "StorageClass"): storage_class,
}


def prepare(kind: Kind, obj: Object, old: Object | None) -> Errors:
    """Default `obj` in place and tell what is wrong with it; a wrong type is a refusal."""
    rule = _RULES.get((kind.group, kind.kind))
    try:
        return rule(kind, obj, old) if rule else []
    except (AttributeError, TypeError, KeyError) as error:
        # Built-in kinds have no schema here: a list or a number where a map belongs shows itself
        # as one of these, and kube-apiserver's decoder answers it with a 400.
        raise wrong_type(kind, "json: cannot unmarshal a field of the wrong type") from error


_NEW_STATUS: dict[tuple[str, str], Object] = {
    ("", "Namespace"): {"phase": "Active"},
    ("", "Pod"): {"phase": "Pending", "qosClass": "BestEffort"},
    ("", "Service"): {"loadBalancer": {}},
    ("", "PersistentVolumeClaim"): {"phase": "Pending"},
    ("", "PersistentVolume"): {"phase": "Pending"},
}


def finish(kind: Kind, obj: Object) -> None:
    """What only the server sets in a new object, after fields have got their owners."""
    if kind.custom:
        return
    if kind.storage == ("", "namespaces"):
        obj["spec"] = {"finalizers": ["kubernetes"]}
    elif kind.storage == ("", "services") and obj["spec"]["type"] != "ExternalName":
        spec = obj["spec"]
        spec.setdefault("clusterIP", cluster_ip(obj))
        spec.setdefault("clusterIPs", [spec["clusterIP"]])
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")
    elif kind.storage == ("", "events") and not kind.group:
        blank: Object = {"reportingComponent": "", "reportingInstance": "", "source": {}}
        times = ("eventTime", "firstTimestamp", "lastTimestamp")
        for field, value in (*blank.items(), *dict.fromkeys(times).items()):
            obj.setdefault(field, value)
    status = _NEW_STATUS.get((kind.group, kind.kind))
    if status is not None:
        obj["status"] = dict(status)
