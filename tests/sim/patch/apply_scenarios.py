"""Sequences of writes whose outcome a real kube-apiserver recorded into `apply_golden.json`.
Run this module with the URL of a server, a CA file and a token to record them again."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from fairlead_sim.patch import apply_merge_patch
from tests.sim.patch.wire import Send, connect

Step = dict[str, Any]
GOLDEN = Path(__file__).with_name("apply_golden.json")

WIDGET_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "replicas": {"type": "integer"},
                "text": {"type": "string", "nullable": True},
                "atomic": {"type": "array", "items": {"type": "string"}},
                "tags": {
                    "type": "array",
                    "items": {"type": "string"},
                    "x-kubernetes-list-type": "set",
                },
                "ports": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port", "protocol"],
                    "items": {
                        "type": "object",
                        "required": ["port", "protocol"],
                        "properties": {
                            "port": {"type": "integer"},
                            "protocol": {"type": "string", "default": "TCP"},
                            "name": {"type": "string"},
                            "options": {
                                "type": "object",
                                "additionalProperties": {"type": "string"},
                            },
                        },
                    },
                },
                "options": {"type": "object", "additionalProperties": {"type": "string"}},
                "frozen": {
                    "type": "object",
                    "x-kubernetes-map-type": "atomic",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "deep": {
                    "type": "object",
                    "properties": {
                        "one": {"type": "object", "properties": {"x": {"type": "integer"}}},
                        "two": {"type": "object", "properties": {"y": {"type": "integer"}}},
                    },
                },
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "phase": {"type": "string"},
                "conditions": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["type"],
                    "items": {
                        "type": "object",
                        "required": ["type"],
                        "properties": {
                            "type": {"type": "string"},
                            "status": {"type": "string"},
                            "message": {"type": "string"},
                        },
                    },
                },
            },
        },
    },
}
WIDGET_CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.golden.example.com"},
    "spec": {
        "group": "golden.example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": WIDGET_SCHEMA},
            }
        ],
    },
}
PATHS = {
    "ConfigMap": ("v1", "/api/v1/namespaces/default/configmaps"),
    "Service": ("v1", "/api/v1/namespaces/default/services"),
    "Deployment": ("apps/v1", "/apis/apps/v1/namespaces/default/deployments"),
    "Widget": ("golden.example.com/v1", "/apis/golden.example.com/v1/namespaces/default/widgets"),
}
CONTENT_TYPES = {
    "apply": "application/apply-patch+yaml",
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}


def _apply(body: Step, manager: str = "a", *, force: bool = False, at: str = "") -> Step:
    return {"verb": "apply", "manager": manager, "force": force, "subresource": at, "body": body}


def _do(verb: str, body: Any, manager: str = "u", *, at: str = "") -> Step:
    return {"verb": verb, "manager": manager, "subresource": at, "body": body}


def _web(*containers: Step, **spec: Any) -> Step:
    return {
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": list(containers)},
            },
            **spec,
        }
    }


def _spec(**fields: Any) -> Step:
    return {"spec": fields}


SCENARIOS: dict[str, tuple[str, list[Step]]] = {
    "two managers share equal values": (
        "ConfigMap",
        [
            _apply({"data": {"a": "1", "b": "1"}}),
            _apply({"data": {"a": "1", "c": "3"}}, "b"),
            _apply({"data": {"b": "1"}}),
            _apply({"data": {"c": "3"}}, "b"),
            _apply({"data": {"c": "4"}}),
            _apply({"data": {"c": "4"}}, force=True),
        ],
    ),
    "a no-op apply changes nothing": (
        "ConfigMap",
        [
            _apply({"data": {"a": "1"}, "metadata": {"labels": {"x": "y"}}}),
            _apply({"data": {"a": "1"}, "metadata": {"labels": {"x": "y"}}}),
            _apply({"data": {"a": "1"}}, "b"),
            _apply({}, "a"),
        ],
    ),
    "empty maps": (
        "ConfigMap",
        [
            _apply({"data": {}, "metadata": {"annotations": {}}}),
            _apply({"data": {"a": ""}}),
            _apply({}),
        ],
    ),
    "updates take ownership": (
        "ConfigMap",
        [
            _do("create", {"data": {"a": "1", "b": "2"}, "metadata": {"labels": {"l": "1"}}}),
            _apply({"data": {"a": "1"}}),
            _apply({"data": {"a": "2"}}),
            _apply({"data": {"a": "2"}}, force=True),
            _do("merge", {"data": {"a": "3", "b": None}}, "v"),
            _do("update", {"data": {"a": "3"}}, "w"),
            _do("json", [{"op": "add", "path": "/data/z", "value": "1"}], "v"),
            _do("merge", {"data": None}, "v"),
        ],
    ),
    "a write without managers before the first apply": (
        "ConfigMap",
        [
            _do("create", {"data": {"a": "1"}}),
            _do("merge", {"metadata": {"managedFields": [{}]}}),
            _do("merge", {"data": {"b": "1"}}),
            _apply({"data": {"a": "2"}}),
            _apply({"data": {"a": "2"}}, force=True),
        ],
    ),
    "kubectl takes over from client-side apply": (
        "ConfigMap",
        [
            _do(
                "create",
                {
                    "data": {"a": "1", "b": "1"},
                    "metadata": {
                        "annotations": {
                            "kubectl.kubernetes.io/last-applied-configuration": json.dumps(
                                {
                                    "apiVersion": "v1",
                                    "kind": "ConfigMap",
                                    "metadata": {"name": "x", "namespace": "default"},
                                    "data": {"a": "1", "b": "1"},
                                }
                            )
                        }
                    },
                },
                "kubectl-client-side-apply",
            ),
            _apply({"data": {"a": "2", "b": "1"}}, "kubectl"),
            _do("merge", {"data": {"b": "9"}}, "edit"),
            _apply({"data": {"a": "2", "b": "2"}}, "kubectl"),
        ],
    ),
    "finalizers and owners": (
        "ConfigMap",
        [
            _apply({"metadata": {"finalizers": ["example.com/a"]}}),
            _apply({"metadata": {"finalizers": ["example.com/b"]}}, "b"),
            _apply({"metadata": {}}),
            _apply(
                {
                    "metadata": {
                        "ownerReferences": [
                            {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "1-2"}
                        ]
                    }
                }
            ),
            _apply({}, "b"),
        ],
    ),
    "more than ten updaters": (
        "ConfigMap",
        [_do("create", {"data": {"k": "0"}}, "u00")]
        + [_do("merge", {"data": {f"k{i}": "1"}}, f"u{i:02}") for i in range(1, 13)],
    ),
    "containers of a deployment": (
        "Deployment",
        [
            _apply(_web({"name": "app", "image": "app:1"}, replicas=1)),
            _apply(
                {
                    "spec": {
                        "template": {
                            "spec": {
                                "containers": [
                                    {
                                        "name": "app",
                                        "env": [{"name": "A", "value": "1"}],
                                        "ports": [{"containerPort": 80}],
                                    }
                                ]
                            }
                        }
                    }
                },
                "b",
            ),
            _apply(
                _web(
                    {"name": "side", "image": "side:1"},
                    {"name": "app", "image": "app:2", "ports": [{"containerPort": 81}]},
                )
            ),
            _apply(_web({"name": "app", "image": "app:3"}, replicas=3), "b"),
            _apply(_web({"name": "app", "image": "app:3"}, replicas=3), "b", force=True),
            _apply({"spec": {"replicas": 3}}, "b"),
            _apply(_web({"name": "app", "image": "app:2"}, {"name": "app", "image": "app:2"})),
        ],
    ),
    "a deployment through its status and by patches": (
        "Deployment",
        [
            _do("create", _web({"name": "app", "image": "app:1"})),
            _do("merge", {"status": {"replicas": 1, "observedGeneration": 1}}, "ctl", at="status"),
            _do(
                "strategic",
                {"spec": {"template": {"spec": {"containers": [{"name": "two", "image": "t:1"}]}}}},
            ),
            _do("merge", {"spec": {"replicas": 2}, "status": {"replicas": 7}}, "other"),
            _do("update", {"spec": {"paused": True}}, "other"),
        ],
    ),
    "ports of a service": (
        "Service",
        [
            _apply({"spec": {"ports": [{"name": "a", "port": 80}], "selector": {"app": "x"}}}),
            _apply({"spec": {"ports": [{"name": "b", "port": 81, "protocol": "TCP"}]}}, "b"),
            _apply({"spec": {"selector": {"app": "y"}}}, "b"),
            _do("merge", {"spec": {"ports": [{"name": "a", "port": 80}]}}),
        ],
    ),
    "a custom resource with every kind of list": (
        "Widget",
        [
            _apply(
                _spec(
                    replicas=1,
                    atomic=["x", "y"],
                    tags=["one", "two"],
                    ports=[{"port": 80, "name": "http"}, {"port": 53, "protocol": "UDP"}],
                    options={"a": "1"},
                    frozen={"a": "1", "b": "2"},
                    free={"list": [1, {"a": 1}], "map": {"k": {"z": 1}}, "none": {}},
                )
            ),
            _apply(
                _spec(
                    tags=["three", "one"],
                    ports=[{"port": 53, "protocol": "UDP", "options": {"o": "1"}}],
                    options={"b": "2"},
                    free={"map": {"k": {"y": 1}}},
                ),
                "b",
            ),
            _apply(_spec(replicas=1, tags=["two"], ports=[{"port": 80}], free={"list": [1]})),
            _apply(_spec(atomic=["z"], frozen={"a": "1"}), "b"),
            _apply(_spec(replicas=2, frozen={"b": "1"}), "b"),
            _apply(_spec(replicas=2, frozen={"b": "1"}), "b", force=True),
            _apply(_spec(), "b"),
        ],
    ),
    "a custom resource is created and updated": (
        "Widget",
        [
            _do("create", _spec(replicas=1, tags=["a"], options={"a": "1"}, text=None)),
            _do("update", _spec(replicas=1, tags=["b"], options={"a": "1"})),
            _do("merge", _spec(ports=[{"port": 1, "name": "p"}], deep={"one": {"x": 1}})),
            _do("merge", _spec(deep={"one": None, "two": {"y": 1}}), "v"),
            _do("merge", _spec(tags=["b", "a"], free={"a": {"b": 1}}), "v"),
            _do("merge", _spec(tags=["a", "b"]), "v"),
            _do("merge", _spec(free={"a": [1]}, frozen={"a": "1"}), "v"),
            _do("merge", _spec(free=None, replicas=None), "v"),
        ],
    ),
    "status has its own entries": (
        "Widget",
        [
            _do("create", {"spec": {"replicas": 1}, "status": {"phase": "ignored"}}),
            _do("merge", {"status": {"phase": "Ready"}, "spec": {"replicas": 9}}, "c", at="status"),
            _apply({"status": {"conditions": [{"type": "A", "status": "True"}]}}, at="status"),
            _apply({"status": {"conditions": [{"type": "B", "status": "True"}]}}, "b", at="status"),
            _apply(
                {"status": {"conditions": [{"type": "A", "status": "False"}]}}, "b", at="status"
            ),
            _apply({"status": {"phase": "Gone"}, "spec": {"replicas": 4}}, force=True),
            _apply({"status": {}}, at="status"),
        ],
    ),
    "order of merged lists": (
        "Widget",
        [
            _apply(_spec(tags=["a", "b", "c", "d"])),
            _apply(_spec(tags=["x", "d", "y", "b"]), "b"),
            _apply(_spec(tags=["d", "c", "b", "a"])),
            _apply(_spec(tags=["q", "a"]), "c"),
            _apply(_spec(tags=["y"]), "b"),
        ],
    ),
    "an applied object must be well formed": (
        "Widget",
        [
            _apply(_spec(tags=["a", "a"])),
            _apply(_spec(ports=[{"port": 80}, {"port": 80, "protocol": "TCP"}])),
            _apply(_spec(ports=[{"name": "x"}])),
            _apply(_spec(unknown=1)),
            _apply({"apiVersion": "golden.example.com/v2", "spec": {}}),
            _apply({"metadata": {"managedFields": []}}),
            _apply(_spec(text=None, options={"a": "1"})),
            _apply(_spec(deep={"one": {"x": 1}})),
            _apply(_spec(deep={"two": {}})),
        ],
    ),
}


def record(send: Send) -> dict[str, Any]:
    """Run every scenario against a real server; its answers."""
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    send("POST", crds, WIDGET_CRD)
    for _ in range(100):
        if send("GET", PATHS["Widget"][1], None)[0] == 200:
            break
        time.sleep(0.1)
    golden: dict[str, Any] = {}
    for number, (name, (kind, steps)) in enumerate(SCENARIOS.items()):
        version, path = PATHS[kind]
        item = f"golden-{number}"
        live: Any = None
        golden[name] = []
        for step in steps:
            # The server knows seconds only; a change of a timestamp must show.
            time.sleep(1.05)
            body = request_body(step, version, kind, item, live)
            code, answer = _send_step(send, step, body, path, item)
            golden[name].append({"code": code, "answer": answer})
            if code < 300:
                live = answer
        send("PATCH", f"{path}/{item}", {"metadata": {"finalizers": None}}, CONTENT_TYPES["merge"])
        send("DELETE", f"{path}/{item}", None)
    return golden


def request_body(step: Step, version: str, kind: str, name: str, live: Any) -> Any:
    """What goes over the wire for a step."""
    body = step["body"]
    if step["verb"] in ("apply", "create"):
        metadata = {"name": name, "namespace": "default", **body.get("metadata", {})}
        return {"apiVersion": version, "kind": kind, **body, "metadata": metadata}
    if step["verb"] == "update":
        return apply_merge_patch(live, body)
    return body


def _send_step(send: Send, step: Step, body: Any, path: str, item: str) -> tuple[int, Any]:
    query = f"?fieldManager={step['manager']}"
    if step["verb"] == "create":
        return send("POST", path + query, body)
    target = f"{path}/{item}" + (f"/{step['subresource']}" if step["subresource"] else "")
    if step["verb"] == "update":
        return send("PUT", target + query, body)
    if step.get("force"):
        query += "&force=true"
    return send("PATCH", target + query, body, CONTENT_TYPES[step["verb"]])


if __name__ == "__main__":
    answers = record(connect(*sys.argv[1:4]))
    GOLDEN.write_text(json.dumps(answers, indent=1, sort_keys=True) + "\n")
