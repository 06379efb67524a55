"""Every kind Fairlead owns, found by looking through the modules of this package: a capability
adds a kind by adding a module with `KINDS`. Knows nothing of what the kinds are for."""

from __future__ import annotations

import importlib
import pkgutil

import fairlead.api
from fairlead.api.crd import Kind, crd, to_yaml


def kinds() -> tuple[Kind, ...]:
    """All kinds of all modules, sorted by group and name."""
    found: list[Kind] = []
    for module in pkgutil.iter_modules(fairlead.api.__path__, "fairlead.api."):
        found.extend(getattr(importlib.import_module(module.name), "KINDS", ()))
    return tuple(sorted(found, key=lambda kind: (kind.group, kind.plural)))


def crd_files() -> dict[str, str]:
    """The text of every CRD by its file name, as `deploy/crds` holds them."""
    return {kind.file_name: to_yaml(crd(kind)) for kind in kinds()}
