"""A kubeconfig for tests to start from and spoil."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import yaml

from tests.kube.pki import issue

AUTHORITY = issue("authority", authority=True)
CLIENT = issue("client", AUTHORITY)


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def config(
    cluster: dict[str, Any] | None = None,
    user: dict[str, Any] | None = None,
    context: dict[str, Any] | None = None,
    name: str = "prod",
    **top: Any,
) -> dict[str, Any]:
    """One context whose cluster and user have its name; a field given as None is left out."""

    def body(defaults: dict[str, Any], given: dict[str, Any] | None) -> dict[str, Any]:
        return {k: v for k, v in (defaults | (given or {})).items() if v is not None}

    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [
            {"name": name, "cluster": body({"server": f"https://{name}.example:6443"}, cluster)}
        ],
        "users": [{"name": name, "user": body({"token": f"{name}-token"}, user)}],
        "contexts": [{"name": name, "context": body({"cluster": name, "user": name}, context)}],
    } | top


def write(path: Path, *parts: Any, **options: Any) -> Path:
    data = parts[0] if parts else config(**options)
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return path
