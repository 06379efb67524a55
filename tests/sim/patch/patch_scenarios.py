"""Patches of one object whose outcome a real kube-apiserver recorded into `patch_golden.json`.
Run this module with the URL of a server, a CA file and a token to record them again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.sim.patch.apply_scenarios import CONTENT_TYPES
from tests.sim.patch.wire import Send, connect

Object = dict[str, Any]
GOLDEN = Path(__file__).with_name("patch_golden.json")
PATH = "/apis/apps/v1/namespaces/default/deployments"


def _container(name: str, **fields: Any) -> Object:
    return {
        "name": name,
        "image": f"{name}:1",
        "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        **fields,
    }


DEPLOYMENT: Object = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "patched",
        "namespace": "default",
        "labels": {"a": "1", "b": "2"},
        "finalizers": ["example.com/a", "example.com/b"],
    },
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    _container(
                        "one",
                        args=["x", "y"],
                        env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                        ports=[
                            {"containerPort": 80, "protocol": "TCP"},
                            {"containerPort": 81, "protocol": "TCP"},
                        ],
                    ),
                    _container("two"),
                    _container("three"),
                ],
                "volumes": [{"name": "v", "emptyDir": {}}],
                "tolerations": [{"key": "k", "operator": "Exists"}],
            },
        },
    },
}


def _pod(**fields: Any) -> Object:
    return {"spec": {"template": {"spec": fields}}}


STRATEGIC: dict[str, Any] = {
    "merge by name": _pod(containers=[{"name": "two", "image": "two:2"}]),
    "add an item": _pod(containers=[{"name": "new", "image": "new:1"}]),
    "delete an item": _pod(containers=[{"name": "two", "$patch": "delete"}]),
    "replace the list": _pod(containers=[{"$patch": "replace"}, {"name": "x", "image": "x:1"}]),
    "order": {
        "spec": {
            "template": {
                "spec": {
                    "$setElementOrder/containers": [
                        {"name": "three"},
                        {"name": "two"},
                        {"name": "one"},
                    ]
                }
            }
        }
    },
    "order with an addition": _pod(
        **{
            "$setElementOrder/containers": [{"name": "new"}, {"name": "one"}],
            "containers": [{"name": "new", "image": "new:1"}],
        }
    ),
    "order that does not fit": _pod(
        **{
            "$setElementOrder/containers": [{"name": "one"}],
            "containers": [{"name": "new", "image": "new:1"}],
        }
    ),
    "nested lists": _pod(
        containers=[
            {
                "name": "one",
                "env": [{"name": "B", "$patch": "delete"}, {"name": "C", "value": "3"}],
                "ports": [{"containerPort": 80, "name": "http"}],
                "args": ["z"],
            }
        ]
    ),
    "retain keys": _pod(
        volumes=[{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}]
    ),
    "retain keys that do not fit": _pod(
        volumes=[{"name": "v", "$retainKeys": ["name"], "hostPath": {"path": "/x"}}]
    ),
    "retained strategy": {
        "spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}},
    },
    "atomic list": _pod(tolerations=[{"key": "other", "operator": "Exists"}]),
    "primitives are added": {"metadata": {"finalizers": ["example.com/c"]}},
    "primitives are deleted": {
        "metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}
    },
    "null removes": {"metadata": {"labels": {"a": None, "c": "3"}}},
    "replace a map": {"metadata": {"labels": {"$patch": "replace", "z": "1"}}},
    "delete a map": {"metadata": {"labels": {"$patch": "delete"}}},
    "without a merge key": _pod(containers=[{"image": "x"}]),
    "unknown directive": {"metadata": {"labels": {"$patch": "explode"}}},
}
JSON: dict[str, Any] = {
    "add": [{"op": "add", "path": "/metadata/labels/c", "value": "3"}],
    "add to a list": [
        {
            "op": "add",
            "path": "/spec/template/spec/containers/1",
            "value": {"name": "new", "image": "new:1"},
        }
    ],
    "append": [{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/z"}],
    "remove": [{"op": "remove", "path": "/metadata/labels/a"}],
    "remove what is not there": [{"op": "remove", "path": "/metadata/labels/zz"}],
    "remove below what is not there": [{"op": "remove", "path": "/metadata/no/zz"}],
    "replace": [{"op": "replace", "path": "/spec/replicas", "value": 2}],
    "replace what is not there": [{"op": "replace", "path": "/spec/nope", "value": 2}],
    "move": [{"op": "move", "from": "/metadata/labels/a", "path": "/metadata/labels/z"}],
    "copy": [{"op": "copy", "from": "/metadata/labels/a", "path": "/metadata/labels/z"}],
    "escapes": [{"op": "add", "path": "/metadata/labels/x.y~1z", "value": "1"}],
    "test": [
        {"op": "test", "path": "/metadata/labels/a", "value": "1"},
        {"op": "remove", "path": "/metadata/labels/a"},
    ],
    "failed test": [{"op": "test", "path": "/metadata/labels/a", "value": "2"}],
    "test of what is not there": [{"op": "test", "path": "/metadata/labels/zz", "value": "2"}],
    "index out of range": [{"op": "add", "path": "/metadata/finalizers/9", "value": "x"}],
    "remove an index out of range": [{"op": "remove", "path": "/metadata/finalizers/9"}],
    "unknown operation": [{"op": "explode", "path": "/metadata"}],
    "not a list": {"op": "add"},
}
MERGE: dict[str, Any] = {
    "lists are replaced": _pod(containers=[{"name": "only", "image": "only:1"}]),
    "null removes": {"metadata": {"labels": {"a": None}}, "spec": {"replicas": None}},
}


def record(send: Send) -> Object:
    """Patch one deployment in every way, without storing the outcome."""
    send("PATCH", f"{PATH}/patched", {"metadata": {"finalizers": None}}, CONTENT_TYPES["merge"])
    send("DELETE", f"{PATH}/patched", None)
    _, live = send("POST", PATH, DEPLOYMENT)
    cases = {"strategic": STRATEGIC, "json": JSON, "merge": MERGE}
    golden = {
        verb: {
            name: _outcome(*send("PATCH", f"{PATH}/patched?dryRun=All", body, CONTENT_TYPES[verb]))
            for name, body in bodies.items()
        }
        for verb, bodies in cases.items()
    }
    send("PATCH", f"{PATH}/patched", {"metadata": {"finalizers": None}}, CONTENT_TYPES["merge"])
    send("DELETE", f"{PATH}/patched", None)
    return {"live": _plain(live), "answers": golden}


def _outcome(code: int, answer: Any) -> Object:
    return {"code": code, **(_plain(answer) if code < 300 else {"message": answer["message"]})}


def _plain(obj: Object) -> Object:
    metadata = {k: obj["metadata"].get(k) for k in ("labels", "finalizers")}
    return {"object": {"metadata": metadata, "spec": obj["spec"]}}


if __name__ == "__main__":
    answers = record(connect(*sys.argv[1:4]))
    GOLDEN.write_text(json.dumps(answers, indent=1, sort_keys=True) + "\n")
