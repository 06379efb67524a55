from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.errors import InvalidInput
from fairlead.kube.service_account import in_cluster, runs_in_cluster
from tests.kube.pki import issue

AUTHORITY = issue("cluster", authority=True)


@pytest.fixture
def mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    (tmp_path / "token").write_text("mounted-token\n")
    (tmp_path / "ca.crt").write_bytes(AUTHORITY.cert_pem)
    (tmp_path / "namespace").write_text("fleet\n")
    return tmp_path


async def test_a_pod_reaches_its_cluster_by_its_service_account(mount: Path) -> None:
    access = in_cluster(mount)
    assert access.server == "https://10.96.0.1:443"
    assert access.tls.ca_pem == AUTHORITY.cert_pem
    assert access.namespace == "fleet"
    assert access.credentials.refreshable
    presented = await access.credentials.current()
    assert presented.authorization == "Bearer mounted-token"
    assert runs_in_cluster(mount)
    assert "mounted-token" not in repr(access)


async def test_the_rotated_token_is_used_after_a_refusal(mount: Path) -> None:
    credentials = in_cluster(mount).credentials
    refused = await credentials.current()
    (mount / "token").write_text("rotated")
    credentials.invalidate(refused)
    assert (await credentials.current()).authorization == "Bearer rotated"


def test_an_ipv6_host_gets_brackets(mount: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00:10:96::1")
    assert in_cluster(mount).server == "https://[fd00:10:96::1]:443"


def test_a_missing_namespace_is_no_namespace(mount: Path) -> None:
    (mount / "namespace").unlink()
    assert in_cluster(mount).namespace is None


@pytest.mark.parametrize("variable", ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"])
def test_outside_a_pod_the_remedy_is_a_kubeconfig(
    mount: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv(variable)
    with pytest.raises(InvalidInput, match=r"not a pod; .*kubeconfig"):
        in_cluster(mount)


def test_a_process_without_the_mount_is_not_in_a_cluster(
    mount: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not runs_in_cluster(mount / "elsewhere")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    assert not runs_in_cluster(mount)


@pytest.mark.parametrize("file", ["token", "ca.crt"])
def test_a_missing_file_is_named(mount: Path, file: str) -> None:
    (mount / file).unlink()
    with pytest.raises(InvalidInput, match=str(mount / file)):
        in_cluster(mount)


def test_a_damaged_authority_is_named(mount: Path) -> None:
    (mount / "ca.crt").write_text("nothing")
    with pytest.raises(InvalidInput, match=r"ca\.crt: .* holds no PEM certificate"):
        in_cluster(mount)


def test_a_port_that_is_none_is_refused(mount: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "tcp://10.0.0.1:443")
    with pytest.raises(InvalidInput, match="do not name a host and a port"):
        in_cluster(mount)
