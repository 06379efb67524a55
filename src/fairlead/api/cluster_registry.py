"""`ClusterRegistry`: the clusters of a fleet and the Secrets with their kubeconfigs, as a custom
resource. Owns the shape only; `fairlead.registry` reads it and reports into its status."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta

from fairlead.api.conditions import Condition
from fairlead.api.crd import AGE, Column, Kind
from fairlead.api.durations import Duration
from fairlead.api.meta import ApiStruct, ObjectMeta
from fairlead.api.schema import Crd, Rule

NAME_PATTERN = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
NAME_LENGTH = 63
MAX_CLUSTERS = 1000

HTTPS = Rule(
    "self.startsWith('https://')",
    "must be an https:// address, because the credential is sent to it",
)
TIMEOUT_WITHIN_INTERVAL = Rule(
    "!has(self.timeout) || !has(self.interval) || self.timeout <= self.interval",
    "timeout must not be longer than interval",
)


class HealthCheck(ApiStruct, kw_only=True, frozen=True):
    """How the health of one cluster is checked; what is left out is the observer's setting."""

    __rules__ = (TIMEOUT_WITHIN_INTERVAL,)

    path: (
        Annotated[
            str,
            Meta(
                description="The path to ask instead of /readyz (with /version as the way out).",
                pattern="^/",
                max_length=256,
            ),
        ]
        | None
    ) = None
    interval: (
        Annotated[Duration, Meta(description="Time from one check to the next, such as 30s.")]
        | None
    ) = None
    timeout: (
        Annotated[Duration, Meta(description="How long to wait for the answer, such as 10s.")]
        | None
    ) = None
    slow: (
        Annotated[
            Duration, Meta(description="A good answer after more than this counts as degraded.")
        ]
        | None
    ) = None
    failure_threshold: (
        Annotated[
            int,
            Meta(description="Failed checks in a row until it is unhealthy.", ge=1, le=100),
        ]
        | None
    ) = None
    success_threshold: (
        Annotated[
            int,
            Meta(description="Good checks in a row until it is healthy again.", ge=1, le=100),
        ]
        | None
    ) = None


class ClusterInfo(ApiStruct, kw_only=True, frozen=True):
    """One cluster: its name and the Secret that holds its kubeconfig."""

    name: (
        Annotated[
            str,
            Meta(
                description="The name of the cluster in the fleet.",
                pattern=NAME_PATTERN,
                max_length=NAME_LENGTH,
            ),
            Crd(required=True),
        ]
        | None
    ) = None
    region: (
        Annotated[str, Meta(description="The region the cluster stands in.", max_length=63)] | None
    ) = None
    kubeconfig_secret: (
        Annotated[
            str,
            Meta(
                description="The Secret whose key `kubeconfig` holds a kubeconfig with inline "
                "data. It is looked for in one namespace only, the one the agent is set up "
                "with, so that who edits a ClusterRegistry cannot make the agent use somebody "
                "else's Secret.",
                pattern=NAME_PATTERN,
                max_length=253,
            ),
            Crd(required=True),
        ]
        | None
    ) = None
    context: (
        Annotated[
            str,
            Meta(
                description="The context of the kubeconfig; its current-context if left out.",
                max_length=253,
            ),
        ]
        | None
    ) = None
    endpoint: (
        Annotated[
            str,
            Meta(
                description="The address of the API server, if it is another one than the "
                "kubeconfig's. Needs a kubeconfig with its own certificate authority.",
                max_length=1024,
            ),
            Crd(rules=(HTTPS,)),
        ]
        | None
    ) = None
    status: (
        Annotated[
            Literal["Available", "Unavailable"],
            Meta(
                description="An operator's word, never written by Fairlead: Unavailable takes the "
                "cluster out of service, it stays listed but is neither asked nor used. The "
                "observed health is in status.clusters."
            ),
            Crd(default="Available"),
        ]
        | None
    ) = None
    identity: (
        Annotated[
            str,
            Meta(
                description="The UID of the cluster's kube-system namespace. Once set, another "
                "cluster that answers under this name is refused; set it to the new UID to accept "
                "a rebuilt cluster.",
                pattern="^[A-Za-z0-9._-]+$",
                max_length=64,
            ),
        ]
        | None
    ) = None
    namespace: (
        Annotated[
            str,
            Meta(description="The default namespace in this cluster.", max_length=63),
        ]
        | None
    ) = None
    labels: (
        Annotated[
            dict[str, Annotated[str, Meta(max_length=63)]],
            Meta(description="Labels to select clusters by.", max_length=64),
        ]
        | None
    ) = None
    weight: (
        Annotated[
            int,
            Meta(
                description="The share of balanced traffic; 0 sends none.",
                ge=0,
                le=1000,
            ),
            Crd(default=100),
        ]
        | None
    ) = None
    health_check: (
        Annotated[HealthCheck, Meta(description="How the health of this cluster is checked.")]
        | None
    ) = None


