"""A simulated Kubernetes cluster for the demo and for fast tests: a real HTTPS API server in this
process, with discovery, CRDs, server-side apply, watches and switchable faults. What it promises is
what the contract suite checks on it and on a real kube-apiserver."""

from fairlead_sim.authorization import Rule
from fairlead_sim.certificates import KeyPair
from fairlead_sim.cluster import SimCluster
from fairlead_sim.faults import Fault, Faults

__all__ = ["Fault", "Faults", "KeyPair", "Rule", "SimCluster"]
