"""Kubeconfigs: read and merged as kubectl does, turned into an `Access`, and written."""

from fairlead.kube.kubeconfig.merged import (
    Kubeconfig,
    default_paths,
    load_kubeconfig,
    parse_kubeconfig,
)
from fairlead.kube.kubeconfig.writer import ContextEntry, dump, merge_into, write_private

__all__ = [
    "ContextEntry",
    "Kubeconfig",
    "default_paths",
    "dump",
    "load_kubeconfig",
    "merge_into",
    "parse_kubeconfig",
    "write_private",
]
