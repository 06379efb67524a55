from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from fairlead.api.durations import Duration, format_duration, parse_duration
from fairlead.api.meta import ApiStruct
from fairlead.api.schema import Crd, IntOrString, Rule, struct_schema, type_schema


class Part(ApiStruct, kw_only=True, frozen=True):
    """A part.

    With a second
    paragraph.
    """

    __rules__ = (Rule("has(self.name)", "give it a name", reason="FieldValueRequired"),)

    part_name: Annotated[str, Meta(min_length=1), Crd(required=True)] | None = None


@pytest.mark.parametrize(
    "hint, schema",
    [
        (str | None, {"type": "string"}),
        (int, {"type": "integer", "format": "int64"}),
        (float, {"type": "number"}),
        (bool | None, {"type": "boolean"}),
        (datetime | None, {"type": "string", "format": "date-time"}),
        (Any, {"x-kubernetes-preserve-unknown-fields": True}),
        (IntOrString, {"x-kubernetes-int-or-string": True}),
        (dict[str, Any], {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        (dict[str, int], {
            "type": "object",
            "additionalProperties": {"type": "integer", "format": "int64"},
        }),
        (Literal["a", "b"] | None, {"type": "string", "enum": ["a", "b"]}),
        (Annotated[int, Meta(ge=1, le=5), Crd(default=3)], {
            "type": "integer", "format": "int64", "default": 3, "minimum": 1, "maximum": 5,
        }),
        (Annotated[float, Meta(gt=0, lt=1)], {
            "type": "number",
            "minimum": 0, "exclusiveMinimum": True, "maximum": 1, "exclusiveMaximum": True,
        }),
        (Annotated[list[str], Meta(max_length=4), Crd(list_type="set")], {
            "type": "array", "items": {"type": "string"}, "maxItems": 4,
            "x-kubernetes-list-type": "set",
        }),
        (Annotated[Duration, Meta(description="How long.")], {
            "description": "How long.", "type": "string", "format": "duration",
            "pattern": r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$", "maxLength": 32,
        }),
    ],
)  # fmt: skip
def test_each_type_has_its_structural_schema(hint: Any, schema: dict[str, Any]) -> None:
    assert type_schema(hint, "Here") == schema


def test_a_struct_gives_properties_required_rules_and_its_docstring() -> None:
    assert struct_schema(Part) == {
        "description": "A part.\n\nWith a second paragraph.",
        "type": "object",
        "required": ["partName"],
        "properties": {"partName": {"type": "string", "minLength": 1}},
        "x-kubernetes-validations": [
            {
                "rule": "has(self.name)",
                "message": "give it a name",
                "reason": "FieldValueRequired",
            }
        ],
    }


def test_a_list_with_keys_is_a_map_list() -> None:
    schema = type_schema(Annotated[list[Part], Crd(keys=("partName",))], "Here")

    assert schema["x-kubernetes-list-type"] == "map"
    assert schema["x-kubernetes-list-map-keys"] == ["partName"]
    assert schema["items"]["properties"] == {"partName": {"type": "string", "minLength": 1}}


def test_a_hint_that_no_schema_can_express_is_refused_with_its_place() -> None:
    class Odd(msgspec.Struct):
        field: int | str

    with pytest.raises(TypeError, match=r"Odd\.field"):
        struct_schema(Odd)


@pytest.mark.parametrize(
    "text, seconds", [("30s", 30), ("1m30s", 90), ("250ms", 0.25), ("1.5h", 5400), ("0s", 0)]
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "30", "s", "-1s", "1 s", "1d", "1s\n", "9" * 40 + "s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration(text)
