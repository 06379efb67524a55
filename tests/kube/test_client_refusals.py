"""What the answers of a server that does not say yes become."""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable

import pytest

from fairlead.errors import Conflict, FairleadError, NotFound, Reason, Terminal, Unreachable
from fairlead.kube import (
    CONFIG_MAPS,
    AlreadyExists,
    ApplyConflict,
    Denied,
    Gone,
    Invalid,
    NotServed,
    ObjectNotFound,
    Resource,
    StaleResource,
    Throttled,
)
from tests.kube.scripted import ScriptedServer, Step, answer, config_map, page, scripted, status

WIDGETS = Resource("example.com", "v1", "widgets", "Widget")
NOT_FOUND = {"name": "a", "kind": "configmaps"}


async def refused(step: Step, verb: str = "get") -> FairleadError:
    async with scripted(step) as server, server.client(request_timeout=5.0) as client:
        verbs: dict[str, Callable[[], Awaitable[object]]] = {
            "get": lambda: client.get(CONFIG_MAPS, "a", "default"),
            "list": lambda: client.list(CONFIG_MAPS, "default"),
            "create": lambda: client.create(CONFIG_MAPS, config_map("a")),
            "apply": lambda: client.apply(CONFIG_MAPS, config_map("a")),
        }
        with pytest.raises(FairleadError) as raised:
            await verbs[verb]()
    assert "the-secret-token" not in str(raised.value)
    return raised.value


async def test_a_404_is_notfound_when_the_server_names_what_was_asked_for() -> None:
    error = await refused(status(404, "NotFound", 'configmaps "a" not found', details=NOT_FOUND))
    assert isinstance(error, ObjectNotFound)
    assert isinstance(error, NotFound)
    assert 'configmaps "a" not found' in str(error)
    assert "cluster west (http://127.0.0.1:" in str(error)


@pytest.mark.parametrize(
    "details",
    [
        None,
        {},
        {"name": "b", "kind": "configmaps"},
        {"name": "a", "kind": "secrets"},
        {"name": "a", "kind": "configmaps", "group": "example.com"},
        {"name": "default", "kind": "namespaces"},
    ],
)
async def test_a_404_status_about_anything_else_is_not_notfound(
    details: dict[str, str] | None,
) -> None:
    error = await refused(status(404, "NotFound", details=details))
    assert isinstance(error, NotServed)
    assert error.reason is Reason.NOT_SERVED


async def test_a_write_into_a_missing_namespace_is_notfound() -> None:
    missing = status(
        404,
        "NotFound",
        'namespaces "default" not found',
        details={"name": "default", "kind": "namespaces"},
    )
    for verb in ("create", "apply"):
        assert isinstance(await refused(missing, verb), ObjectNotFound)


async def test_a_list_is_never_notfound() -> None:
    error = await refused(status(404, "NotFound", details=NOT_FOUND), "list")
    assert isinstance(error, NotServed)


async def test_the_plain_404_of_an_unknown_group_says_that_the_api_is_not_served() -> None:
    plain = answer(b"404 page not found\n", 404, content_type="text/plain")
    async with scripted(plain) as server, server.client() as client:
        with pytest.raises(NotServed, match=r"does not serve widgets in example\.com/v1") as raised:
            await client.get(WIDGETS, "a", "default")
    assert "CustomResourceDefinition" in str(raised.value)
    assert not isinstance(raised.value, NotFound)


@pytest.mark.parametrize(
    "step",
    [
        answer(b"<html>Not Found</html>", 404, content_type="text/html"),
        answer(b"", 404, content_type="text/plain"),
        answer({"error": "no route"}, 404),
        answer({"kind": "Status", "code": "not a number"}, 404),
        answer(b"<html>Please log in</html>", 200, content_type="text/html"),
        answer(b"{", 200),
        answer(b"[" * 100_000, 200),
        answer([], 200),
        answer({}, 200),
        answer({"kind": "Status", "status": "Success"}, 200),
        answer(config_map("another"), 200),
        answer({"kind": "ConfigMap", "metadata": {}}, 200),
        answer(b"teapot", 418, content_type="text/plain"),
        answer(b"Client sent an HTTP request to an HTTPS server.", 400, content_type="text/plain"),
    ],
)
async def test_what_is_no_answer_of_an_api_server_is_a_bad_answer(step: Step) -> None:
    error = await refused(step)
    assert isinstance(error, Unreachable)
    assert error.reason is Reason.BAD_ANSWER
    assert "check the server URL" in str(error)


