"""Requests that make no sense get a Status and change nothing; never a traceback."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead_sim import SimCluster
from fairlead_sim.answers import Refusal
from fairlead_sim.authorization import User
from fairlead_sim.serving.calls import Call
from fairlead_sim.serving.negotiation import Form, wanted_form
from fairlead_sim.serving.routes import parse_path
from tests.sim.conftest import APPLY, JSON_PATCH, MERGE, Api, config_map

MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


@pytest.mark.parametrize(
    "body,content_type",
    [
        ("{not json", "application/json"),
        ("", "application/json"),
        ("[]", "application/json"),
        ("null", "application/json"),
        ("a: [", "application/yaml"),
        ("\x00", "application/yaml"),
        (b"\xff\xfe", "application/json"),
        (b"not protobuf", "application/vnd.kubernetes.protobuf"),
        (json.dumps(config_map("a", data={"k": 1})), "application/json"),  # type: ignore[dict-item]
        (json.dumps({"kind": "Secret", "apiVersion": "v1"}), "application/json"),
        (json.dumps({"kind": "ConfigMap", "apiVersion": "v9"}), "application/json"),
        (json.dumps({"metadata": "x"}), "application/json"),
        (json.dumps({"metadata": {"name": 1}}), "application/json"),
        (json.dumps({"metadata": {"name": "a", "labels": []}}), "application/json"),
        (json.dumps({"metadata": {"name": "a", "namespace": "other"}}), "application/json"),
        ("[" * 100_000, "application/json"),
    ],
)
async def test_a_body_that_cannot_be_used_is_a_bad_request(
    api: Api, body: str | bytes, content_type: str
) -> None:
    reply = await api.call("POST", MAPS, body, content_type)
    assert (reply.status, reply.reason) == (400, "BadRequest")
    assert "Traceback" not in reply.text
    assert await api.names(MAPS) == ["kube-root-ca.crt"]


async def test_yaml_bodies_are_read(api: Api) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: fromyaml\ndata:\n  k: v\n"
    assert (await api.call("POST", MAPS, text, "application/yaml")).status == 201
    reply = await api.get(f"{MAPS}/fromyaml", Accept="application/yaml")
    assert reply.headers["Content-Type"] == "application/yaml"
    assert "k: v" in reply.text


@pytest.mark.parametrize("content_type", ["text/plain", "application/xml"])
async def test_an_unknown_media_type_is_415(api: Api, content_type: str) -> None:
    reply = await api.call("POST", MAPS, "x", content_type)
    assert (reply.status, reply.reason) == (415, "UnsupportedMediaType")


async def test_an_answer_nobody_can_give_is_406(api: Api) -> None:
    assert (await api.get(MAPS, Accept="text/html")).status == 406
    assert (await api.get(MAPS, Accept="text/html,*/*")).status == 200


async def test_a_body_that_is_too_large_is_413(api: Api) -> None:
    body = config_map("a", {"k": "x" * (3 * 1024 * 1024)})
    try:
        reply = await api.post(MAPS, body)
    except aiohttp.ClientConnectionError:
        return  # the server may hang up on the sender, as kube-apiserver does
    assert (reply.status, reply.reason) == (413, "RequestEntityTooLarge")


async def test_an_object_that_is_too_large_is_invalid(api: Api) -> None:
    reply = await api.post(MAPS, config_map("a", {"k": "x" * (1024 * 1024 + 1)}))
    assert reply.status == 422
    assert "Too long: may not be more than 1048576 bytes" in reply.message


@pytest.mark.parametrize(
    "method,path",
    [
        ("PUT", MAPS),
        ("PATCH", MAPS),
        ("POST", f"{MAPS}/a"),
        ("DELETE", "/api/v1/namespaces"),
        ("POST", "/version"),
        ("POST", "/api/v1/configmaps"),
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        ("DELETE", f"{DEPLOYMENTS}/web/status"),
    ],
)
async def test_a_method_that_is_not_allowed_is_405(api: Api, method: str, path: str) -> None:
    reply = await api.call(method, path, {}, MERGE)
    assert (reply.status, reply.reason) == (405, "MethodNotAllowed")


@pytest.mark.parametrize(
    "body,content_type,query,code",
    [
        ("{", MERGE, "", 400),
        ([], MERGE, "", 400),
        ({}, JSON_PATCH, "", 400),
        ([{"op": "remove", "path": "/data/nope"}], JSON_PATCH, "", 422),
        ([{"op": "fly", "path": "/data"}], JSON_PATCH, "", 422),
        ({"data": {}}, "application/json", "", 415),
        ({"data": {}}, MERGE, "?force=true", 422),
        (config_map("a"), APPLY, "", 422),
        ({"kind": "ConfigMap", "metadata": {"name": "a"}}, APPLY, "?fieldManager=m", 400),
        ({"metadata": {"name": "b"}}, MERGE, "", 400),
        ({"metadata": None}, MERGE, "", 200),
        ({"data": {"k": 1}}, MERGE, "", 400),
        ({}, MERGE, "?dryRun=Some", 422),
        ({}, MERGE, "?fieldValidation=Some", 422),
    ],
)
async def test_patches_are_checked(
    api: Api, body: Any, content_type: str, query: str, code: int
) -> None:
    await api.create(MAPS, config_map("a", {"k": "v"}))
    assert (await api.patch(f"{MAPS}/a{query}", body, content_type)).status == code


@pytest.mark.parametrize(
    "spec",
    [
        "text",
        [],
        {"template": "text"},
        {"template": {"spec": {"containers": "x"}}},
        {"selector": {"matchLabels": ["a"]}},
        {"replicas": "many"},
        {"template": {"spec": {"containers": [[]]}}},
    ],
)
async def test_a_spec_of_the_wrong_shape_is_refused(api: Api, spec: Any) -> None:
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    reply = await api.post(DEPLOYMENTS, body)
    assert reply.status in (400, 422)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=12,
)
KINDS = [
    ("/api/v1/namespaces/default/configmaps", "v1", "ConfigMap"),
    ("/api/v1/namespaces/default/services", "v1", "Service"),
    ("/api/v1/namespaces/default/events", "v1", "Event"),
    (DEPLOYMENTS, "apps/v1", "Deployment"),
    ("/apis/batch/v1/namespaces/default/jobs", "batch/v1", "Job"),
    ("/apis/coordination.k8s.io/v1/namespaces/default/leases", "coordination.k8s.io/v1", "Lease"),
    (
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
    ),
    (
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
    ),
    ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "authorization.k8s.io/v1",
     "SelfSubjectAccessReview"),
]  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(KINDS),
    st.dictionaries(
        st.sampled_from(["spec", "data", "status", "metadata", "involvedObject", "subjects"]),
        JSON_VALUES,
        max_size=4,
    ),
)
def test_no_object_makes_the_server_fail(kind: tuple[str, str, str], fields: Any) -> None:
    path, api_version, name = kind

    async def post() -> int:
        async with SimCluster("fuzz") as cluster:
            body = {"apiVersion": api_version, "kind": name, "metadata": {"name": "x"}, **fields}
            call = Call(
                "POST", "create", parse_path(path), {}, User("u"), Form(),
                body=json.dumps(body).encode(),
            )  # fmt: skip
            try:
                return cluster.plane.resources.serve(call).code
            except Refusal as refusal:
                return refusal.code

    assert asyncio.run(post()) in (201, 400, 422)


@given(st.text(max_size=60))
def test_any_path_can_be_taken_apart(path: str) -> None:
    target = parse_path("/" + path)
    assert target.path == "/" + path


@given(st.text(max_size=60))
def test_any_accept_header_is_understood_or_refused(accept: str) -> None:
    try:
        assert wanted_form(accept).media_type
    except Refusal as refusal:
        assert refusal.code == 406
