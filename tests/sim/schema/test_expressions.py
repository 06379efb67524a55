from __future__ import annotations

from typing import Any

import pytest

from fairlead_sim.schema import CelError, CompiledSchema, check_structural, compile_expression
from fairlead_sim.schema.patterns import compile_pattern

EPOCH = (
    "!has(oldObject.metadata.annotations) || !('epoch' in oldObject.metadata.annotations) || "
    "(has(object.metadata.annotations) && 'epoch' in object.metadata.annotations && "
    "int(object.metadata.annotations['epoch']) >= int(oldObject.metadata.annotations['epoch']))"
)


def _epoch(value: str | None) -> dict[str, Any]:
    return {"metadata": {"annotations": {} if value is None else {"epoch": value}}}


@pytest.mark.parametrize(
    "old,new,allowed",
    [("1", "2", True), ("2", "2", True), ("2", "1", False), ("2", None, False), (None, "1", True)],
)
def test_an_admission_policy_can_fence_by_epoch(
    old: str | None, new: str | None, allowed: bool
) -> None:
    variables = {"object": _epoch(new), "oldObject": _epoch(old)}
    assert compile_expression(EPOCH).evaluate(variables) is allowed


@pytest.mark.parametrize(
    "text",
    [
        "self.l.all(x, x > 0) && self.l.exists(x, x == 2) && self.l.exists_one(x, x == 3)",
        "self.l.filter(x, x > 1).map(x, x * 2) == [4, 6]",
        "size(self.l) == 3 && self.l.size() == 3 && 2 in self.l",
        "has(self.l) && !has(self.none) ? true : false",
        "self.s.matches('^[a-z]+$') && self.s.startsWith('a') && self.s.endsWith('c')",
        "self.s.replace('a', 'x').upperAscii() == 'XBC' && 'a,b'.split(',') == ['a', 'b']",
        "self.?none.orValue('d') == 'd'",
        "self.l.isSorted() && self.l.sum() == 6 && self.l.min() == 1 && self.l.max() == 3",
        "sets.contains(self.l, [1]) && sets.equivalent([1, 1], [1])",
        "'ab12'.find('[0-9]+') == '12' && 'a1b2'.findAll('[0-9]') == ['1', '2']",
        "quantity('1Gi').isGreaterThan(quantity('1M'))",
        "quantity('500m').isLessThan(quantity('1'))",
        "isQuantity('1.5Ki') && !isQuantity('x') && quantity('2k').asInteger() == 2000",
        "isURL('https://example.com/x') && !isURL('example')",
        "duration('90m') == duration('1h30m')",
        "cel.bind(x, self.l[0], x + 1) == 2",
        "'%s has %d'.format(['it', 3]) == 'it has 3'",
    ],
)
def test_the_functions_of_kubernetes_work(text: str) -> None:
    assert compile_expression(text).evaluate({"self": {"l": [1, 2, 3], "s": "abc"}}) is True


def test_a_variable_nobody_declared_is_refused_at_once() -> None:
    with pytest.raises(
        CelError, match=r"compilation failed: ERROR: .*undeclared reference to 'nope'"
    ):
        compile_expression("nope == 1")


@pytest.mark.parametrize(
    "text,sentence",
    [
        ("self.missing == 1", "no such key: missing"),
        ("self.l[9] == 1", "index out of bounds: 9"),
        ("1 / self.zero == 1", "division by zero"),
        ("self.s + 1 == 1", "no such overload"),
    ],
)
def test_a_failure_at_run_time_is_told_as_the_api_server_tells_it(text: str, sentence: str) -> None:
    with pytest.raises(CelError) as failure:
        compile_expression(text).evaluate({"self": {"l": [1], "s": "a", "zero": 0}})
    assert str(failure.value) == sentence


def test_a_number_is_a_double_even_when_it_is_written_without_a_point() -> None:
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"ratio": {"type": "number"}},
                "x-kubernetes-validations": [{"rule": "self.ratio * 2.0 < 5.0"}],
            }
        },
    }
    assert check_structural(schema) == []
    assert CompiledSchema(schema).validate({"spec": {"ratio": 2}}) == []


def test_defaults_are_not_shared_between_objects() -> None:
    schema = CompiledSchema(
        {"type": "object", "properties": {"spec": {"type": "object", "default": {"l": []}}}}
    )
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}
    schema.default(first)
    schema.default(second)
    first["spec"]["l"].append(1)
    assert second == {"spec": {"l": []}}


def test_a_part_that_did_not_change_is_not_judged_again() -> None:
    before = CompiledSchema(
        {
            "type": "object",
            "properties": {
                "a": {"type": "string", "maxLength": 1},
                "b": {"type": "string", "maxLength": 1},
            },
        }
    )
    old = {"a": "too long"}
    assert [e.field for e in before.validate({"a": "too long", "b": "xx"}, old)] == ["b"]
    assert [e.field for e in before.validate({"a": "too long still"}, old)] == ["a"]


@pytest.mark.parametrize(
    "pattern,text,matches",
    [
        ("^a$", "a\n", False),
        ("^[[:alpha:]]+$", "abc", True),
        (r"^\d$", "٣", False),
        ("(?i)^AB$", "ab", True),
        ("(?P<x>a)b", "ab", True),
        ("[]a]", "]", True),
    ],
)
def test_patterns_mean_what_they_mean_in_go(pattern: str, text: str, matches: bool) -> None:
    assert bool(compile_pattern(pattern).search(text)) is matches
