"""The command line itself: help, usage errors, CRDs, doctor, and never a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import fairlead as package
from fairlead.cli import main as cli
from fairlead.cli.exit_codes import ExitCode, for_error
from fairlead.errors import Conflict, InvalidInput, Reason, Unreachable
from tests.cli.conftest import Command, Sims


@pytest.mark.parametrize(
    "arguments,sentence",
    [
        (["clusters", "lst"], "No such command 'lst'. Did you mean 'list'?"),
        (["demo", "--reel"], "No such option: --reel"),
        (["clusters", "add"], "Missing argument"),
        (["clusters", "list", "-o", "xml"], "'table', 'json', 'yaml'"),
        (["clusters", "add", "a", "--label", "x"], "'x' is not of the form key=value"),
    ],
)
def test_a_usage_error_is_one_sentence_and_exit_code_2(
    fairlead: Command, arguments: list[str], sentence: str
) -> None:
    result = fairlead(*arguments)
    assert result.code == ExitCode.USAGE
    assert sentence in result.err
    assert "--help" in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize("arguments", [[], ["clusters"], ["agent"], ["sim"]])
def test_a_group_without_a_command_shows_its_help(fairlead: Command, arguments: list[str]) -> None:
    result = fairlead(*arguments)
    assert "Usage:" in result.out
    assert result.code == ExitCode.USAGE


@pytest.mark.parametrize(
    "arguments",
    [
        ["clusters", "list"],
        ["clusters", "check"],
        ["clusters", "add"],
        ["clusters", "remove"],
        ["clusters", "kubeconfig"],
        ["agent", "run"],
        ["crds"],
        ["doctor"],
        ["demo"],
        ["sim", "run"],
    ],
)
def test_every_command_has_help_with_an_example(fairlead: Command, arguments: list[str]) -> None:
    result = fairlead(*arguments, "--help")
    assert result.code == ExitCode.OK
    assert f"fairlead {' '.join(arguments)}" in result.out.replace("Usage: ", "", 1)
    assert "Example" in result.out


@pytest.mark.parametrize(
    "error,code",
    [
        (InvalidInput("f", "is bad"), ExitCode.ERROR),
        (Conflict("changed"), ExitCode.CONFLICT),
        (Unreachable(Reason.CONNECT, "gone"), ExitCode.UNREACHABLE),
        (Unreachable(Reason.FORBIDDEN, "no"), ExitCode.FORBIDDEN),
        (Unreachable(Reason.UNAUTHORIZED, "who"), ExitCode.FORBIDDEN),
    ],
)
def test_each_kind_of_error_has_its_exit_code(error: Exception, code: ExitCode) -> None:
    assert isinstance(error, InvalidInput | Conflict | Unreachable)
    assert for_error(error) is code


def test_a_bug_is_one_sentence_too(
    fairlead: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(cli, "app", broken)
    result = fairlead("doctor")
    assert result.code == ExitCode.ERROR
    assert result.err.startswith("Error: internal error (ZeroDivisionError: oops)")


def test_the_version_is_told(fairlead: Command) -> None:
    assert fairlead("--version").out == f"fairlead {package.__version__}\n"


def test_crds_can_be_applied_as_yaml_and_as_json(fairlead: Command) -> None:
    documents = list(yaml.safe_load_all(fairlead("crds").out))
    items = json.loads(fairlead("crds", "-o", "json").out)["items"]
    assert documents == items
    assert "clusterregistries.ramendr.openshift.io" in [d["metadata"]["name"] for d in documents]


def test_doctor_says_what_works_and_what_to_do(fairlead: Command, fleet: Path, sims: Sims) -> None:
    well = fairlead("doctor", "-c", fleet, "-o", "json")
    states = {row["check"]: row["state"] for row in json.loads(well.out)}
    assert states["cluster east"] == "ok"
    sims.do(sims.clusters["east"].faults.partition())
    (fleet / "west.kubeconfig").chmod(0o644)
    ill = fairlead("doctor", "-c", fleet, "-o", "json")
    rows = json.loads(ill.out)
    assert ill.code == ExitCode.ERROR
    assert any(row["check"] == "cluster east" and row["state"] == "failed" for row in rows)
    assert any("chmod 600" in row["remedy"] for row in rows)


def test_doctor_goes_on_where_the_configuration_is_broken(
    fairlead: Command, tmp_path: Path
) -> None:
    (tmp_path / "fairlead.yaml").write_text("sources: 3\n")
    result = fairlead("doctor")
    assert result.code == ExitCode.ERROR
    assert "fairlead.yaml:1: sources: must be a list" in result.out


def test_starting_up_does_not_load_what_a_command_does_not_need() -> None:
    """`fairlead --version` and completion must not wait for the network stack."""
    program = (
        "import sys; from fairlead.cli.main import run; run(['--version']);"
        "print(sorted({'aiohttp', 'cryptography', 'fairlead_sim'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
