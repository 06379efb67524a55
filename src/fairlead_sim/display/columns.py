"""The printer columns of built-in kinds, one line for each. Data only; custom kinds bring their own
columns."""

from __future__ import annotations

from typing import Any

from fairlead_sim.display.cells import (
    Cell,
    at,
    config_count,
    container_images,
    container_names,
    count,
    endpoints,
    event_count,
    event_first_seen,
    event_message,
    event_object,
    event_seen,
    event_source,
    external_ip,
    format_selector,
    hosts,
    job_status,
    modes,
    node_roles,
    node_status,
    pod_ready,
    pod_status,
    ports,
    ready,
    restarts,
    role,
    selector_text,
)
from fairlead_sim.display.durations import age
from fairlead_sim.kinds.catalogue import Column

Columns = list[tuple[Column, Cell]]

NAME = Column(
    "Name",
    format="name",
    description=(
        "Name must be unique within a namespace. Is required when creating resources, although "
        "some resources may allow a client to request the generation of an appropriate name "
        "automatically. Name is primarily intended for creation idempotence and configuration "
        "definition. Cannot be updated. More info: "
        "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
    ),
)
_AGE_TEXT = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. "
    "It is not guaranteed to be set in happens-before order across separate operations. Clients "
    "may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the "
    "system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)


def _column(
    name: str, read: str | Cell, *, type: str = "string", wide: bool = False, empty: Any = None
) -> tuple[Column, Cell]:
    """`read` is a dotted path or a function; `empty` is shown where there is nothing."""
    default = (0 if type == "integer" else "") if empty is None else empty
    column = Column(name, type, 1 if wide else 0)
    if callable(read):
        return column, read
    return column, lambda obj, now: found if (found := at(obj, read)) is not None else default


def _age() -> tuple[Column, Cell]:
    return Column("Age", description=_AGE_TEXT), lambda obj, now: age(
        obj["metadata"].get("creationTimestamp"), now
    )


def _wide_template() -> Columns:
    return [
        _column("Containers", container_names, wide=True),
        _column("Images", container_images, wide=True),
        _column("Selector", selector_text, wide=True),
    ]


def _replicated(*more: tuple[Column, Cell]) -> Columns:
    return [
        _column("Desired", "spec.replicas", type="integer"),
        _column("Current", "status.replicas", type="integer"),
        _column("Ready", "status.readyReplicas", type="integer"),
        _age(),
        *more,
    ]


def _webhooks() -> Columns:
    return [_column("Webhooks", count("webhooks"), type="integer"), _age()]


# Their name says nothing, so it stands last.
WITHOUT_NAME = ("Event",)

