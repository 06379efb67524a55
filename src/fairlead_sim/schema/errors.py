"""Field errors as the API server words them, and the paths that they name. Knows nothing of
schemas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairlead_sim.patch.json_values import go_json, go_quoted

# A path as (parent, step): cheap to extend while walking, printed only when something is wrong.
# A step is ".name", "[0]" or "[key]".
Path = tuple[Any, str] | None

_LABELS = {
    "FieldValueInvalid": "Invalid value",
    "FieldValueTypeInvalid": "Invalid value",
    "FieldValueRequired": "Required value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
}


class _Omitted:
    pass


OMITTED = _Omitted()


@dataclass(frozen=True, slots=True)
class FieldError:
    """One cause of a 422 Status."""

    field: str  # "spec.replicas", "spec.ports[0].name"; "<nil>" for the whole object
    type: str  # "FieldValueInvalid", "FieldValueRequired", ...
    message: str  # 'Invalid value: "x": spec.replicas in body must be of type integer: "string"'

    def cause(self) -> dict[str, str]:
        """The entry of `details.causes` in the Status."""
        return {"reason": self.type, "message": self.message, "field": self.field}

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def field_error(kind: str, path: Path | str, value: Any = OMITTED, detail: str = "") -> FieldError:
    """`kind` is the CauseType; the value is printed where its kind prints one."""
    text = _LABELS[kind]
    if not isinstance(value, _Omitted):
        text += f": {print_value(value)}"
    if detail:
        text += f": {detail}"
    return FieldError(path if isinstance(path, str) else print_path(path), kind, text)


def invalid(path: Path | str, value: Any, detail: str) -> FieldError:
    """A malformed value."""
    return field_error("FieldValueInvalid", path, value, detail)


def required(path: Path | str, detail: str = "") -> FieldError:
    """A value that is not there."""
    return field_error("FieldValueRequired", path, detail=detail)


def forbidden(path: Path | str, detail: str) -> FieldError:
    """A value that may not be there."""
    return field_error("FieldValueForbidden", path, detail=detail)


def print_path(path: Path) -> str:
    """`spec.ports[0].name`, or `<nil>` for the root."""
    if path is None:
        return "<nil>"
    return dotted(path).removeprefix(".")


def dotted(path: Path) -> str:
    """The path without the special case of the root."""
    steps = []
    while path is not None:
        path, step = path
        steps.append(step)
    return "".join(reversed(steps))


def print_value(value: Any) -> str:
    """A value as error messages show it."""
    if isinstance(value, str):
        return go_quoted(value)
    if isinstance(value, float):
        return go_float(value)
    return go_json(value)


def go_float(value: float) -> str:
    """`%v` of a float64."""
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return repr(value)


def invalid_sentence(qualified_kind: str, name: str, errors: Sequence[FieldError]) -> str:
    """The Status message, e.g. `Widget.example.com "a" is invalid: spec.x: Required value`."""
    parts = list(dict.fromkeys(map(str, errors)))
    text = parts[0] if len(parts) == 1 else f"[{', '.join(parts)}]"
    return f'{qualified_kind} "{name}" is invalid: {text}'
