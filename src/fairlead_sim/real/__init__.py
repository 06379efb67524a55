"""Real Kubernetes parts as plain processes on this machine: etcd, kube-apiserver and
kube-controller-manager, each started from a binary that `make real` built, with no container
and no root. Tests and `fairlead demo --real` use it. Knows nothing of what runs on the clusters."""

from fairlead_sim.real.cluster import RealCluster
from fairlead_sim.real.errors import RealPartFailed, RealPartsMissing
from fairlead_sim.real.etcd import RealEtcd
from fairlead_sim.real.files import User
from fairlead_sim.real.fleet import RealFleet
from fairlead_sim.real.parts import PARTS, Part, binary, part
from fairlead_sim.real.workspace import Workspace

__all__ = [
    "PARTS",
    "Part",
    "RealCluster",
    "RealEtcd",
    "RealFleet",
    "RealPartFailed",
    "RealPartsMissing",
    "User",
    "Workspace",
    "binary",
    "part",
]