@pytest.mark.parametrize(
    "content",
    [b"{", [], {}, {"kind": "ConfigMapList"}, {"kind": "ConfigMap", "items": []},
     {"kind": "ConfigMapList", "items": [{}]}, {"kind": "ConfigMapList", "items": [1]},
     {"kind": "ConfigMapList", "items": [{"metadata": {"name": 1}}]}],
)  # fmt: skip
async def test_a_list_of_anything_but_objects_is_a_bad_answer(content: object) -> None:
    error = await refused(answer(content), "list")
    assert isinstance(error, Unreachable)
    assert error.reason is Reason.BAD_ANSWER


async def test_an_empty_list_may_be_null() -> None:
    async with scripted(answer(page() | {"items": None})) as server, server.client() as client:
        assert (await client.list(CONFIG_MAPS)).items == []


async def test_the_content_of_an_unexpected_answer_is_not_repeated() -> None:
    leak = {"kind": "Secret", "metadata": {"name": "a"}, "data": {"password": "aHVudGVyMg=="}}
    error = await refused(answer(leak))
    assert "aHVudGVyMg==" not in str(error)


async def test_a_redirect_is_not_followed() -> None:
    async with scripted(answer(config_map("a"))) as elsewhere:
        step = answer(b"", 302, Location=f"{elsewhere.url}/login")
        error = await refused(step)
        assert elsewhere.asked == []
    assert isinstance(error, Unreachable)
    assert error.reason is Reason.BAD_ANSWER
    assert f"{elsewhere.url}/login" in str(error)


@pytest.mark.parametrize(
    "step, kind, reason",
    [
        (status(401, "Unauthorized", "Unauthorized"), Unreachable, Reason.UNAUTHORIZED),
        (answer(b"who?", 401, content_type="text/plain"), Unreachable, Reason.UNAUTHORIZED),
        (
            status(403, "Forbidden", 'configmaps "a" is forbidden: User "x" cannot get resource'),
            Unreachable,
            Reason.FORBIDDEN,
        ),
        (answer(b"no", 403, content_type="text/html"), Unreachable, Reason.FORBIDDEN),
        (status(429, "TooManyRequests", Retry_After="60"), Throttled, Reason.THROTTLED),
        (answer(b"", 429, Retry_After="60"), Throttled, Reason.THROTTLED),
        (status(500, "InternalError"), Unreachable, Reason.SERVER_ERROR),
        (answer(b"bad gateway", 502, content_type="text/html"), Unreachable, Reason.SERVER_ERROR),
        (status(504, "Timeout"), Unreachable, Reason.TIMEOUT),
    ],
)
async def test_each_kind_of_unreachable_has_its_reason(
    step: Step, kind: type[Unreachable], reason: Reason
) -> None:
    error = await refused(step)
    assert isinstance(error, kind)
    assert error.reason is reason


async def test_admission_that_forbids_a_write_is_denied_and_not_a_lack_of_rights() -> None:
    message = (
        'configmaps "a" is forbidden: unable to create new content in namespace default '
        "because it is being terminated"
    )
    causes = [{"reason": "NamespaceTerminating", "message": "…", "field": "metadata.namespace"}]
    error = await refused(status(403, "Forbidden", message, details={"causes": causes}), "create")
    assert isinstance(error, Denied)
    assert error.namespace_terminating
    quota = await refused(status(403, "Forbidden", "exceeded quota: compute"), "create")
    assert isinstance(quota, Denied)
    assert not quota.namespace_terminating
    owner = "cannot set blockOwnerDeletion if you cannot set finalizers"
    assert isinstance(await refused(status(403, "Forbidden", owner), "create"), Denied)


