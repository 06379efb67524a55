"""Pods and what makes pods: the defaults clients see and the mistakes they make most."""

from __future__ import annotations

from fairlead_sim.kinds.builtin_rules.field_errors import Errors, go_map, invalid, required
from fairlead_sim.kinds.catalogue import Kind, Object
from fairlead_sim.objects.selectors import match_labels


def _pod_spec(spec: Object) -> None:
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    if spec.get("serviceAccountName"):
        spec.setdefault("serviceAccount", spec["serviceAccountName"])
    for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
        image = str(container.get("image", ""))
        latest = image.endswith(":latest") or ":" not in image.rsplit("/", 1)[-1]
        container.setdefault("resources", {})
        container.setdefault("terminationMessagePath", "/dev/termination-log")
        container.setdefault("terminationMessagePolicy", "File")
        container.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
        for port in container.get("ports") or ():
            port.setdefault("protocol", "TCP")


def _containers_errors(spec: Object, path: str) -> Errors:
    containers = spec.get("containers") or []
    if not containers:
        return [required(f"{path}.containers")]
    errors = []
    for index, container in enumerate(containers):
        if not container.get("name"):
            errors.append(required(f"{path}.containers[{index}].name"))
        if not container.get("image") and path != "spec":
            errors.append(required(f"{path}.containers[{index}].image"))
    return errors


def pod(kind: Kind, obj: Object, old: Object | None) -> Errors:
    spec = obj.setdefault("spec", {})
    _pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    spec.setdefault("serviceAccountName", "default")
    spec.setdefault("serviceAccount", spec["serviceAccountName"])
    return _containers_errors(spec, "spec")


def workload(kind: Kind, obj: Object, old: Object | None) -> Errors:
    spec = obj.setdefault("spec", {})
    template = spec.get("template") or {}
    if kind.kind != "DaemonSet":
        spec.setdefault("replicas", 1)
    match kind.kind:
        case "Deployment":
            spec.setdefault("revisionHistoryLimit", 10)
            spec.setdefault("progressDeadlineSeconds", 600)
            strategy = spec.setdefault("strategy", {})
            if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
                rolling = strategy.setdefault("rollingUpdate", {})
                rolling.setdefault("maxUnavailable", "25%")
                rolling.setdefault("maxSurge", "25%")
        case "StatefulSet":
            spec.setdefault("revisionHistoryLimit", 10)
            spec.setdefault("podManagementPolicy", "OrderedReady")
            update = spec.setdefault("updateStrategy", {"type": "RollingUpdate"})
            if update.get("type") == "RollingUpdate":
                update.setdefault("rollingUpdate", {"partition": 0})
        case "DaemonSet":
            spec.setdefault("revisionHistoryLimit", 10)
            spec.setdefault(
                "updateStrategy",
                {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            )
    if "spec" in template:
        _pod_spec(template["spec"])
    return _workload_errors(spec, old)


def _workload_errors(spec: Object, old: Object | None) -> Errors:
    selector, template = spec.get("selector"), spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    errors: Errors = []
    if not selector:
        errors.append(required("spec.selector"))
    if not selector or not match_labels(selector, labels):
        why = "`selector` does not match template `labels`"
        errors.append(invalid("spec.template.metadata.labels", go_map(labels), why))
    if old and selector and selector != (old.get("spec") or {}).get("selector"):
        errors.append(invalid("spec.selector", go_map(selector), "field is immutable"))
    replicas = spec.get("replicas", 0)
    if isinstance(replicas, int) and replicas < 0:
        why = "must be greater than or equal to 0"
        errors.append(invalid("spec.replicas", str(replicas), why))
    return errors + _containers_errors(template.get("spec") or {}, "spec.template.spec")


def job(kind: Kind, obj: Object, old: Object | None) -> Errors:
    spec = obj.setdefault("spec", {})
    for field, value in {
        "parallelism": 1, "completions": 1, "backoffLimit": 6, "completionMode": "NonIndexed",
        "suspend": False, "podReplacementPolicy": "TerminatingOrFailed",
    }.items():  # fmt: skip
        spec.setdefault(field, value)
    template = spec.setdefault("template", {})
    uid = obj["metadata"]["uid"]
    labels = template.setdefault("metadata", {}).setdefault("labels", {})
    if old is None and not spec.get("selector"):
        name = obj["metadata"]["name"]
        for prefix in ("", "batch.kubernetes.io/"):
            labels |= {f"{prefix}controller-uid": uid, f"{prefix}job-name": name}
        spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    _pod_spec(template.setdefault("spec", {}))
    return _containers_errors(template["spec"], "spec.template.spec")


def cron_job(kind: Kind, obj: Object, old: Object | None) -> Errors:
    spec = obj.setdefault("spec", {})
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    return [] if spec.get("schedule") else [required("spec.schedule")]
