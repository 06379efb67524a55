"""Examines this machine and its fleet: each check becomes one finding with a sentence and, if
needed, a remedy. Owns what is worth checking; how it is shown is the command's business."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import msgspec

import fairlead
from fairlead.app import look_once
from fairlead.errors import FairleadError, InvalidInput
from fairlead.kube.kubeconfig import default_paths
from fairlead.registry.edit import permission_problems
from fairlead.registry.health import Health
from fairlead.registry.problem import Problem, Severity
from fairlead.registry.snapshot import ClusterView
from fairlead.settings import FileSource, Settings, load_settings


class State(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


class Finding(msgspec.Struct, frozen=True):
    check: str
    state: State
    message: str
    remedy: str = ""


async def examine(config: Path | None) -> list[Finding]:
    """Every check in order; a check that cannot go on does not stop the others."""
    findings = [*_machine(), *_kubeconfigs()]
    try:
        settings = load_settings(config)
    except InvalidInput as error:
        return [*findings, Finding("configuration", State.FAILED, *_sentence(error))]
    findings.append(Finding("configuration", State.OK, f"read from {settings.place}"))
    findings += _permissions(settings)
    try:
        snapshot, versions = await look_once(settings)
    except FairleadError as error:
        return [*findings, Finding("registry", State.FAILED, str(error))]
    findings += [_problem(problem) for problem in snapshot.problems]
    if not snapshot.clusters:
        remedy = "add one with `fairlead clusters add`, or try `fairlead demo`"
        findings.append(Finding("registry", State.WARNING, "there are no clusters", remedy))
    views = snapshot.clusters.values()
    return findings + [_cluster(view, versions.get(view.name, "")) for view in views]


def _machine() -> Iterator[Finding]:
    version = f"fairlead {fairlead.__version__} on Python {platform.python_version()}"
    yield Finding("program", State.OK, f"{version}, {sys.platform}")
    found = shutil.which("kubectl")
    if found:
        yield Finding("kubectl", State.OK, found)
    else:
        remedy = "install it to look into clusters by hand; Fairlead itself does not need it"
        yield Finding("kubectl", State.WARNING, "is not on the PATH", remedy)


def _kubeconfigs() -> Iterator[Finding]:
    """kubectl lets a kubeconfig be readable by all; it holds credentials all the same."""
    for path in default_paths():
        try:
            mode = path.stat().st_mode & 0o777
        except OSError:
            continue
        if mode & 0o077 and os.name == "posix":
            message = f"{path} holds credentials, but others can read it (mode {mode:04o})"
            yield Finding("kubeconfig", State.WARNING, message, f"chmod 600 {path}")
        else:
            yield Finding("kubeconfig", State.OK, f"{path} is readable only by you")


def _permissions(settings: Settings) -> list[Finding]:
    try:
        return [
            _problem(problem)
            for source in settings.sources
            if isinstance(source, FileSource)
            for problem in permission_problems(source.path)
        ]
    except InvalidInput:
        return []  # a file that cannot be read is reported by the registry, with its line


def _problem(problem: Problem) -> Finding:
    state = State.FAILED if problem.severity is Severity.ERROR else State.WARNING
    message = f"{problem.place}: {problem.message}" if problem.place else problem.message
    check = f"cluster {problem.cluster}" if problem.cluster else "registry"
    return Finding(check, state, message, problem.remedy)


def _cluster(view: ClusterView, version: str) -> Finding:
    health = view.health
    check = f"cluster {view.name}"
    if health.health is Health.HEALTHY:
        took = f"answers in {(health.response_time or 0) * 1000:.0f} ms"
        return Finding(check, State.OK, f"{took}, {version or 'version unknown'}")
    if not view.entry.available:
        return Finding(check, State.WARNING, health.last_error or "is out of service")
    sentence, _, remedy = (health.last_error or "gave no answer").partition("; ")
    state = State.WARNING if health.health is Health.DEGRADED else State.FAILED
    return Finding(check, state, sentence, remedy)


def _sentence(error: InvalidInput) -> tuple[str, str]:
    place = f"{error.place}: " if error.place else ""
    return f"{place}{error.problem}", error.remedy
