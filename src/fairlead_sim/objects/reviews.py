"""Reviews: questions about who may do what, answered without storing anything. Knows nothing of
HTTP; a token in a TokenReview is looked up and never shown again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead_sim import answers
from fairlead_sim.authorization import Authorizer, Tokens, User, authenticated
from fairlead_sim.kinds.catalogue import Kind, Object
from fairlead_sim.serving.routes import Target


class Reviews:
    """Answers every kind that can only be created."""

    def __init__(self, authorizer: Authorizer, tokens: Tokens) -> None:
        self._authorizer = authorizer
        self._tokens = tokens
        self._answers: dict[str, Callable[[Object, User], Object]] = {
            "SelfSubjectReview": self._who,
            "SelfSubjectAccessReview": self._may_i,
            "SelfSubjectRulesReview": self._my_rules,
            "SubjectAccessReview": self._may_they,
            "LocalSubjectAccessReview": self._may_they,
            "TokenReview": self._token,
        }

    def answer(self, kind: Kind, body: Object, user: User) -> Object:
        spec = body.get("spec") or {}
        if not isinstance(spec, dict):
            raise answers.bad_request(f"the spec of a {kind.kind} must be an object")
        made: Object = {
            "kind": kind.kind,
            "apiVersion": kind.api_version,
            "metadata": {},
        }
        status = self._answers[kind.kind](spec, user)
        if kind.kind != "SelfSubjectReview":
            made["spec"] = {key: value for key, value in spec.items() if key != "token"}
        return {**made, "status": status}

    def _who(self, spec: Object, user: User) -> Object:
        return {"userInfo": user.info()}

    def _may_i(self, spec: Object, user: User) -> Object:
        return self._decision(spec, user)

    def _may_they(self, spec: Object, user: User) -> Object:
        groups = (*(spec.get("groups") or ()), "system:authenticated")
        them = User(str(spec.get("user") or ""), groups)
        known = self._tokens.rules_of(them.name)
        return self._decision(spec, User(them.name, groups, known))

    def _decision(self, spec: Object, user: User) -> Object:
        attributes = spec.get("resourceAttributes")
        if attributes:
            target = _resource_target(attributes)
            verb = str(attributes.get("verb") or "")
        else:
            others = spec.get("nonResourceAttributes")
            if not others:
                raise answers.bad_request(
                    "exactly one of nonResourceAttributes or resourceAttributes must be specified"
                )
            target = Target(str(others.get("path") or ""))
            verb = str(others.get("verb") or "")
        allowed = self._authorizer.allowed(user, verb, target)
        return {"allowed": allowed}

    def _my_rules(self, spec: Object, user: User) -> Object:
        wanted = str(spec.get("namespace") or "")
        rules = list(self._authorizer.rules(user, wanted))
        rules = [each for each in rules if each.namespaces is None or wanted in each.namespaces]
        return {
            "resourceRules": [each.policy_rule() for each in rules if not each.non_resource_urls],
            "nonResourceRules": [each.policy_rule() for each in rules if each.non_resource_urls],
            "incomplete": False,
        }

    def _token(self, spec: Object, user: User) -> Object:
        found = self._tokens.of_token(str(spec.get("token") or ""))
        if found is None:
            return {"user": {}, "error": "invalid bearer token"}
        return {"authenticated": True, "user": authenticated(found).info()}


def _resource_target(attributes: dict[str, Any]) -> Target:
    def text(name: str) -> str:
        return str(attributes.get(name) or "")

    return Target(
        "",
        text("group"),
        text("version"),
        text("resource") or "*",
        text("namespace"),
        text("name"),
        text("subresource"),
    )
