"""Which clusters exist, how to reach them and how they are. Providers say what there is, the
registry verifies, watches and hands verified clients to listeners; a snapshot tells everything.
Knows nothing of what is done with the clusters."""

from fairlead.registry.connections import Listener
from fairlead.registry.entry import ClusterEntry, HealthCheck
from fairlead.registry.health import Check, Health, HealthState, Verdict
from fairlead.registry.last_good import ProviderSnapshot
from fairlead.registry.prober import Probe, probe
from fairlead.registry.problem import Problem, Severity
from fairlead.registry.providers import Provider
from fairlead.registry.providers.configmap import ConfigMapNames, ConfigMapProvider
from fairlead.registry.providers.custom_resource import CustomResourceProvider
from fairlead.registry.providers.file import FileProvider
from fairlead.registry.providers.kubeconfig import KubeconfigProvider
from fairlead.registry.registry import Registry
from fairlead.registry.settings import RegistrySettings
from fairlead.registry.snapshot import ClusterView, RegistrySnapshot

__all__ = [
    "Check",
    "ClusterEntry",
    "ClusterView",
    "ConfigMapNames",
    "ConfigMapProvider",
    "CustomResourceProvider",
    "FileProvider",
    "Health",
    "HealthCheck",
    "HealthState",
    "KubeconfigProvider",
    "Listener",
    "Probe",
    "Problem",
    "Provider",
    "ProviderSnapshot",
    "Registry",
    "RegistrySettings",
    "RegistrySnapshot",
    "Severity",
    "Verdict",
    "probe",
]
