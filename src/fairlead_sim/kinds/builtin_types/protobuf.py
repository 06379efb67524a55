"""Decodes the protobuf bodies that typed Go clients send for built-in kinds into plain objects, as
their JSON would be. Pure; every malformed body is a ProtobufError."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from fairlead_sim.kinds.builtin_types.shapes import Message, Shape, message, message_of

MAGIC = b"k8s\x00"
_MAX_DEPTH = 64
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ZERO_TIME = -62135596800


class ProtobufError(ValueError):
    """The bytes are not what they should be, or of a kind that is not described."""


def decode_object(raw: bytes) -> dict[str, Any]:
    """The object inside a `runtime.Unknown` envelope, with its apiVersion and kind."""
    if not raw.startswith(MAGIC):
        raise ProtobufError("provided data does not appear to be a protobuf message")
    body, api_version, kind = b"", "", ""
    for number, value in _pairs(raw[len(MAGIC) :]):
        if number == 1 and isinstance(value, bytes):
            for part, text in _pairs(value):
                if part == 1:
                    api_version = _text(text)
                elif part == 2:
                    kind = _text(text)
        elif number == 2 and isinstance(value, bytes):
            body = value
    known = message_of(api_version, kind)
    if kind == "DeleteOptions":
        known = message("meta.v1.DeleteOptions")
    if known is None:
        raise ProtobufError(f"no protobuf description of {api_version} {kind}")
    return {"apiVersion": api_version, "kind": kind, **_message(body, known, 0)}


def _varint(raw: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(raw) or shift > 63:
            raise ProtobufError("a number ends too early")
        byte = raw[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, position
        shift += 7


def _pairs(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and values: numbers as they are, everything else as bytes."""
    position = 0
    while position < len(raw):
        tag, position = _varint(raw, position)
        match tag & 7:
            case 0:
                value, position = _varint(raw, position)
                yield tag >> 3, value
                continue
            case 1:
                length = 8
            case 2:
                length, position = _varint(raw, position)
            case 5:
                length = 4
            case other:
                raise ProtobufError(f"wire type {other} is not used here")
        if position + length > len(raw):
            raise ProtobufError("a field ends too early")
        yield tag >> 3, raw[position : position + length]
        position += length


def _message(raw: bytes, known: Message, depth: int) -> dict[str, Any]:
    if depth > _MAX_DEPTH:
        raise ProtobufError("nested too deeply")
    made: dict[str, Any] = {}
    for number, value in _pairs(raw):
        shape = known.numbers.get(number)
        if shape is None:
            continue
        if shape.inline:
            made |= _message(_bytes(value), message(shape.message), depth + 1)
        elif shape.mapped:
            key, item = _entry(_bytes(value), shape, depth)
            made.setdefault(shape.name, {})[key] = item
        elif shape.repeated:
            made.setdefault(shape.name, []).append(_value(value, shape, depth))
        else:
            decoded = _value(value, shape, depth)
            if decoded or shape.pointer or (shape.keeps_zero and decoded is not None):
                made[shape.name] = decoded
    return made


def _entry(raw: bytes, shape: Shape, depth: int) -> tuple[str, Any]:
    key: str = ""
    item: int | bytes | None = None
    for number, value in _pairs(raw):
        if number == 1:
            key = _text(value)
        elif number == 2:
            item = value
    return key, _value(b"" if item is None else item, shape, depth)


def _value(value: int | bytes, shape: Shape, depth: int) -> Any:
    match shape.base:
        case "M":
            return _message(_bytes(value), message(shape.message), depth + 1)
        case "s":
            return _text(value)
        case "i":
            return _signed(value)
        case "b":
            return bool(value)
        case "f":
            return struct.unpack("<d", _bytes(value))[0]
        case "y":
            return base64.b64encode(_bytes(value)).decode()
    return _special(_bytes(value), shape.base)


def _special(raw: bytes, base: str) -> Any:
    parts = dict(_pairs(raw))
    match base:
        case "time" | "micro":
            return _time(parts, base)
        case "quantity":
            return _text(parts.get(1, b""))
        case "intstr":
            kind, number, text = parts.get(1, 0), parts.get(2, 0), parts.get(3, b"")
            return _text(text) if kind else _signed(number)
        case "duration":
            return f"{_signed(parts.get(1, 0)) / 1e9:g}s"
        case "strings":
            return [_text(value) for number, value in _pairs(raw) if number == 1]
        case "raw":
            return _json(_bytes(parts.get(1, b"")))
    raise ProtobufError(f"values of type {base} are not sent as protobuf")


def _time(parts: dict[int, int | bytes], base: str) -> str | None:
    seconds, nanos = _signed(parts.get(1, _ZERO_TIME)), _signed(parts.get(2, 0))
    if seconds == _ZERO_TIME or not parts:
        return None
    try:
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError as error:
        raise ProtobufError("a time is out of range") from error
    if base == "micro":
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _json(raw: bytes) -> Any:
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        raise ProtobufError("embedded JSON cannot be read") from error


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ProtobufError("a number stands where bytes belong")
    return value


def _text(value: int | bytes) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError as error:
        raise ProtobufError("a text is not UTF-8") from error


def _signed(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise ProtobufError("bytes stand where a number belongs")
    return value - (1 << 64) if value >= 1 << 63 else value
