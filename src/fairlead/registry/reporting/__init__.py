"""Reports the health this observer sees into the status of the ClusterRegistry resources of its
home cluster. The smallest controller there is, and the pattern for all others: `observe`, `plan`,
`apply`, joined by `reconciler`."""

from fairlead.registry.reporting.reconciler import reporting_controller

__all__ = ["reporting_controller"]