class ClusterRegistrySpec(ApiStruct, kw_only=True, frozen=True):
    """The clusters of the fleet."""

    clusters: (
        Annotated[
            list[ClusterInfo],
            Meta(description="The clusters, each name once.", max_length=MAX_CLUSTERS),
            Crd(required=True, keys=("name",)),
        ]
        | None
    ) = None


class ClusterStatus(ApiStruct, kw_only=True, frozen=True):
    """One cluster as one observer sees it."""

    name: (
        Annotated[
            str,
            Meta(description="The name of the cluster.", max_length=NAME_LENGTH),
            Crd(required=True),
        ]
        | None
    ) = None
    observer: (
        Annotated[
            str,
            Meta(
                description="Who saw it like this: reachability differs by place.", max_length=253
            ),
            Crd(required=True),
        ]
        | None
    ) = None
    health: (
        Annotated[
            Literal["healthy", "degraded", "unhealthy", "unknown"],
            Meta(description="The health, after hysteresis."),
        ]
        | None
    ) = None
    reason: (
        Annotated[
            str,
            Meta(description="Why the last check failed, as one word.", max_length=64),
        ]
        | None
    ) = None
    last_error: (
        Annotated[
            str,
            Meta(description="What the last failed check saw, as one sentence.", max_length=1024),
        ]
        | None
    ) = None
    identity: (
        Annotated[
            str,
            Meta(description="The UID of the cluster's kube-system namespace.", max_length=64),
        ]
        | None
    ) = None
    response_time: (
        Annotated[Duration, Meta(description="How long the last good answer took.")] | None
    ) = None
    credentials_expire_at: (
        Annotated[datetime, Meta(description="When the certificate or token in use ends.")] | None
    ) = None


class ClusterRegistryStatus(ApiStruct, kw_only=True, frozen=True):
    """The fleet as it was last seen."""

    observed_generation: (
        Annotated[int, Meta(description="The metadata.generation this was judged on.", ge=0)] | None
    ) = None
    summary: (
        Annotated[
            str,
            Meta(description="The fleet in a few words.", max_length=256),
        ]
        | None
    ) = None
    conditions: (
        Annotated[
            list[Condition],
            Meta(description="Valid: every entry can be used. Ready: every cluster is healthy."),
            Crd(keys=("type",)),
        ]
        | None
    ) = None
    clusters: (
        Annotated[
            list[ClusterStatus],
            Meta(description="Every cluster by every observer.", max_length=4 * MAX_CLUSTERS),
            Crd(keys=("name", "observer")),
        ]
        | None
    ) = None


class ClusterRegistry(ApiStruct, kw_only=True, frozen=True):
    """The clusters of a fleet, how to reach them and how they are."""

    api_version: str | None = None
    kind: str | None = None
    metadata: ObjectMeta | None = None
    spec: Annotated[ClusterRegistrySpec, Crd(required=True)] | None = None
    status: ClusterRegistryStatus | None = None


# Cluster-scoped: who may only write into a namespace must not be able to add a cluster.
CLUSTER_REGISTRY = Kind(
    struct=ClusterRegistry,
    group="ramendr.openshift.io",
    version="v1alpha1",
    plural="clusterregistries",
    namespaced=False,
    short_names=("clreg",),
    columns=(
        Column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
        Column("Valid", '.status.conditions[?(@.type=="Valid")].status', priority=1),
        Column("Summary", ".status.summary"),
        AGE,
    ),
)

KINDS = (CLUSTER_REGISTRY,)
