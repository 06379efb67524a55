"""The level-triggered engine: controllers over many clusters that come and go, with queues,
shared watches, leader election, probes, metrics, logs and Events. Knows nothing of any particular
controller, and nothing of where clusters come from."""

from fairlead.runtime.clock import Clock, SystemClock
from fairlead.runtime.collector import Collector
from fairlead.runtime.controller import (
    Controller,
    Enqueue,
    Reconciler,
    Selection,
    Source,
    Timer,
    Watch,
)
from fairlead.runtime.engine import Engine, NotEngaged
from fairlead.runtime.events import EventRecorder, conditions_changed
from fairlead.runtime.heartbeat import Heartbeat
from fairlead.runtime.informer import Cache
from fairlead.runtime.lane import Failing
from fairlead.runtime.leader import LeaderElection, LeaseTerms
from fairlead.runtime.logs import configure_logging
from fairlead.runtime.metrics import Metrics
from fairlead.runtime.outcome import Result
from fairlead.runtime.probes import ProbeServer
from fairlead.runtime.request import FLEET, Request
from fairlead.runtime.scope import ClusterStatus
from fairlead.runtime.settings import RuntimeSettings

__all__ = [
    "FLEET",
    "Cache",
    "Clock",
    "ClusterStatus",
    "Collector",
    "Controller",
    "Engine",
    "Enqueue",
    "EventRecorder",
    "Failing",
    "Heartbeat",
    "LeaderElection",
    "LeaseTerms",
    "Metrics",
    "NotEngaged",
    "ProbeServer",
    "Reconciler",
    "Request",
    "Result",
    "RuntimeSettings",
    "Selection",
    "Source",
    "SystemClock",
    "Timer",
    "Watch",
    "conditions_changed",
    "configure_logging",
]
