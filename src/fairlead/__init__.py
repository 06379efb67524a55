"""Fairlead: many Kubernetes clusters as one fleet, without a hub."""

__version__ = "0.1.0"
