"""CEL expressions as the API server evaluates them: one environment with the variables of
validation rules and admission policies and with Kubernetes' own functions. Knows nothing of
schemas or objects."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

from cel_expr_python import cel  # type: ignore[import-untyped]
from cel_expr_python.ext import (  # type: ignore[import-untyped]
    ext_bindings,
    ext_math,
    ext_optional,
    ext_strings,
)

from fairlead.errors import Terminal
from fairlead_sim.schema.cel_library import functions

# Rules see self and oldSelf; policies see the others. All are dynamic: there is no static typing.
VARIABLES = (
    "self",
    "oldSelf",
    "object",
    "oldObject",
    "request",
    "params",
    "namespaceObject",
    "variables",
)
_STRINGS = re.compile(
    r"[rR]?(\"\"\".*?\"\"\"|'''.*?'''|\"(\\.|[^\"\\])*\"|'(\\.|[^'\\])*')", re.DOTALL
)
_STATUS = re.compile(r"^[A-Z_]+: | \[[A-Z_]+\]$")


class CelError(Terminal):
    """An expression that cannot be compiled, or that fails for these variables."""


class Expression:
    """A compiled CEL expression; may be shared and evaluated any number of times."""

    __slots__ = ("_program", "names", "text")

    def __init__(self, text: str, program: Any) -> None:
        self.text = text
        self._program = program
        # Words outside of string literals: enough to know which variables may be used.
        self.names = frozenset(re.findall(r"[A-Za-z_]\w*", _STRINGS.sub("", text)))

    def evaluate(self, variables: dict[str, Any]) -> Any:
        """The value as plain Python; raises CelError with the sentence of a runtime error."""
        value = self._program.eval(data=variables)
        if value.type() == cel.Type.ERROR:
            raise CelError(_runtime_sentence(str(value.value())), "CelFailed")
        return value.plain_value()


@lru_cache(maxsize=4096)
def compile_expression(text: str) -> Expression:
    """Compiled once and cached; raises CelError with a sentence when it cannot be compiled."""
    try:
        return Expression(text, _environment().compile(text))
    except RuntimeError as cause:
        raise CelError(
            f"compilation failed: {_STATUS.sub('', str(cause))}", "CelInvalid"
        ) from cause


@cache
def _environment() -> Any:
    return cel.NewEnv(
        variables=dict.fromkeys(VARIABLES, cel.Type.DYN),
        extensions=[
            ext_strings.ExtStrings(),
            ext_optional.ExtOptional(),
            ext_bindings.ExtBindings(),
            ext_math.ExtMath(),
        ],
        functions=functions(),
    )


def _runtime_sentence(text: str) -> str:
    """The C++ library's message in the words of the Go library that the API server uses."""
    text = _STATUS.sub("", text)
    if match := re.fullmatch(r'Key not found in map : "?(.*?)"?', text):
        return f"no such key: {match[1]}"
    if match := re.match(r"Index error: index=(-?\d+)", text):
        return f"index out of bounds: {match[1]}"
    if text.startswith(("No matching overloads found", "Applying SELECT")):
        return "no such overload"
    return {"divide by zero": "division by zero", "modulus by zero": "modulus by zero"}.get(
        text, text
    )
