"""Schemas, defaults, pruning, validation and rules, compared with what a real kube-apiserver
said."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from fairlead_sim.schema import CompiledSchema, check_structural, invalid_sentence
from fairlead_sim.schema.errors import FieldError
from tests.sim.schema.schema_scenarios import (
    BAD_SCHEMAS,
    CREATED,
    GOLDEN,
    SCHEMA,
    UPDATED,
    gadget,
)

GOLDEN_ANSWERS: dict[str, Any] = json.loads(GOLDEN.read_text())
COMPILED = CompiledSchema(SCHEMA)


def _causes(errors: list[FieldError]) -> list[dict[str, str]]:
    return _sorted([error.cause() for error in errors])


def _sorted(causes: list[dict[str, str]]) -> list[dict[str, str]]:
    # The real server walks maps in random order.
    return sorted(causes, key=lambda cause: (cause["field"], cause["message"]))


def _prepared(fields: dict[str, Any]) -> dict[str, Any]:
    obj = gadget(fields)
    COMPILED.prune(obj)
    COMPILED.default(obj)
    return obj


def _content(obj: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in obj.items() if k not in ("apiVersion", "kind", "metadata")}


@pytest.mark.parametrize("name", CREATED)
def test_a_new_object_is_judged_as_by_the_real_server(name: str) -> None:
    golden = GOLDEN_ANSWERS["created"][name]
    obj = _prepared(CREATED[name])
    errors = COMPILED.validate(obj)
    assert _causes(errors) == _sorted(golden.get("causes", []))
    if golden["code"] < 300:
        assert _content(obj) == golden["object"]


@pytest.mark.parametrize("name", UPDATED)
def test_a_changed_object_is_judged_as_by_the_real_server(name: str) -> None:
    golden = GOLDEN_ANSWERS["updated"][name]
    before, after = (_prepared(fields) for fields in UPDATED[name])
    assert _causes(COMPILED.validate(after, before)) == golden.get("causes", [])


@pytest.mark.parametrize("name", GOLDEN_ANSWERS["strict"])
def test_a_strict_request_is_told_the_unknown_fields_of_the_real_server(name: str) -> None:
    dropped = COMPILED.prune(gadget(CREATED[name]))
    told = ", ".join(f'unknown field "{path}"' for path in dropped)
    assert GOLDEN_ANSWERS["strict"][name]["message"].endswith(f"strict decoding error: {told}")


@pytest.mark.parametrize("name", BAD_SCHEMAS)
def test_a_schema_is_refused_as_by_the_real_server(name: str) -> None:
    golden = GOLDEN_ANSWERS["schemas"][name]
    errors = check_structural(copy.deepcopy(BAD_SCHEMAS[name]))
    ours = [(e.field, e.type, _first_line(e.message)) for e in errors]
    theirs = [
        (c["field"], c["reason"], _first_line(c["message"])) for c in golden.get("causes", [])
    ]
    assert ours == theirs


def _first_line(message: str) -> str:
    # Parsers of regular expressions and of CEL say what they expected in their own words.
    first = message.splitlines()[0]
    for words in ("but isn't:", "Syntax error:"):
        first = first.split(words)[0]
    return first


def test_the_sentence_of_a_refusal_is_that_of_the_real_server() -> None:
    golden = GOLDEN_ANSWERS["created"]["map without key"]
    errors = COMPILED.validate(_prepared(CREATED["map without key"]))
    sentence = invalid_sentence("Gadget.gadgets.example.com", "g", errors)
    assert sentence == golden["message"]


def test_a_good_schema_is_structural() -> None:
    assert check_structural(SCHEMA) == []
