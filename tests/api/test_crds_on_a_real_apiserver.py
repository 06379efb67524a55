"""Only a real kube-apiserver can judge a CRD."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.api.cluster_registry import ClusterRegistry
from fairlead.api.kinds import crd_files, kinds
from fairlead.api.meta import decode
from fairlead_sim.real import RealCluster

pytestmark = pytest.mark.real

Kubectl = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(kubectl: Path, real_cluster: RealCluster, tmp_path: Path) -> Kubectl:
    """Runs kubectl with a text on its standard input, the CRDs of `deploy/crds` applied."""
    kubeconfig = real_cluster.write_kubeconfig(tmp_path / "kubeconfig")

    def run_kubectl(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [kubectl, f"--kubeconfig={kubeconfig}", *arguments],
            input=text,
            env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )

    applied = run_kubectl(
        "apply", "--server-side", "-f", "-", text="---\n".join(crd_files().values())
    )
    assert applied.returncode == 0, applied.stderr
    for kind in kinds():
        waited = run_kubectl(
            "wait", "--for=condition=Established", "--timeout=30s", f"crd/{kind.crd_name}"
        )
        assert waited.returncode == 0, waited.stderr
    return run_kubectl


def registry(*clusters: dict[str, Any]) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "ramendr.openshift.io/v1alpha1",
            "kind": "ClusterRegistry",
            "metadata": {"name": f"r-{uuid.uuid4().hex[:8]}"},
            "spec": {"clusters": list(clusters)},
        }
    )


def cluster(**fields: Any) -> dict[str, Any]:
    return {"name": "cluster-1", "kubeconfigSecret": "cluster-1-kubeconfig"} | fields


def test_every_schema_is_structural_and_served_without_complaint(run: Kubectl) -> None:
    for kind in kinds():
        definition = json.loads(run("get", "crd", kind.crd_name, "-o", "json").stdout)
        conditions = {c["type"]: c["status"] for c in definition["status"]["conditions"]}

        assert conditions["NamesAccepted"] == "True"
        assert conditions["Established"] == "True"
        assert "NonStructuralSchema" not in conditions


def test_defaults_are_filled_in_by_the_apiserver(run: Kubectl) -> None:
    text = registry(cluster(region="us-east-1", endpoint="https://api.example.com:6443"))

    created = run("create", "-f", "-", "-o", "json", text=text)

    assert created.returncode == 0, created.stderr
    decoded = decode(json.loads(created.stdout), ClusterRegistry)
    assert decoded.spec is not None
    assert decoded.spec.clusters is not None
    assert decoded.spec.clusters[0].weight == 100
    assert decoded.spec.clusters[0].status == "Available"


@pytest.mark.parametrize(
    "clusters, complaint",
    [
        ([cluster(endpoint="http://api.example.com")], "must be an https:// address"),
        ([cluster(endpoint="nonsense")], "must be an https:// address"),
        ([cluster(healthCheck={"interval": "5s", "timeout": "1m"})], "timeout must not be longer"),
        ([cluster(healthCheck={"interval": "soon"})], "healthCheck.interval"),
        ([cluster(weight=-1)], "weight"),
        ([cluster(status="Perhaps")], "Unsupported value"),
        ([cluster(name="Not A Name")], "name"),
        ([cluster(), cluster()], "Duplicate value"),
        ([{"name": "cluster-1"}], "kubeconfigSecret: Required value"),
    ],
)
def test_what_the_schema_forbids_is_refused(
    run: Kubectl, clusters: list[dict[str, Any]], complaint: str
) -> None:
    refused = run("create", "-f", "-", text=registry(*clusters))

    assert refused.returncode != 0
    assert complaint in refused.stderr


def test_status_is_a_subresource_and_the_columns_show_it(run: Kubectl) -> None:
    name = json.loads(run("create", "-f", "-", "-o", "json", text=registry(cluster())).stdout)[
        "metadata"
    ]["name"]
    status = {
        "summary": "1 cluster: 1 healthy",
        "observedGeneration": 1,
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "AllHealthy",
                "message": "every cluster is healthy",
                "lastTransitionTime": "2024-01-01T00:00:00Z",
            }
        ],
        "clusters": [
            {
                "name": "cluster-1",
                "observer": "here",
                "health": "healthy",
                "responseTime": "12ms",
            }
        ],
    }
    patch = json.dumps({"status": status})
    target = ("clusterregistry", name, "--type=merge", "-p", patch)

    run("patch", *target)
    untouched = json.loads(run("get", "clreg", name, "-o", "json").stdout)
    patched = run("patch", *target, "--subresource=status")
    table = run("get", "clreg", name).stdout

    assert "status" not in untouched
    assert patched.returncode == 0, patched.stderr
    assert "READY" in table
    assert "1 cluster: 1 healthy" in table


def test_kubectl_explains_the_fields(run: Kubectl) -> None:
    explained = run("explain", "clusterregistry.spec.clusters.kubeconfigSecret")

    assert "who edits a ClusterRegistry cannot" in " ".join(explained.stdout.split())