@pytest.mark.parametrize(
    "code, message",
    [
        (422, "ValidatingAdmissionPolicy 'fence' with binding 'b' denied request: too old"),
        (403, "ValidatingAdmissionPolicy 'fence' with binding 'b' denied request: too old"),
        (400, 'admission webhook "judge.example.com" denied the request: no'),
    ],
)
async def test_what_a_policy_or_a_webhook_denies_is_denied(code: int, message: str) -> None:
    assert isinstance(await refused(status(code, "", message), "apply"), Denied)


async def test_a_write_without_the_right_to_it_is_forbidden() -> None:
    message = 'configmaps is forbidden: User "x" cannot create resource "configmaps"'
    error = await refused(status(403, "Forbidden", message), "create")
    assert isinstance(error, Unreachable)
    assert error.reason is Reason.FORBIDDEN


async def test_conflicts_are_told_apart() -> None:
    assert isinstance(await refused(status(409, "AlreadyExists"), "create"), AlreadyExists)
    assert isinstance(await refused(status(409, "Conflict"), "create"), StaleResource)
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "kubectl"',
            "field": ".data.colour",
        }
    ]
    error = await refused(status(409, "Conflict", details={"causes": causes}), "apply")
    assert isinstance(error, ApplyConflict)
    assert isinstance(error, Conflict)
    assert error.causes[0].field == ".data.colour"
    assert '.data.colour: conflict with "kubectl"' in str(error)


async def test_an_invalid_object_is_terminal_and_names_the_fields() -> None:
    causes = [{"reason": "FieldValueRequired", "message": "Required value", "field": "spec.size"}]
    step = status(422, "Invalid", "spec.size: Required value", details={"causes": causes})
    error = await refused(step, "create")
    assert isinstance(error, Invalid)
    assert isinstance(error, Terminal)
    assert error.reason == "Invalid"
    assert error.causes[0].field == "spec.size"
    assert isinstance(await refused(status(400, "BadRequest"), "create"), Invalid)


async def test_an_applied_field_that_the_schema_lacks_is_invalid_though_answered_500() -> None:
    message = "failed to create typed patch object (a; v1): .spec.x: field not declared in schema"
    error = await refused(status(500, "", message), "apply")
    assert isinstance(error, Invalid)


async def test_410_is_gone() -> None:
    assert isinstance(await refused(status(410, "Expired"), "list"), Gone)


async def ask_for_too_much(server: ScriptedServer) -> Unreachable:
    async with server.client(max_answer=10_000) as client:
        with pytest.raises(Unreachable) as raised:
            await client.get(CONFIG_MAPS, "a", "default")
    return raised.value


async def test_an_answer_larger_than_allowed_is_refused_by_its_announcement() -> None:
    async with scripted(answer(config_map("a", x="y" * 20_000))) as server:
        error = await ask_for_too_much(server)
    assert error.reason is Reason.BAD_ANSWER
    assert "10000 allowed" in str(error)


async def test_a_small_answer_that_inflates_without_end_is_refused() -> None:
    packer = zlib.compressobj(wbits=31)
    bomb = packer.compress(b" " * (20 << 20)) + packer.flush()
    async with scripted(answer(bomb, Content_Encoding="gzip")) as server:
        error = await ask_for_too_much(server)
    assert error.reason is Reason.BAD_ANSWER


async def test_a_compressed_answer_is_understood() -> None:
    packer = zlib.compressobj(wbits=31)
    packed = packer.compress(b'{"kind": "ConfigMap", "metadata": {"name": "a"}}') + packer.flush()
    async with (
        scripted(answer(packed, Content_Encoding="gzip")) as server,
        server.client() as client,
    ):
        assert (await client.get(CONFIG_MAPS, "a", "default"))["kind"] == "ConfigMap"