BUILTIN_COLUMNS: dict[tuple[str, str], Columns] = {
    ("", "ConfigMap"): [_column("Data", config_count), _age()],
    ("", "Secret"): [
        _column("Type", "type"),
        _column("Data", count("data")),
        _age(),
    ],
    ("", "ServiceAccount"): [_column("Secrets", count("secrets")), _age()],
    ("", "Namespace"): [_column("Status", "status.phase"), _age()],
    ("", "Endpoints"): [_column("Endpoints", endpoints), _age()],
    ("", "Node"): [
        _column("Status", node_status),
        _column("Roles", node_roles),
        _age(),
        _column("Version", "status.nodeInfo.kubeletVersion"),
    ],
    ("", "Pod"): [
        _column("Ready", pod_ready),
        _column("Status", pod_status),
        _column("Restarts", restarts),
        _age(),
        _column("IP", "status.podIP", wide=True, empty="<none>"),
        _column("Node", "spec.nodeName", wide=True, empty="<none>"),
        _column("Nominated Node", "status.nominatedNodeName", wide=True, empty="<none>"),
        _column("Readiness Gates", lambda obj, now: "<none>", wide=True),
    ],
    ("", "Service"): [
        _column("Type", "spec.type"),
        _column("Cluster-IP", "spec.clusterIP", empty="<none>"),
        _column("External-IP", external_ip),
        _column("Port(s)", ports),
        _age(),
        _column("Selector", selector_text, wide=True),
    ],
    ("", "PersistentVolumeClaim"): [
        _column("Status", "status.phase"),
        _column("Volume", "spec.volumeName"),
        _column("Capacity", "status.capacity.storage"),
        _column("Access Modes", modes),
        _column("StorageClass", "spec.storageClassName"),
        _column("VolumeAttributesClass", "spec.volumeAttributesClassName", empty="<unset>"),
        _age(),
        _column("VolumeMode", "spec.volumeMode", wide=True),
    ],
    ("", "PersistentVolume"): [
        _column("Capacity", "spec.capacity.storage"),
        _column("Access Modes", modes),
        _column("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
        _column("Status", "status.phase"),
        _column("Claim", "spec.claimRef.name"),
        _column("StorageClass", "spec.storageClassName"),
        _age(),
        _column("VolumeMode", "spec.volumeMode", wide=True),
    ],
    ("", "Event"): [
        _column("Last Seen", event_seen),
        _column("Type", "type"),
        _column("Reason", "reason"),
        _column("Object", event_object),
        _column("Subobject", "involvedObject.fieldPath", wide=True),
        _column("Source", event_source, wide=True),
        _column("Message", event_message),
        _column("First Seen", event_first_seen, wide=True),
        _column("Count", event_count, type="integer", wide=True),
        _column("Name", "metadata.name", wide=True),
    ],
    ("apps", "Deployment"): [
        _column("Ready", ready("spec.replicas", "status.readyReplicas")),
        _column("Up-to-date", "status.updatedReplicas", type="integer"),
        _column("Available", "status.availableReplicas", type="integer"),
        _age(),
        *_wide_template(),
    ],
    ("apps", "StatefulSet"): [
        _column("Ready", ready("spec.replicas", "status.readyReplicas")),
        _age(),
        *_wide_template()[:2],
    ],
    ("apps", "ReplicaSet"): _replicated(*_wide_template()),
    ("apps", "DaemonSet"): [
        _column("Desired", "status.desiredNumberScheduled", type="integer"),
        _column("Current", "status.currentNumberScheduled", type="integer"),
        _column("Ready", "status.numberReady", type="integer"),
        _column("Up-to-date", "status.updatedNumberScheduled", type="integer"),
        _column("Available", "status.numberAvailable", type="integer"),
        _column("Node Selector", lambda obj, now: format_selector(
            at(obj, "spec.template.spec.nodeSelector"))),
        _age(),
        *_wide_template(),
    ],
    ("batch", "Job"): [
        _column("Status", job_status),
        _column("Completions", ready("spec.completions", "status.succeeded")),
        _column("Duration", lambda obj, now: age(at(obj, "status.startTime"), now)
                if at(obj, "status.startTime") else ""),
        _age(),
        *_wide_template(),
    ],
    ("batch", "CronJob"): [
        _column("Schedule", "spec.schedule"),
        _column("Timezone", "spec.timeZone", empty="<none>"),
        _column("Suspend", lambda obj, now: str(bool(at(obj, "spec.suspend"))), type="boolean"),
        _column("Active", lambda obj, now: len(at(obj, "status.active") or ()), type="integer"),
        _column("Last Schedule", lambda obj, now: age(at(obj, "status.lastScheduleTime"), now)
                if at(obj, "status.lastScheduleTime") else "<none>"),
        _age(),
    ],
    ("coordination.k8s.io", "Lease"): [_column("Holder", "spec.holderIdentity"), _age()],
    ("networking.k8s.io", "Ingress"): [
        _column("Class", "spec.ingressClassName", empty="<none>"),
        _column("Hosts", hosts),
        _column("Address", lambda obj, now: ",".join(
            str(each.get("ip") or each.get("hostname"))
            for each in at(obj, "status.loadBalancer.ingress") or ())),
        _column("Ports", lambda obj, now: "80, 443" if at(obj, "spec.tls") else "80"),
        _age(),
    ],
    ("networking.k8s.io", "NetworkPolicy"): [
        _column("Pod-Selector", lambda obj, now: format_selector(at(obj, "spec.podSelector"))),
        _age(),
    ],
    ("policy", "PodDisruptionBudget"): [
        _column("Min Available", "spec.minAvailable", empty="N/A"),
        _column("Max Unavailable", "spec.maxUnavailable", empty="N/A"),
        _column("Allowed Disruptions", "status.disruptionsAllowed", type="integer"),
        _age(),
    ],
    ("rbac.authorization.k8s.io", "RoleBinding"): [_column("Role", role), _age()],
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): [_column("Role", role), _age()],
    ("rbac.authorization.k8s.io", "Role"): [
        _column("Created At", "metadata.creationTimestamp")
    ],
    ("rbac.authorization.k8s.io", "ClusterRole"): [
        _column("Created At", "metadata.creationTimestamp")
    ],
    ("storage.k8s.io", "StorageClass"): [
        _column("Provisioner", "provisioner"),
        _column("ReclaimPolicy", "reclaimPolicy"),
        _column("VolumeBindingMode", "volumeBindingMode"),
        _column("AllowVolumeExpansion", lambda obj, now: str(
            bool(obj.get("allowVolumeExpansion"))).lower()),
        _age(),
    ],
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _webhooks(),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _webhooks(),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): [
        _column("Validations", lambda obj, now: len(at(obj, "spec.validations") or ()),
                type="integer"),
        _column("ParamKind", "spec.paramKind.kind", empty="<unset>"),
        _age(),
    ],
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): [
        _column("PolicyName", "spec.policyName"),
        _column("ParamRef", "spec.paramRef.name", empty="<unset>"),
        _age(),
    ],
    ("apiextensions.k8s.io", "CustomResourceDefinition"): [
        _column("Created At", "metadata.creationTimestamp")
    ],
    ("discovery.k8s.io", "EndpointSlice"): [
        _column("AddressType", "addressType"),
        _column("Ports", lambda obj, now: ",".join(
            str(each.get("port")) for each in obj.get("ports") or ()) or "<unset>"),
        _column("Endpoints", lambda obj, now: ",".join(
            address for each in obj.get("endpoints") or ()
            for address in each.get("addresses") or ()) or "<unset>"),
        _age(),
    ],
}  # fmt: skip

PLAIN_COLUMNS: Columns = [(Column("Created At", description=_AGE_TEXT), lambda obj, now: obj[
    "metadata"].get("creationTimestamp"))]  # fmt: skip
