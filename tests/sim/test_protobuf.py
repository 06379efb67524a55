"""The protobuf bodies that typed Go clients send."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead_sim.kinds.builtin_types import ProtobufError, decode_object
from fairlead_sim.kinds.builtin_types.protobuf import MAGIC
from tests.sim.conftest import Api

PROTOBUF = "application/vnd.kubernetes.protobuf"


def varint(value: int) -> bytes:
    made = bytearray()
    value &= (1 << 64) - 1
    while True:
        value, low = value >> 7, value & 0x7F
        made.append(low | (0x80 if value else 0))
        if not value:
            return bytes(made)


def field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def envelope(api_version: str, kind: str, body: bytes) -> bytes:
    type_meta = field(1, api_version) + field(2, kind)
    return MAGIC + field(1, type_meta) + field(2, body)


def entry(key: str, value: str | bytes) -> bytes:
    return field(1, key) + field(2, value)


async def test_a_config_map_is_created_from_protobuf(api: Api) -> None:
    meta = field(1, "a") + field(11, entry("app", "web")) + field(8, b"")
    raw = envelope("v1", "ConfigMap", field(1, meta) + field(2, entry("k", "v")))
    path = "/api/v1/namespaces/default/configmaps"
    reply = await api.call("POST", path, raw, PROTOBUF)
    assert reply.status == 201, reply.text
    assert reply.headers["Content-Type"].startswith("application/json")
    made = (await api.get(f"{path}/a")).body
    assert made["data"] == {"k": "v"}
    assert made["metadata"]["labels"] == {"app": "web"}


def decoded(api_version: str, kind: str, body: bytes) -> dict[str, Any]:
    made = decode_object(envelope(api_version, kind, body))
    assert (made.pop("apiVersion"), made.pop("kind")) == (api_version, kind)
    return made


def test_pointers_keep_zero_and_plain_values_lose_it() -> None:
    spec = field(1, 0) + field(5, 0)  # replicas is a pointer, minReadySeconds is not
    assert decoded("apps/v1", "Deployment", field(2, spec))["spec"] == {"replicas": 0}


def test_inlined_messages_times_and_numbers_come_out_as_in_json() -> None:
    source = field(19, field(1, field(1, "settings")))  # configMap { localObjectReference.name }
    volume = field(1, "v") + field(2, source)
    pod = decoded("v1", "Pod", field(2, field(1, volume)))
    assert pod["spec"]["volumes"] == [{"name": "v", "configMap": {"name": "settings"}}]
    moment = field(1, 1_700_000_000) + field(2, 123_456_000)
    lease = decoded("coordination.k8s.io/v1", "Lease", field(2, field(4, moment) + field(2, -1)))
    assert lease["spec"] == {
        "renewTime": "2023-11-14T22:13:20.123456Z",
        "leaseDurationSeconds": -1,
    }
    target = field(1, 1) + field(3, "http")
    service = decoded("v1", "Service", field(2, field(1, field(3, 80) + field(4, target))))
    assert service["spec"]["ports"][0] == {"port": 80, "targetPort": "http"}
    secret = decoded("v1", "Secret", field(2, entry("p", b"\x00\xff")))
    assert secret["data"] == {"p": "AP8="}


async def test_delete_options_may_be_protobuf_too(api: Api) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    await api.create(path, {"metadata": {"name": "a"}})
    wrong = envelope("v1", "DeleteOptions", field(2, field(1, "another-uid")))
    assert (await api.call("DELETE", f"{path}/a", wrong, PROTOBUF)).status == 409
    right = envelope("v1", "DeleteOptions", field(4, "Background"))
    assert (await api.call("DELETE", f"{path}/a", right, PROTOBUF)).status == 200


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        MAGIC,
        MAGIC + b"\x0a",
        MAGIC + b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        envelope("v1", "Nothing", b""),
        envelope("v1", "ConfigMap", field(1, 5)),
        envelope("v1", "ConfigMap", field(1, field(1, b"\xff"))),
        envelope("v1", "ConfigMap", b"\x0f"),
        envelope("v1", "Node", struct.pack("<B", 9) + b"123"),
    ],
)
def test_what_is_no_protobuf_is_refused_with_a_sentence(raw: bytes) -> None:
    with pytest.raises(ProtobufError):
        decode_object(raw)


@given(st.binary(max_size=200), st.sampled_from(["ConfigMap", "Pod", "Service", "Event", "Node"]))
def test_no_bytes_do_more_than_be_refused(raw: bytes, kind: str) -> None:
    try:
        assert decode_object(envelope("v1", kind, raw))["kind"] == kind
    except ProtobufError as error:
        assert str(error)
