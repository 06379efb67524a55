"""What everybody else may rely on when a test asks for a real cluster."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead_sim.real import RealCluster, RealEtcd, User
from fairlead_sim.real.parts import KUBERNETES

pytestmark = pytest.mark.real

Kubectl = Callable[..., str]


@pytest.fixture
def run(kubectl: Path, tmp_path: Path) -> Kubectl:
    """Runs kubectl against a cluster and gives what it printed."""

    def run_kubectl(cluster: RealCluster, *arguments: str, certificate: bool = False) -> str:
        kubeconfig = cluster.write_kubeconfig(
            tmp_path / f"{cluster.name}.kubeconfig", certificate=certificate
        )
        ran = subprocess.run(
            [kubectl, f"--kubeconfig={kubeconfig}", *arguments],
            env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    return run_kubectl


def trusting(ca_pem: bytes) -> urllib.request.OpenerDirector:
    """Opens addresses whose certificate this authority signed, never through a proxy."""
    tls = ssl.create_default_context(cadata=ca_pem.decode())
    return urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=tls)
    )


def ask(cluster: RealCluster, path: str, token: str) -> tuple[int, dict[str, Any]]:
    """GET with a bearer token; the status code and the decoded body."""
    request = urllib.request.Request(
        cluster.url + path, headers={"Authorization": f"Bearer {token}"}
    )
    try:
        with trusting(cluster.ca_pem).open(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def unique(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex[:8]}"


def test_clusters_on_one_etcd_do_not_see_each_other(
    real_clusters: tuple[RealCluster, ...], run: Kubectl
) -> None:
    names = {cluster.name: unique(cluster.name) for cluster in real_clusters}
    for cluster in real_clusters:
        run(cluster, "create", "namespace", names[cluster.name])
    for cluster in real_clusters:
        seen = run(cluster, "get", "namespaces", "-o", "name").split()
        assert [name for name in names.values() if f"namespace/{name}" in seen] == [
            names[cluster.name]
        ]


def test_clusters_do_not_accept_the_credentials_of_each_other(
    real_clusters: tuple[RealCluster, ...],
) -> None:
    first, second, _ = real_clusters
    assert ask(second, "/api/v1/namespaces", first.token())[0] == 401
    opener = trusting(first.ca_pem)
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        opener.open(f"{second.url}/readyz", timeout=10)


def test_client_and_server_say_the_version_that_was_built(
    real_cluster: RealCluster, run: Kubectl
) -> None:
    said = json.loads(run(real_cluster, "version", "-o", "json"))
    assert said["clientVersion"]["gitVersion"] == KUBERNETES
    assert said["serverVersion"]["gitVersion"] == KUBERNETES
    assert said["serverVersion"]["minor"] == KUBERNETES.split(".")[1]


def test_a_namespace_and_all_in_it_can_be_deleted(real_cluster: RealCluster, run: Kubectl) -> None:
    namespace = unique("orders")
    run(real_cluster, "create", "namespace", namespace)
    run(real_cluster, "-n", namespace, "create", "configmap", "settings", "--from-literal=a=1")
    said = run(real_cluster, "-n", namespace, "get", "configmap", "settings", "-o", "json")
    assert json.loads(said)["data"] == {"a": "1"}
    run(real_cluster, "-n", namespace, "delete", "configmap", "settings")
    run(real_cluster, "-n", namespace, "create", "configmap", "left-over")

    run(real_cluster, "delete", "namespace", namespace, "--timeout=30s")

    path = f"/api/v1/namespaces/{namespace}/configmaps/left-over"
    assert ask(real_cluster, path, real_cluster.token())[0] == 404


def test_what_is_owned_goes_with_its_owner(real_cluster: RealCluster, run: Kubectl) -> None:
    namespace = unique("garbage")
    run(real_cluster, "create", "namespace", namespace)
    run(real_cluster, "-n", namespace, "create", "configmap", "owner")
    owner = json.loads(
        run(real_cluster, "-n", namespace, "get", "configmap", "owner", "-o", "json")
    )
    run(real_cluster, "-n", namespace, "create", "configmap", "owned")
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
    }
    patch = json.dumps({"metadata": {"ownerReferences": [reference]}})
    run(real_cluster, "-n", namespace, "patch", "configmap", "owned", "--type=merge", "-p", patch)

    run(real_cluster, "-n", namespace, "delete", "configmap", "owner")

    owned = ("-n", namespace, "configmap/owned", "--timeout=30s")
    run(real_cluster, "wait", "--for=delete", *owned)


def test_the_administrator_may_show_a_token_or_a_certificate(
    real_cluster: RealCluster, run: Kubectl
) -> None:
    for certificate in (False, True):
        said = run(real_cluster, "auth", "whoami", "-o", "json", certificate=certificate)
        user = json.loads(said)["status"]["userInfo"]
        assert user["username"] == "admin"
        assert "system:masters" in user["groups"]


def test_a_user_without_rights_is_refused(real_cluster: RealCluster) -> None:
    status, answer = ask(real_cluster, "/api/v1/namespaces", real_cluster.token("nobody"))
    assert (status, answer["reason"]) == (403, "Forbidden")
    assert 'User "nobody" cannot list resource "namespaces"' in answer["message"]


def test_a_token_nobody_minted_is_refused(real_cluster: RealCluster) -> None:
    assert ask(real_cluster, "/api/v1/namespaces", "made-up")[0] == 401


def test_a_kubeconfig_is_for_its_owner_only(real_cluster: RealCluster, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("somebody else may read this")
    path.chmod(0o644)
    real_cluster.write_kubeconfig(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_certificate_is_good_for_localhost(real_cluster: RealCluster) -> None:
    url = real_cluster.url.replace("127.0.0.1", "localhost")
    with trusting(real_cluster.ca_pem).open(f"{url}/readyz", timeout=10) as answer:
        assert answer.read() == b"ok"


async def test_a_crashed_cluster_comes_back_as_it_was(
    real_etcd: RealEtcd, tmp_path: Path, run: Kubectl
) -> None:
    cluster = RealCluster(unique("crashing"), real_etcd, tmp_path / "cluster", controllers=False)
    try:
        await cluster.start()
        run(cluster, "create", "namespace", "kept")
        url, kubeconfig, pids = cluster.url, cluster.kubeconfig(), cluster.pids

        await cluster.crash()
        assert cluster.pids == ()
        assert not any(alive(pid) for pid in pids)
        with pytest.raises(urllib.error.URLError, match="Connection refused"):
            ask(cluster, "/readyz", cluster.token())

        await cluster.start()
        assert (cluster.url, cluster.kubeconfig()) == (url, kubeconfig)
        assert "namespace/kept" in run(cluster, "get", "namespaces", "-o", "name").split()
    finally:
        await cluster.stop()


async def test_stop_leaves_no_process_and_may_be_repeated(
    real_etcd: RealEtcd, tmp_path: Path
) -> None:
    alice = User("alice", ("readers",))
    cluster = RealCluster(unique("stopping"), real_etcd, tmp_path / "cluster", users=[alice])
    await cluster.stop()
    await cluster.start()
    pids = cluster.pids
    assert len(pids) == 2
    assert all(alive(pid) for pid in pids)
    path = "/apis/authentication.k8s.io/v1"
    assert ask(cluster, path, cluster.token("alice"))[0] == 200

    await cluster.stop()
    await cluster.stop()

    assert cluster.pids == ()
    assert not any(alive(pid) for pid in pids)
