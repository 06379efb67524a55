"""`fairlead clusters` as a person and as a script uses it."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
import yaml

from fairlead.cli.exit_codes import ExitCode
from tests.cli.conftest import Command, Sims


def test_list_shows_every_cluster_with_its_health(fairlead: Command, fleet: Path) -> None:
    result = fairlead("clusters", "list", "--config", fleet)
    assert result.code == ExitCode.OK
    header, east, west = result.out.splitlines()
    assert header.split()[:3] == ["NAME", "REGION", "HEALTH"]
    assert east.split()[:3] == ["east", "eu", "healthy"]
    assert west.split()[:3] == ["west", "us", "healthy"]


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_list_gives_programs_the_same_rows_without_secrets(
    fairlead: Command, fleet: Path, sims: Sims, output: str
) -> None:
    result = fairlead("clusters", "list", "-c", fleet, "-o", output)
    rows = json.loads(result.out) if output == "json" else yaml.safe_load(result.out)
    assert [row["name"] for row in rows] == ["east", "west"]
    assert rows[0]["identity"] == sims.clusters["east"].identity
    assert rows[0]["version"].startswith("v1.")
    assert sims.clusters["east"].admin_token not in result.out + result.err


def test_the_configuration_can_be_named_before_the_command(fairlead: Command, fleet: Path) -> None:
    assert "east" in fairlead("--config", fleet, "clusters", "list", "--no-check").out


def test_check_tells_some_from_all_by_its_exit_code(
    fairlead: Command, fleet: Path, sims: Sims
) -> None:
    assert fairlead("clusters", "check", "-c", fleet).code == ExitCode.OK
    sims.do(sims.clusters["west"].faults.partition())
    some = fairlead("clusters", "check", "-c", fleet)
    assert some.code == ExitCode.PARTIAL
    assert "connection refused" in some.err
    assert fairlead("clusters", "check", "east", "-c", fleet).code == ExitCode.OK
    sims.do(sims.clusters["east"].faults.partition())
    assert fairlead("clusters", "check", "-c", fleet).code == ExitCode.UNREACHABLE


def test_check_says_when_no_cluster_lets_us_in(fairlead: Command, fleet: Path, sims: Sims) -> None:
    for cluster in sims.clusters.values():
        cluster.revoke_token(cluster.admin_token)
    result = fairlead("clusters", "check", "-c", fleet)
    assert result.code == ExitCode.FORBIDDEN
    assert sims.clusters["east"].admin_token not in result.out + result.err


def test_a_bad_entry_is_named_and_the_others_are_listed(fairlead: Command, fleet: Path) -> None:
    text = (fleet / "clusters.yaml").read_text() + "- name: BAD NAME\n"
    (fleet / "clusters.yaml").write_text(text)
    assert fairlead("clusters", "list", "-c", fleet).code == ExitCode.PARTIAL
    result = fairlead("clusters", "check", "-c", fleet)
    assert "clusters.yaml:8" in result.err
    assert "east" in result.out
    assert result.code == ExitCode.PARTIAL


def test_an_unknown_name_is_an_error_that_names_the_known(fairlead: Command, fleet: Path) -> None:
    result = fairlead("clusters", "check", "nort", "-c", fleet)
    assert result.code == ExitCode.ERROR
    assert "there is no cluster 'nort'; known: east, west" in result.err


def test_a_cluster_is_added_used_and_removed(fairlead: Command, sims: Sims, tmp_path: Path) -> None:
    cluster = sims.start("north")
    cluster.write_kubeconfig(tmp_path / "k")
    config = tmp_path / "fleet"
    arguments = ["--kubeconfig", "k", "--region", "eu", "--label", "tier=prod", "-c", str(config)]
    added = fairlead("clusters", "add", "north", *arguments)
    assert added.code == ExitCode.OK, added.err
    assert stat.S_IMODE((config / "north.kubeconfig").stat().st_mode) == 0o600
    assert cluster.admin_token not in (config / "clusters.yaml").read_text()
    rows = json.loads(fairlead("clusters", "list", "-c", config, "-o", "json").out)
    assert (rows[0]["health"], rows[0]["labels"]) == ("healthy", {"tier": "prod"})
    again = fairlead("clusters", "add", "north", *arguments)
    assert again.code == ExitCode.ERROR
    assert "already" in again.err
    assert fairlead("clusters", "remove", "north", "-y", "-c", config).code == ExitCode.OK
    assert not (config / "north.kubeconfig").exists()
    assert json.loads(fairlead("clusters", "list", "-c", config, "-o", "json").out) == []


def test_a_cluster_that_cannot_be_reached_is_not_added(
    fairlead: Command, sims: Sims, tmp_path: Path
) -> None:
    cluster = sims.start("north")
    cluster.write_kubeconfig(tmp_path / "k")
    sims.do(cluster.faults.partition())
    arguments = ["add", "north", "--kubeconfig", "k", "-c", str(tmp_path / "new.yaml")]
    result = fairlead("clusters", *arguments)
    assert result.code == ExitCode.UNREACHABLE
    assert "nothing was written" in result.err
    assert not (tmp_path / "new.yaml").exists()
    assert fairlead("clusters", *arguments, "--no-check").code == ExitCode.OK
    assert (tmp_path / "new.yaml").exists()


def test_a_token_can_come_from_a_file(fairlead: Command, sims: Sims, tmp_path: Path) -> None:
    cluster = sims.start("north")
    (tmp_path / "ca.crt").write_bytes(cluster.ca_pem)
    (tmp_path / "token").write_text(cluster.admin_token + "\n")
    result = fairlead(
        *("clusters", "add", "north", "--endpoint", cluster.url),
        *("--ca-file", "ca.crt", "--token-file", "token"),
    )
    assert result.code == ExitCode.OK, result.err
    home = tmp_path / "home/.config/fairlead"
    assert stat.S_IMODE((home / "north.token").stat().st_mode) == 0o600
    assert "healthy" in fairlead("clusters", "list").out


def test_kubeconfig_has_a_context_for_every_cluster(
    fairlead: Command, fleet: Path, tmp_path: Path
) -> None:
    printed = yaml.safe_load(fairlead("clusters", "kubeconfig", "-c", fleet).out)
    assert [context["name"] for context in printed["contexts"]] == ["east", "west"]
    target = tmp_path / "config"
    result = fairlead("clusters", "kubeconfig", "east", "--write", target, "-c", fleet)
    assert result.code == ExitCode.OK
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    written = yaml.safe_load(target.read_text())
    assert [context["name"] for context in written["contexts"]] == ["east"]


def test_without_any_configuration_the_contexts_of_the_kubeconfig_are_the_fleet(
    fairlead: Command, sims: Sims, tmp_path: Path
) -> None:
    (tmp_path / "home/.kube").mkdir(parents=True)
    sims.start("minikube").write_kubeconfig(tmp_path / "home/.kube/config")
    assert "minikube" in fairlead("clusters", "list").out


def test_a_rebuilt_cluster_is_noticed_by_the_next_command_and_can_be_accepted(
    fairlead: Command, fleet: Path, sims: Sims
) -> None:
    assert fairlead("clusters", "check", "-c", fleet).code == ExitCode.OK
    sims.do(sims.clusters["west"].restart(keep_data=False))
    noticed = fairlead("clusters", "check", "-c", fleet)
    assert noticed.code == ExitCode.PARTIAL
    assert "cluster 'west' was rebuilt" in noticed.err
    assert "fairlead clusters check west --accept" in noticed.err
    assert fairlead("clusters", "check", "west", "--accept", "-c", fleet).code == ExitCode.OK
    assert fairlead("clusters", "check", "-c", fleet).code == ExitCode.OK


def test_a_registry_of_nothing_but_mistakes_is_an_error(fairlead: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("clusters:\n- name: a\n  endpoint: ftp://x\n  token: t\n")
    for command in ("list", "check"):
        result = fairlead("clusters", command, "-c", tmp_path / "bad.yaml")
        assert result.code == ExitCode.ERROR
        assert "bad.yaml:2: clusters[0]: server has no scheme" in result.err
        assert "There are no clusters" not in result.err
