"""Structural schemas of custom resource definitions: check, default, prune, validate, CEL
rules. Pure functions on plain dicts; knows nothing of HTTP, storage or discovery."""

from fairlead_sim.schema.cel import CelError, Expression, compile_expression
from fairlead_sim.schema.compiled import CompiledSchema
from fairlead_sim.schema.errors import FieldError, invalid_sentence
from fairlead_sim.schema.structural import check_structural

__all__ = [
    "CelError",
    "CompiledSchema",
    "Expression",
    "FieldError",
    "check_structural",
    "compile_expression",
    "invalid_sentence",
]
