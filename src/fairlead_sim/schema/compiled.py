"""One version of a custom resource definition, ready to default, prune and validate objects.
Compiled once for each definition, then shared by all its objects. Knows nothing of storage or
requests."""

from __future__ import annotations

from typing import Any

from fairlead_sim.patch.list_types import ListTypes, schema_list_types
from fairlead_sim.schema.defaulting import Defaulter
from fairlead_sim.schema.embedded import duplicate_errors, embedded_errors
from fairlead_sim.schema.errors import FieldError, invalid
from fairlead_sim.schema.pruning import prune
from fairlead_sim.schema.rules import Rules
from fairlead_sim.schema.validation import NO_OLD, Validator

Object = dict[str, Any]

# Errors of these types make the API server skip the rules, which assume a well-typed object.
_BLOCKING = frozenset(
    f"FieldValue{kind}"
    for kind in ("NotSupported", "Required", "TooLong", "TooMany", "TypeInvalid")
)
_SKIPPED = invalid(
    None,
    None,
    "some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation",
)


class CompiledSchema:
    """Compiled from `spec.versions[*].schema.openAPIV3Schema`; None accepts anything.

    All methods take whole objects. Order of a write: `prune`, `default`, then (after patches and
    mutation) `validate`. Raises CelError when a rule cannot be compiled; `check_structural` says
    so beforehand as a field error.
    """

    def __init__(self, schema: dict[str, Any] | None, *, status_subresource: bool = True) -> None:
        self.schema: dict[str, Any] = schema or {"x-kubernetes-preserve-unknown-fields": True}
        self.list_types: ListTypes = schema_list_types(
            schema, status_subresource=status_subresource
        )
        self._defaulter = Defaulter(self.schema)
        self._validator = Validator(self.schema)
        self._rules = Rules(self.schema)

    def default(self, obj: Object) -> None:
        """Fill in the defaults, in place."""
        self._defaulter.apply(obj)

    def prune(self, obj: Object) -> list[str]:
        """Drop unknown fields in place; their paths, e.g. ["spec.foo"], sorted.

        Each is `unknown field "spec.foo"` in the sentence of a strict request.
        """
        return prune(obj, self.schema)

    def validate(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """Everything wrong with `obj`; `old` is the stored object on an update."""
        errors: list[FieldError] = []
        before: Any = NO_OLD if old is None else old
        self._validator.check(obj, None, errors, before)
        errors += embedded_errors(obj, self.schema)
        if old is None or not any(duplicate_errors(old, self.schema)):
            errors += duplicate_errors(obj, self.schema)
        if self._rules.does_something():
            if any(error.type in _BLOCKING for error in errors):
                errors.append(_SKIPPED)
            else:
                self._rules.check(obj, None, errors, before)
        return errors
