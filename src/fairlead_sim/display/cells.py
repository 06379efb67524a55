"""How a cell of a built-in kind's table is read from an object. Pure; which cells make a table is
decided elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from fairlead_sim.display.durations import age
from fairlead_sim.kinds.catalogue import Object

Cell = Callable[[Object, datetime], Any]


def at(obj: Any, path: str) -> Any:
    for step in path.split("."):
        obj = obj.get(step) if isinstance(obj, dict) else None
    return obj


def count(field: str) -> Cell:
    return lambda obj, now: len(obj.get(field) or ())


def config_count(obj: Object, now: datetime) -> int:
    return len(obj.get("data") or ()) + len(obj.get("binaryData") or ())


def ready(wanted: str, have: str) -> Cell:
    return lambda obj, now: f"{at(obj, have) or 0}/{at(obj, wanted) or 0}"


def _template(obj: Object) -> list[Object]:
    return at(obj, "spec.template.spec.containers") or []


def container_names(obj: Object, now: datetime) -> str:
    return ",".join(str(each.get("name", "")) for each in _template(obj))


def container_images(obj: Object, now: datetime) -> str:
    return ",".join(str(each.get("image", "")) for each in _template(obj))


def format_selector(selector: Object | None) -> str:
    """A LabelSelector, or a plain map, as text."""
    if not selector:
        return "<none>"
    labels = selector.get("matchLabels") if "matchLabels" in selector else selector
    terms = [
        f"{key}={value}" for key, value in sorted((labels or {}).items()) if isinstance(value, str)
    ]
    for each in selector.get("matchExpressions") or ():
        values = ",".join(each.get("values") or ())
        word = {"In": f"in ({values})", "NotIn": f"notin ({values})"}.get(each["operator"], "")
        negation = "!" if each["operator"] == "DoesNotExist" else ""
        terms.append(f"{negation}{each['key']} {word}".strip())
    return ",".join(terms) or "<none>"


def selector_text(obj: Object, now: datetime) -> str:
    return format_selector(at(obj, "spec.selector"))


def pod_ready(obj: Object, now: datetime) -> str:
    statuses = at(obj, "status.containerStatuses") or []
    ready = sum(1 for each in statuses if each.get("ready"))
    return f"{ready}/{len(at(obj, 'spec.containers') or [])}"


def pod_status(obj: Object, now: datetime) -> str:
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for status in at(obj, "status.containerStatuses") or ():
        for state in ("waiting", "terminated"):
            if reason := at(status, f"state.{state}.reason"):
                return str(reason)
    return str(at(obj, "status.reason") or at(obj, "status.phase") or "Unknown")


def restarts(obj: Object, now: datetime) -> str:
    statuses = at(obj, "status.containerStatuses") or []
    return str(sum(int(each.get("restartCount") or 0) for each in statuses))


def ports(obj: Object, now: datetime) -> str:
    texts = []
    for port in at(obj, "spec.ports") or ():
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        texts.append(f"{port.get('port')}{node}/{port.get('protocol', 'TCP')}")
    return ",".join(texts) or "<none>"


def external_ip(obj: Object, now: datetime) -> str:
    kind = at(obj, "spec.type")
    if kind == "ExternalName":
        return str(at(obj, "spec.externalName") or "<none>")
    found = list(at(obj, "spec.externalIPs") or ())
    ingress = at(obj, "status.loadBalancer.ingress") or []
    found = [str(each.get("ip") or each.get("hostname")) for each in ingress] + found
    if found:
        return ",".join(found)
    return "<pending>" if kind == "LoadBalancer" else "<none>"


def endpoints(obj: Object, now: datetime) -> str:
    found = [
        f"{address.get('ip')}:{port.get('port')}"
        for subset in obj.get("subsets") or ()
        for port in subset.get("ports") or ()
        for address in subset.get("addresses") or ()
    ]
    more = f" + {len(found) - 3} more..." if len(found) > 3 else ""
    return (",".join(found[:3]) + more) or "<none>"


def node_status(obj: Object, now: datetime) -> str:
    ready = [each for each in at(obj, "status.conditions") or () if each.get("type") == "Ready"]
    text = "Unknown"
    if ready:
        text = "Ready" if ready[0].get("status") == "True" else "NotReady"
    return f"{text},SchedulingDisabled" if at(obj, "spec.unschedulable") else text


def node_roles(obj: Object, now: datetime) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = obj["metadata"].get("labels") or {}
    roles = sorted(key.removeprefix(prefix) for key in labels if key.startswith(prefix))
    return ",".join(roles) or "<none>"


def event_object(obj: Object, now: datetime) -> str:
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    return f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"


def event_seen(obj: Object, now: datetime) -> str:
    for path in (
        "series.lastObservedTime", "lastTimestamp", "deprecatedLastTimestamp", "eventTime",
        "firstTimestamp",
    ):  # fmt: skip
        if found := at(obj, path):
            return age(found, now)
    return age(obj["metadata"].get("creationTimestamp"), now)


def event_first_seen(obj: Object, now: datetime) -> str:
    found = obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp") or obj.get("eventTime")
    return age(found, now)


def event_count(obj: Object, now: datetime) -> int:
    return int(at(obj, "series.count") or obj.get("count") or obj.get("deprecatedCount") or 1)


def event_source(obj: Object, now: datetime) -> str:
    source = obj.get("source") or obj.get("deprecatedSource") or {}
    component = source.get("component") or obj.get("reportingComponent")
    host = source.get("host")
    return ", ".join(str(each) for each in (component, host) if each)


def event_message(obj: Object, now: datetime) -> str:
    return str(obj.get("message") or obj.get("note") or "").strip()


def job_status(obj: Object, now: datetime) -> str:
    for condition in at(obj, "status.conditions") or ():
        if condition.get("status") == "True" and condition.get("type") in (
            "Complete", "Failed", "Suspended",
        ):  # fmt: skip
            return str(condition["type"])
    return "Running"


def role(obj: Object, now: datetime) -> str:
    return f"{at(obj, 'roleRef.kind')}/{at(obj, 'roleRef.name')}"


def hosts(obj: Object, now: datetime) -> str:
    rules = at(obj, "spec.rules") or []
    return ",".join(str(each.get("host") or "*") for each in rules) or "*"


def modes(obj: Object, now: datetime) -> str:
    short = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX"}
    return ",".join(short.get(each, "RWOP") for each in at(obj, "spec.accessModes") or ())
