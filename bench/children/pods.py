"""Pods of an everyday size for a bench cluster to hold, and the two annotations by which a reader
recognises one write among others. Knows nothing of who stores or reads them."""

from __future__ import annotations

from typing import Any

NAMESPACE = "default"
GENERATION = "bench/generation"
"""Which wave of writes this is; the first objects have "0"."""
WRITTEN = "bench/written"
"""When it was written, in nanoseconds on this machine's monotonic clock."""


def name(number: int) -> str:
    return f"web-{number:05d}"


def pod(number: int) -> dict[str, Any]:
    """About 2 KB of JSON, a third of it the managedFields that every real object carries."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name(number),
            "namespace": NAMESPACE,
            "labels": {"app": f"app-{number % 100}", "pod-template-hash": f"{number % 100:08x}"},
            "annotations": {GENERATION: "0", WRITTEN: "0", "team": f"team-{number % 10}"},
        },
        "spec": {
            "nodeName": f"node-{number % 50}",
            "serviceAccountName": "default",
            "containers": [
                {
                    "name": "web",
                    "image": f"example/web:1.{number % 100}",
                    "ports": [{"name": "http", "containerPort": 8080}],
                    "env": [
                        {"name": "LEVEL", "value": "info"},
                        {"name": "SHARD", "value": str(number)},
                    ],
                    "resources": {
                        "requests": {"cpu": "100m", "memory": "128Mi"},
                        "limits": {"memory": "256Mi"},
                    },
                    "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}},
                    "volumeMounts": [{"name": "config", "mountPath": "/etc/web"}],
                }
            ],
            "volumes": [{"name": "config", "configMap": {"name": "web"}}],
            "tolerations": [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}],
        },
        "status": {
            "phase": "Running",
            "podIP": f"10.0.{number // 250 % 250}.{number % 250}",
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
                for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
            ],
        },
    }
