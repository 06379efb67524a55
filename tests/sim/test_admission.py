"""ValidatingAdmissionPolicies: the API server itself refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.conftest import APPLY, Api, config_map

MAPS = "/api/v1/namespaces/default/configmaps"
BASE = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{BASE}/validatingadmissionpolicies"
BINDINGS = f"{BASE}/validatingadmissionpolicybindings"


def policy(**spec: Any) -> dict[str, Any]:
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE", "DELETE"],
        "resources": ["configmaps"],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "rule"},
        "spec": {"matchConstraints": {"resourceRules": [rule]}, **spec},
    }


def binding(*actions: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "bound"},
        "spec": {"policyName": "rule", "validationActions": list(actions), **spec},
    }


NO_X = {"expression": "!has(object.data) || !('x' in object.data)", "message": "no x, please"}


@pytest.fixture
async def fenced(api: Api) -> Api:
    """Nobody may lower an epoch."""
    epoch = "has({0}.metadata.annotations) ? int({0}.metadata.annotations['epoch']) : 0"
    body = policy(
        matchConditions=[{"name": "updates", "expression": "request.operation == 'UPDATE'"}],
        variables=[
            {"name": "old", "expression": epoch.format("oldObject")},
            {"name": "new", "expression": epoch.format("object")},
        ],
        validations=[
            {
                "expression": "variables.new >= variables.old",
                "messageExpression": "'epoch ' + string(variables.old) + ' is in force'",
            }
        ],
    )
    await api.create(POLICIES, body)
    await api.create(BINDINGS, binding("Deny"))
    return api


async def test_a_write_of_an_older_epoch_is_denied_in_the_policys_words(fenced: Api) -> None:
    await fenced.create(MAPS, config_map("a", annotations={"epoch": "3"}))
    older = config_map("a", annotations={"epoch": "2"})
    for reply in (
        await fenced.put(f"{MAPS}/a", older),
        await fenced.patch(f"{MAPS}/a", {"metadata": {"annotations": {"epoch": "2"}}}),
        await fenced.patch(f"{MAPS}/a?fieldManager=m&force=true", older, APPLY),
    ):
        assert (reply.status, reply.reason) == (422, "Invalid")
        assert reply.message == (
            "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'rule' with binding 'bound' "
            "denied request: epoch 3 is in force"
        )
    newer = {"metadata": {"annotations": {"epoch": "4"}}}
    assert (await fenced.patch(f"{MAPS}/a", newer)).status == 200


async def test_a_warning_lets_the_write_pass(api: Api) -> None:
    await api.create(POLICIES, policy(validations=[NO_X]))
    await api.create(BINDINGS, binding("Warn"))
    reply = await api.post(MAPS, config_map("a", {"x": "1"}))
    assert reply.status == 201
    assert "no x, please" in reply.headers["Warning"]


async def test_a_policy_without_a_binding_does_nothing(api: Api) -> None:
    await api.create(POLICIES, policy(validations=[NO_X]))
    assert (await api.post(MAPS, config_map("a", {"x": "1"}))).status == 201


async def test_a_binding_chooses_namespaces_and_objects(api: Api) -> None:
    await api.create(POLICIES, policy(validations=[NO_X]))
    only = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}
    await api.create(BINDINGS, binding("Deny", matchResources=only))
    assert (await api.post(MAPS, config_map("a", {"x": "1"}))).status == 201
    elsewhere = MAPS.replace("default", "kube-system")
    assert (await api.post(elsewhere, config_map("a", {"x": "1"}))).status == 422


async def test_deletions_are_judged_too(api: Api) -> None:
    rule = {"expression": "request.operation != 'DELETE'", "reason": "Forbidden"}
    await api.create(POLICIES, policy(validations=[rule]))
    await api.create(BINDINGS, binding("Deny"))
    await api.create(MAPS, config_map("a"))
    reply = await api.delete(f"{MAPS}/a")
    assert (reply.status, reply.reason) == (403, "Forbidden")
    assert (await api.get(f"{MAPS}/a")).status == 200


@pytest.mark.parametrize("failure_policy, code", [("Fail", 422), ("Ignore", 201)])
async def test_an_expression_that_fails_follows_the_failure_policy(
    api: Api, failure_policy: str, code: int
) -> None:
    rule = {"expression": "object.data.nothing == '1'"}
    await api.create(POLICIES, policy(validations=[rule], failurePolicy=failure_policy))
    await api.create(BINDINGS, binding("Deny"))
    assert (await api.post(MAPS, config_map("a", {"x": "1"}))).status == code


async def test_parameters_come_from_an_object(api: Api) -> None:
    rule = {"expression": "!(params.data.word in object.data)", "message": "that word"}
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    await api.create(POLICIES, policy(validations=[rule], paramKind=kind))
    await api.create("/api/v1/namespaces/kube-system/configmaps", config_map("p", {"word": "x"}))
    reference = {"name": "p", "namespace": "kube-system", "parameterNotFoundAction": "Deny"}
    await api.create(BINDINGS, binding("Deny", paramRef=reference))
    assert "that word" in (await api.post(MAPS, config_map("a", {"x": "1"}))).message
    assert (await api.post(MAPS, config_map("a", {"y": "1"}))).status == 201


async def test_an_expression_that_does_not_compile_is_refused_at_once(api: Api) -> None:
    reply = await api.post(POLICIES, policy(validations=[{"expression": "object.("}]))
    assert reply.status == 422
    assert "spec.validations[0].expression" in reply.message
