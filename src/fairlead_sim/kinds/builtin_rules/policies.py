"""Admission policies and their bindings: defaults, and expressions that compile."""

from __future__ import annotations

from fairlead_sim.kinds.builtin_rules.field_errors import Errors, go_map, invalid, required
from fairlead_sim.kinds.catalogue import Kind, Object
from fairlead_sim.schema import CelError, compile_expression


def policy(kind: Kind, obj: Object, old: Object | None) -> Errors:
    spec = obj.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    errors = _match_defaults(spec.setdefault("matchConstraints", {}))
    for group in ("validations", "matchConditions", "variables"):
        for index, each in enumerate(spec.get(group) or ()):
            try:
                compile_expression(each["expression"])
            except CelError as error:
                place = f"spec.{group}[{index}].expression"
                errors.append(invalid(place, go_map(each["expression"]), str(error)))
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        why = "validations or auditAnnotations must contain at least one item"
        errors.append(required("spec.validations", why))
    return errors


def policy_binding(kind: Kind, obj: Object, old: Object | None) -> Errors:
    spec = obj.setdefault("spec", {})
    if "matchResources" in spec:
        _match_defaults(spec["matchResources"])
    errors = [] if spec.get("policyName") else [required("spec.policyName")]
    if not spec.get("validationActions"):
        errors.append(required("spec.validationActions"))
    return errors


def _match_defaults(constraints: Object) -> Errors:
    constraints.setdefault("matchPolicy", "Equivalent")
    constraints.setdefault("namespaceSelector", {})
    constraints.setdefault("objectSelector", {})
    for rule in constraints.get("resourceRules") or ():
        rule.setdefault("scope", "*")
    if constraints.get("resourceRules"):
        return []
    return [required("spec.matchConstraints.resourceRules")]
