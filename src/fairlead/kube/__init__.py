"""One cluster's Kubernetes API: credentials, a thin client, discovery, and the reflector that
follows a resource for ever. Knows nothing of controllers, registries or other clusters."""

from fairlead.backoff import Backoff
from fairlead.kube.access import Access, CertificatePair, Credentials, Presented, TlsSettings
from fairlead.kube.call import Answer
from fairlead.kube.caller import RequestSeen
from fairlead.kube.client import Client
from fairlead.kube.discovery import Discovery, ServedApis
from fairlead.kube.discovery_documents import ServedResource
from fairlead.kube.errors import (
    AlreadyExists,
    ApplyConflict,
    Denied,
    Gone,
    Invalid,
    NoAnswer,
    NotServed,
    ObjectNotFound,
    StaleResource,
    Throttled,
)
from fairlead.kube.identity import cluster_identity, verify_identity
from fairlead.kube.kubeconfig import Kubeconfig, load_kubeconfig, parse_kubeconfig
from fairlead.kube.objects import ObjectList
from fairlead.kube.patches import JsonPatch, MergePatch
from fairlead.kube.reading import Absent, Found, Reading, Unknown, read
from fairlead.kube.reflector import Change, Reflector, ReflectorSettings
from fairlead.kube.resource import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    EVENTS,
    LEASES,
    NAMESPACES,
    PODS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    Key,
    Object,
    Resource,
    key_of,
)
from fairlead.kube.service_account import in_cluster
from fairlead.kube.status import Cause, Status
from fairlead.kube.watch import WatchEvent, WatchStream

__all__ = [
    "CONFIG_MAPS",
    "CUSTOM_RESOURCE_DEFINITIONS",
    "DEPLOYMENTS",
    "EVENTS",
    "LEASES",
    "NAMESPACES",
    "PODS",
    "SECRETS",
    "SERVICES",
    "SERVICE_ACCOUNTS",
    "Absent",
    "Access",
    "AlreadyExists",
    "Answer",
    "ApplyConflict",
    "Backoff",
    "Cause",
    "CertificatePair",
    "Change",
    "Client",
    "Credentials",
    "Denied",
    "Discovery",
    "Found",
    "Gone",
    "Invalid",
    "JsonPatch",
    "Key",
    "Kubeconfig",
    "MergePatch",
    "NoAnswer",
    "NotServed",
    "Object",
    "ObjectList",
    "ObjectNotFound",
    "Presented",
    "Reading",
    "Reflector",
    "ReflectorSettings",
    "RequestSeen",
    "Resource",
    "ServedApis",
    "ServedResource",
    "StaleResource",
    "Status",
    "Throttled",
    "TlsSettings",
    "Unknown",
    "WatchEvent",
    "WatchStream",
    "cluster_identity",
    "in_cluster",
    "key_of",
    "load_kubeconfig",
    "parse_kubeconfig",
    "read",
    "verify_identity",
]
