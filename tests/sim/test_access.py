"""Who may do what: tokens, certificates, rules, RBAC objects, reviews."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead_sim import Rule, SimCluster
from tests.sim.conftest import Api, Connect, config_map

PODS = "/api/v1/namespaces/work/pods"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
READ_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}


async def test_a_wrong_token_is_401(cluster: SimCluster, connect: Connect) -> None:
    reply = await connect(cluster, "wrong").get("/version")
    assert (reply.status, reply.reason) == (401, "Unauthorized")


async def test_without_a_token_one_is_anonymous(cluster: SimCluster, connect: Connect) -> None:
    nobody = connect(cluster, None)
    assert (await nobody.get("/readyz")).status == 200
    reply = await nobody.get(PODS)
    assert reply.status == 403
    assert 'User "system:anonymous" cannot list resource "pods"' in reply.message


async def test_a_revoked_token_is_401(cluster: SimCluster, connect: Connect) -> None:
    token = cluster.add_token("jane", rules=[READ_PODS])
    client = connect(cluster, token)
    assert (await client.get(PODS)).status == 200
    cluster.revoke_token(token)
    assert (await client.get(PODS)).status == 401


@pytest.mark.parametrize(
    "rule,path,allowed",
    [
        (READ_PODS, PODS, True),
        (READ_PODS, "/api/v1/pods", True),
        (READ_PODS, "/api/v1/namespaces/work/secrets", False),
        ({**READ_PODS, "namespaces": ["work"]}, PODS, True),
        ({**READ_PODS, "namespaces": ["work"]}, "/api/v1/pods", False),
        ({**READ_PODS, "namespaces": ["other"]}, PODS, False),
        ({**READ_PODS, "resourceNames": ["a"]}, f"{PODS}/b", False),
        ({**READ_PODS, "verbs": ["watch"]}, PODS, False),
        ({"nonResourceURLs": ["/metrics/*"], "verbs": ["get"]}, "/metrics/x", True),
        ({"nonResourceURLs": ["/metrics"], "verbs": ["get"]}, "/metrics/x", False),
        (Rule(("*",), ("*",), ("*",)), "/apis/apps/v1/deployments", True),
        (Rule((), (), ()), "/apis", True),
    ],
)
async def test_rules_of_a_token_decide(
    cluster: SimCluster, connect: Connect, rule: Rule | dict[str, object], path: str, allowed: bool
) -> None:
    client = connect(cluster, cluster.add_token("jane", rules=[rule]))
    assert ((await client.get(path)).status != 403) is allowed


async def test_a_refusal_is_worded_as_kube_apiserver_words_it(
    cluster: SimCluster, connect: Connect
) -> None:
    client = connect(cluster, cluster.add_token("jane"))
    reply = await client.get(PODS)
    assert (reply.status, reply.reason) == (403, "Forbidden")
    assert reply.message == (
        'pods is forbidden: User "jane" cannot list resource "pods" in API group "" '
        'in the namespace "work"'
    )
    reply = await client.delete("/apis/apps/v1/namespaces/work/deployments/web")
    assert reply.message == (
        'deployments.apps "web" is forbidden: User "jane" cannot delete resource "deployments" '
        'in API group "apps" in the namespace "work"'
    )
    reply = await client.get("/api/v1/nodes")
    assert reply.message.endswith("at the cluster scope")
    assert (await client.get("/nope")).message == ('forbidden: User "jane" cannot get path "/nope"')


async def test_bound_roles_count(cluster: SimCluster, connect: Connect, api: Api) -> None:
    for role, path in (("Role", f"{RBAC}/namespaces/default/roles"),):
        await api.create(path, {"kind": role, "apiVersion": "rbac.authorization.k8s.io/v1",
                                "metadata": {"name": "reader"}, "rules": [READ_PODS]})  # fmt: skip
    client = connect(cluster, cluster.add_token("jane", ["devs"]))
    assert (await client.get("/api/v1/namespaces/default/pods")).status == 403
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "devs"},
        "roleRef": {"kind": "Role", "name": "reader"},
        "subjects": [{"kind": "Group", "name": "devs"}],
    }
    await api.create(f"{RBAC}/namespaces/default/rolebindings", binding)
    assert (await client.get("/api/v1/namespaces/default/pods")).status == 200
    assert (await client.get(PODS)).status == 403


async def test_a_service_account_gets_a_token_of_its_own(
    cluster: SimCluster, connect: Connect, api: Api
) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    reply = await api.post(path, {"spec": {"expirationSeconds": 600}})
    assert reply.status == 201
    client = connect(cluster, reply.body["status"]["token"])
    review = await client.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    info = review.body["status"]["userInfo"]
    assert info["username"] == "system:serviceaccount:default:default"
    assert "system:serviceaccounts:default" in info["groups"]


async def test_a_client_certificate_names_its_user(
    cluster: SimCluster, connect: Connect, tmp_path: Path
) -> None:
    pair = cluster.client_certificate("carl", ["system:masters"])
    file = tmp_path / "carl.pem"
    file.write_bytes(pair.certificate + pair.key)
    client = connect(cluster, None, chain=str(file))
    review = await client.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert review.body["status"]["userInfo"]["username"] == "carl"
    assert (await client.get("/api/v1/secrets")).status == 200


async def test_access_reviews_are_answered_from_the_rules(
    cluster: SimCluster, connect: Connect, api: Api
) -> None:
    client = connect(cluster, cluster.add_token("jane", rules=[READ_PODS]))
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

    async def may(verb: str, resource: str) -> bool:
        attributes = {"verb": verb, "resource": resource, "namespace": "work"}
        reply = await client.post(path, {"spec": {"resourceAttributes": attributes}})
        return bool(reply.body["status"]["allowed"])

    assert await may("list", "pods")
    assert not await may("delete", "pods")
    rules = await client.post(
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {"spec": {"namespace": "work"}}
    )
    assert READ_PODS in rules.body["status"]["resourceRules"]
    attributes = {"verb": "list", "resource": "pods"}
    other = await api.post(
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        {"spec": {"user": "jane", "resourceAttributes": attributes}},
    )
    assert other.body["status"]["allowed"] is True


async def test_a_token_review_tells_whose_token_it_is(cluster: SimCluster, api: Api) -> None:
    token = cluster.add_token("jane")
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    good = (await api.post(path, {"spec": {"token": token}})).text
    assert '"authenticated":true' in good
    assert token not in good
    bad = (await api.post(path, {"spec": {"token": "x"}})).body["status"]
    assert "authenticated" not in bad


async def test_impersonation_needs_permission(
    cluster: SimCluster, connect: Connect, api: Api
) -> None:
    refused = await api.get(PODS, **{"Impersonate-User": "joe"})
    assert 'User "joe" cannot list' in refused.message
    jane = connect(cluster, cluster.add_token("jane"))
    refused = await jane.get(PODS, **{"Impersonate-User": "joe"})
    assert 'User "jane" cannot impersonate resource "users"' in refused.message


async def test_admission_sees_only_what_authorization_let_pass(
    cluster: SimCluster, connect: Connect
) -> None:
    client = connect(cluster, cluster.add_token("jane"))
    reply = await client.post("/api/v1/namespaces/nope/configmaps", config_map("a"))
    assert reply.status == 403
