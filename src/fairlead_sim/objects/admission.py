"""Admission by ValidatingAdmissionPolicy objects, evaluated as kube-apiserver does: match the
request, evaluate conditions and variables, deny or warn in the policy's own words. Knows nothing
of HTTP or of how writes are stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead_sim import answers
from fairlead_sim.kinds.catalogue import Catalogue, Object
from fairlead_sim.objects.selectors import match_labels
from fairlead_sim.objects.storage import Store
from fairlead_sim.objects.writing import NAMESPACES, Attempt
from fairlead_sim.schema import CelError, compile_expression

_GROUP = "admissionregistration.k8s.io"
_POLICIES = (_GROUP, "validatingadmissionpolicies")
_BINDINGS = (_GROUP, "validatingadmissionpolicybindings")
_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}


class Policies:
    """The policies and bindings in the store."""

    def __init__(self, store: Store, catalogue: Catalogue) -> None:
        self._store = store
        self._catalogue = catalogue

    def judge(self, attempt: Attempt) -> None:
        """Refuse or warn; policies about policies would lock everybody out, so there are none."""
        bindings = self._store.collection(_BINDINGS)
        if not bindings.records or attempt.kind.group == _GROUP:
            return
        for key in list(bindings.keys()):
            binding = bindings.records[key].object
            policy = self._store.get(_POLICIES, ("", binding["spec"].get("policyName", "")))
            if policy is not None:
                self._apply(policy.object, binding, attempt)

    def _apply(self, policy: Object, binding: Object, attempt: Attempt) -> None:
        constraints = policy["spec"].get("matchConstraints") or {}
        extra = binding["spec"].get("matchResources") or {}
        if not self._matches(constraints, attempt):
            return
        if extra and not self._matches(extra, attempt, default=True):
            return
        for params in self._params(policy, binding, attempt):
            self._evaluate(policy, binding, attempt, params)

    # ---- which requests

    def _matches(self, constraints: Object, attempt: Attempt, *, default: bool = False) -> bool:
        rules = constraints.get("resourceRules") or []
        matched = any(_rule_matches(rule, attempt) for rule in rules) or (default and not rules)
        excluded = constraints.get("excludeResourceRules") or []
        if not matched or any(_rule_matches(rule, attempt) for rule in excluded):
            return False
        selector = constraints.get("objectSelector")
        candidates = [obj for obj in (attempt.object, attempt.old) if obj is not None]
        if selector and not any(match_labels(selector, _labels(obj)) for obj in candidates):
            return False
        return self._namespace_matches(constraints.get("namespaceSelector"), attempt)

    def _namespace_matches(self, selector: Object | None, attempt: Attempt) -> bool:
        if not selector:
            return True
        if attempt.kind.storage == NAMESPACES:
            return match_labels(selector, _labels(attempt.object or attempt.old or {}))
        if not attempt.kind.namespaced:
            return True
        return match_labels(selector, _labels(self._namespace(attempt) or {}))

    def _namespace(self, attempt: Attempt) -> Object | None:
        found = self._store.get(NAMESPACES, ("", attempt.key[0]))
        return found.object if found else None

    # ---- with which parameters

    def _params(self, policy: Object, binding: Object, attempt: Attempt) -> Iterator[Object | None]:
        wanted, reference = policy["spec"].get("paramKind"), binding["spec"].get("paramRef")
        if not wanted or not reference:
            yield None
            return
        group, _, version = str(wanted["apiVersion"]).rpartition("/")
        kind = self._catalogue.by_kind(group, version, wanted["kind"])
        found: list[Object] = []
        if kind is not None:
            collection = self._store.collection(kind.storage)
            namespace = reference.get("namespace") or attempt.key[0] if kind.namespaced else ""
            for key in collection.keys(namespace):
                obj = collection.records[key].object
                if reference.get("name") in (None, "", key[1]) and match_labels(
                    reference.get("selector"), _labels(obj)
                ):
                    found.append(obj)
        if not found and reference.get("parameterNotFoundAction", "Deny") == "Deny":
            message = "no params found for policy binding with `Deny` parameterNotFoundAction"
            raise _denial(policy, binding, attempt, message, "Invalid")
        yield from found

    # ---- what they say

    def _evaluate(
        self, policy: Object, binding: Object, attempt: Attempt, params: Object | None
    ) -> None:
        spec = policy["spec"]
        values = self._variables(attempt, params)
        try:
            for condition in spec.get("matchConditions") or ():
                if compile_expression(condition["expression"]).evaluate(values) is not True:
                    return
        except CelError as error:
            self._failed(policy, binding, attempt, f"{error}")
            return
        for variable in spec.get("variables") or ():
            try:
                value = compile_expression(variable["expression"]).evaluate(values)
            except CelError:
                # Variables are lazy: only an expression that uses this one fails, for want of it.
                continue
            values["variables"][variable["name"]] = value
        for validation in spec.get("validations") or ():
            self._validate(policy, binding, attempt, validation, values)

    def _validate(
        self, policy: Object, binding: Object, attempt: Attempt, validation: Object, values: Object
    ) -> None:
        expression = validation["expression"]
        try:
            if compile_expression(expression).evaluate(values) is True:
                return
        except CelError as error:
            message = f"expression '{expression}' resulted in error: {error}"
            self._failed(policy, binding, attempt, message)
            return
        message = validation.get("message") or f"failed expression: {expression.strip()}"
        if text := validation.get("messageExpression"):
            message = _message(text, values) or message
        reason = validation.get("reason") or "Invalid"
        self._act(policy, binding, attempt, message.strip(), reason)

    def _failed(self, policy: Object, binding: Object, attempt: Attempt, message: str) -> None:
        if policy["spec"].get("failurePolicy", "Fail") == "Fail":
            self._act(policy, binding, attempt, message, "Invalid")

    def _act(
        self, policy: Object, binding: Object, attempt: Attempt, message: str, reason: str
    ) -> None:
        actions = binding["spec"].get("validationActions") or ["Deny"]
        if "Warn" in actions:
            names = f"'{policy['metadata']['name']}' with binding '{binding['metadata']['name']}'"
            text = f"Validation failed for ValidatingAdmissionPolicy {names}: {message}"
            attempt.options.warnings.append(text)
        if "Deny" in actions:
            raise _denial(policy, binding, attempt, message, reason)

    def _variables(self, attempt: Attempt, params: Object | None) -> dict[str, Any]:
        kind = attempt.kind
        request = {
            "kind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
            "resource": {"group": kind.group, "version": kind.version, "resource": kind.plural},
            "subResource": attempt.subresource,
            "name": attempt.key[1],
            "namespace": attempt.key[0],
            "operation": attempt.operation,
            "userInfo": attempt.options.user.info(),
            "dryRun": attempt.options.dry_run,
        }
        return {
            "object": attempt.object,
            "oldObject": attempt.old,
            "request": request,
            "params": params,
            "namespaceObject": self._namespace(attempt) if kind.namespaced else None,
            "variables": {},
        }


def _labels(obj: Object) -> dict[str, str]:
    return (obj.get("metadata") or {}).get("labels") or {}


def _rule_matches(rule: Object, attempt: Attempt) -> bool:
    kind = attempt.kind
    resource = f"{kind.plural}/{attempt.subresource}" if attempt.subresource else kind.plural
    wanted = {resource, "*/*"}
    if attempt.subresource:
        wanted |= {f"{kind.plural}/*", f"*/{attempt.subresource}"}
    else:
        wanted.add("*")
    scope = {"*", "Namespaced" if kind.namespaced else "Cluster"}
    names = rule.get("resourceNames") or [attempt.key[1]]
    return (
        _listed(rule.get("apiGroups"), kind.group)
        and _listed(rule.get("apiVersions"), kind.version)
        and _listed(rule.get("operations"), attempt.operation)
        and bool(wanted & set(rule.get("resources") or ()))
        and rule.get("scope", "*") in scope
        and attempt.key[1] in names
    )


def _listed(values: list[str] | None, value: str) -> bool:
    return values is not None and ("*" in values or value in values)


def _message(expression: str, values: Object) -> str:
    try:
        value = compile_expression(expression).evaluate(values)
    except CelError:
        return ""
    return value if isinstance(value, str) else ""


def _denial(
    policy: Object, binding: Object, attempt: Attempt, message: str, reason: str
) -> answers.Refusal:
    names = f"'{policy['metadata']['name']}' with binding '{binding['metadata']['name']}'"
    why = f"ValidatingAdmissionPolicy {names} denied request: {message}"
    refusal = answers.forbidden_object(attempt.kind, attempt.key[1], why)
    refusal.code, refusal.reason = _CODES.get(reason, 422), reason
    refusal.details = {**(refusal.details or {}), "causes": [{"message": why}]}
    return refusal
