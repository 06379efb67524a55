"""Which cluster is this really? The UID of its `kube-system` namespace: it lives exactly as long
as the cluster's data, whatever name or address the cluster goes by."""

from __future__ import annotations

from fairlead.errors import NotFound, Reason, Unreachable
from fairlead.kube.client import Client
from fairlead.kube.resource import NAMESPACES


async def cluster_identity(client: Client) -> str:
    """The UID of `kube-system`. Raises `Unreachable` if there is none to be had."""
    try:
        namespace = await client.get(NAMESPACES, "kube-system")
    except NotFound as error:
        raise Unreachable(
            Reason.BAD_ANSWER,
            f"{error}; without a kube-system namespace the cluster's identity is unknown: "
            "wait until its API server has finished starting, or check the server URL",
        ) from error
    uid = namespace["metadata"].get("uid")
    if not isinstance(uid, str) or not uid:
        raise Unreachable(
            Reason.BAD_ANSWER, f"{client}: the kube-system namespace has no UID; check the URL"
        )
    return uid


async def verify_identity(client: Client, expected_uid: str) -> None:
    """Raises `Unreachable(WRONG_CLUSTER)` if another cluster answers than the one known."""
    uid = await cluster_identity(client)
    if uid != expected_uid:
        raise Unreachable(
            Reason.WRONG_CLUSTER,
            f"{client}: another cluster answers here: kube-system has UID {uid}, known was "
            f"{expected_uid}; it was rebuilt or the address was reused: check it, "
            "then remove and add the cluster again",
        )
