"""Which real parts there are, at which version, and where each built binary lives in the user's
cache. One line per part, each with its own version in its path, so adding or updating a part
leaves the others as they are. Knows nothing of how a part is built or run."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fairlead_sim.real.errors import RealPartsMissing

KUBERNETES = "v1.36.3"
ETCD = "v3.7.3"

_KUBERNETES_STAMPS = {
    "k8s.io/component-base/version.gitVersion": KUBERNETES,
    "k8s.io/component-base/version.gitMajor": KUBERNETES.removeprefix("v").split(".")[0],
    "k8s.io/component-base/version.gitMinor": KUBERNETES.split(".")[1],
    "k8s.io/component-base/version.gitCommit": "unknown",
    "k8s.io/component-base/version.gitTreeState": "archive",
    "k8s.io/client-go/pkg/version.gitVersion": KUBERNETES,
    "k8s.io/client-go/pkg/version.gitCommit": "unknown",
}


@dataclass(frozen=True, slots=True)
class Part:
    """One program: what to build, from which Go module of ours, and what it says it is."""

    name: str
    version: str
    module: str
    """The module in go.mod whose version this part carries."""
    package: str
    """The Go package of its `main`."""
    module_directory: str
    """Where the go.mod that pins it stands, relative to the root of the repository."""
    stamps: tuple[tuple[str, str], ...] = ()
    """String variables the linker sets, so that the binary reports its version."""

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}"


def _kubernetes(name: str) -> Part:
    return Part(
        name=name,
        version=KUBERNETES,
        module="k8s.io/kubernetes",
        package=f"k8s.io/kubernetes/cmd/{name}",
        module_directory="tests/real",
        stamps=tuple(_KUBERNETES_STAMPS.items()),
    )


PARTS: tuple[Part, ...] = (
    Part(
        name="etcd",
        version=ETCD,
        module="go.etcd.io/etcd/server/v3",
        package="go.etcd.io/etcd/server/v3",
        module_directory="tests/real/etcd",
    ),
    _kubernetes("kube-apiserver"),
    _kubernetes("kube-controller-manager"),
    _kubernetes("kubectl"),
)


def part(name: str) -> Part:
    """The part of that name; an unknown name is a mistake in our own code."""
    return next(each for each in PARTS if each.name == name)


def cache_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """`$FAIRLEAD_CACHE`, or `fairlead` in the user's cache directory."""
    if chosen := environ.get("FAIRLEAD_CACHE"):
        return Path(chosen).expanduser().absolute()
    base = environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "fairlead"


def target() -> str:
    """The machine in Go's words, for example `linux-amd64`."""
    machine = platform.machine().lower()
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)
    return f"{platform.system().lower()}-{architecture}"


def binary_path(wanted: Part) -> Path:
    """Where the binary of a part is, or would be once it is built."""
    directory = cache_directory() / "real" / f"{wanted.name}-{wanted.version}-{target()}"
    return directory / wanted.name


def binary(name: str) -> Path:
    """The built binary of a part, or RealPartsMissing in one sentence."""
    wanted = part(name)
    path = binary_path(wanted)
    if not os.access(path, os.X_OK):
        raise RealPartsMissing(
            f"The real {wanted.label} is not built yet ({path} does not exist): run `make real` "
            "once, or `make test-fast` for the tests that need no real parts."
        )
    return path
