"""Admission policies: what keeps an old leader from writing over a new one's decisions."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from fairlead.errors import FairleadError
from fairlead.kube import CONFIG_MAPS, Client, Denied, Invalid, MergePatch, Object, Resource
from tests.contract.targets import Raw, config_map, eventually

GROUP = "admissionregistration.k8s.io"
POLICIES = Resource(
    GROUP, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", namespaced=False
)
BINDINGS = Resource(
    GROUP,
    "v1",
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    namespaced=False,
)
EPOCH = "example.com/epoch"


def epoch_of(obj: str) -> str:
    return (
        f"has({obj}.metadata.annotations) && '{EPOCH}' in {obj}.metadata.annotations"
        f" ? int({obj}.metadata.annotations['{EPOCH}']) : 0"
    )


def policy(name: str, **validation: Any) -> Object:
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["UPDATE"],
        "resources": ["configmaps"],
    }
    return {
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "variables": [
                {"name": "before", "expression": epoch_of("oldObject")},
                {"name": "after", "expression": epoch_of("object")},
            ],
            "validations": [
                {
                    "expression": "variables.after >= variables.before",
                    "messageExpression": "'epoch ' + string(variables.after) + ' is older than '"
                    " + string(variables.before)",
                    "message": "an older epoch",
                }
                | validation
            ],
        },
    }


def binding(name: str, namespace: str) -> Object:
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    return {
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": selector},
        },
    }


def at_epoch(epoch: int, **data: str) -> Object:
    obj = config_map("fenced", **data)
    obj["metadata"]["annotations"] = {EPOCH: str(epoch)}
    return obj


async def install(client: Client, namespace: str, **validation: Any) -> None:
    """A policy for this namespace, in force; the object `fenced` is at epoch 5."""
    await client.create(POLICIES, policy(namespace, **validation))
    await client.create(BINDINGS, binding(namespace, namespace))
    await client.apply(CONFIG_MAPS, at_epoch(5, x="1"), namespace)

    async def refused() -> bool:
        try:
            await client.apply(CONFIG_MAPS, at_epoch(1), namespace, force=True, dry_run=True)
        except (Invalid, Denied):
            return True
        return False

    await eventually(refused)


@pytest.fixture
async def policies(client: Client, namespace: str) -> AsyncIterator[None]:
    yield
    for resource in (BINDINGS, POLICIES):
        with contextlib.suppress(FairleadError):
            await client.delete(resource, namespace)


pytestmark = pytest.mark.usefixtures("policies")


OLDER = MergePatch({"metadata": {"annotations": {EPOCH: "4"}}})
WRITES: dict[str, Callable[[Client, str], Awaitable[Object]]] = {
    "apply": lambda client, namespace: client.apply(
        CONFIG_MAPS, at_epoch(4, x="2"), namespace, force=True
    ),
    "replace": lambda client, namespace: client.replace(CONFIG_MAPS, at_epoch(4, x="2"), namespace),
    "patch": lambda client, namespace: client.patch(CONFIG_MAPS, "fenced", OLDER, namespace),
}


@pytest.mark.parametrize("write", WRITES)
async def test_a_write_of_an_older_epoch_is_denied_by_the_server(
    client: Client, namespace: str, write: str
) -> None:
    await install(client, namespace)
    with pytest.raises(Denied, match="denied request") as raised:
        await WRITES[write](client, namespace)
    assert (
        f"ValidatingAdmissionPolicy '{namespace}' with binding '{namespace}' denied request: "
        "epoch 4 is older than 5"
    ) in str(raised.value)
    assert (await client.get(CONFIG_MAPS, "fenced", namespace))["data"] == {"x": "1"}
    for epoch in (5, 6):
        await client.apply(CONFIG_MAPS, at_epoch(epoch, x="3"), namespace)


async def test_removing_the_epoch_is_denied_too(client: Client, namespace: str) -> None:
    await install(client, namespace)
    with pytest.raises(Denied, match="epoch 0 is older than 5"):
        await client.replace(CONFIG_MAPS, config_map("fenced"), namespace)


async def test_other_namespaces_and_writes_are_untouched(client: Client, namespace: str) -> None:
    await install(client, namespace)
    await client.patch(CONFIG_MAPS, "fenced", MergePatch({"data": {"x": "9"}}), namespace)
    await client.create(CONFIG_MAPS, config_map("unfenced"), namespace)
    await client.delete(CONFIG_MAPS, "fenced", namespace)


@pytest.mark.parametrize("reason, code", [(None, 422), ("Forbidden", 403)])
async def test_a_denial_has_the_code_of_its_reason(
    raw: Raw, client: Client, namespace: str, reason: str | None, code: int
) -> None:
    await install(client, namespace, **({"reason": reason} if reason else {}))
    answer = await raw("PUT", CONFIG_MAPS.path(namespace, "fenced"), at_epoch(1))
    assert answer.code == code
    status = answer.json()
    assert status["reason"] == (reason or "Invalid")
    assert status["message"] == (
        f"configmaps \"fenced\" is forbidden: ValidatingAdmissionPolicy '{namespace}' with binding"
        f" '{namespace}' denied request: epoch 1 is older than 5"
    )
    assert status["details"] == {
        "name": "fenced",
        "kind": "configmaps",
        "causes": [{"message": status["message"].partition("is forbidden: ")[2]}],
    }
