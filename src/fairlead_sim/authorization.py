"""Who asks, and what they may do: bearer tokens and client certificates to users, rules per token
and stored RBAC objects to decisions. Knows nothing of HTTP; tokens never appear in a repr."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fairlead_sim.answers import Refusal, forbidden
from fairlead_sim.kinds.catalogue import Object
from fairlead_sim.objects.storage import Store
from fairlead_sim.serving.routes import Target

_RBAC = "rbac.authorization.k8s.io"
MASTERS = "system:masters"
_PUBLIC = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_DISCOVERY = (
    "/api", "/api/*", "/apis", "/apis/*", "/healthz", "/healthz/*", "/livez", "/livez/*",
    "/openapi", "/openapi/*", "/readyz", "/readyz/*", "/version", "/version/",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """What may be done. `namespaces` None means everywhere, cluster-scoped objects included."""

    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    namespaces: tuple[str, ...] | None = None
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = ()

    def allows(self, verb: str, target: Target) -> bool:
        if verb not in self.verbs and "*" not in self.verbs:
            return False
        if not target.resource:
            return any(_url_matches(url, target.path) for url in self.non_resource_urls)
        resource = target.resource
        if target.subresource:
            resource = f"{resource}/{target.subresource}"
        return (
            _listed(self.api_groups, target.group)
            and (
                _listed(self.resources, resource)
                or (bool(target.subresource) and f"*/{target.subresource}" in self.resources)
            )
            and (self.namespaces is None or target.namespace in self.namespaces)
            and (not self.resource_names or target.name in self.resource_names)
        )

    def policy_rule(self) -> Object:
        """As SelfSubjectRulesReview and `kubectl auth can-i --list` show it."""
        rule: Object = {"verbs": list(self.verbs)}
        if self.non_resource_urls:
            return {**rule, "nonResourceURLs": list(self.non_resource_urls)}
        rule |= {"apiGroups": list(self.api_groups), "resources": list(self.resources)}
        if self.resource_names:
            rule["resourceNames"] = list(self.resource_names)
        return rule


EVERYTHING = (
    Rule(api_groups=("*",), resources=("*",), verbs=("*",)),
    Rule(non_resource_urls=("*",), verbs=("*",)),
)
# Every authenticated user may look around and ask about itself, as kube's default roles allow.
_EVERYBODY = (
    Rule(non_resource_urls=_DISCOVERY, verbs=("get",)),
    Rule(
        ("authorization.k8s.io",),
        ("selfsubjectaccessreviews", "selfsubjectrulesreviews"),
        ("create",),
    ),
    Rule(("authentication.k8s.io",), ("selfsubjectreviews",), ("create",)),
)


def _listed(values: Sequence[str], value: str) -> bool:
    return value in values or "*" in values


def _url_matches(pattern: str, path: str) -> bool:
    if pattern.endswith("*"):
        return path.startswith(pattern[:-1])
    return pattern == path


def parse_rule(rule: Rule | Mapping[str, Any]) -> Rule:
    """A Rule from the fields of an RBAC PolicyRule plus `namespaces`."""
    if isinstance(rule, Rule):
        return rule
    namespaces = rule.get("namespaces")
    return Rule(
        tuple(rule.get("apiGroups") or ()),
        tuple(rule.get("resources") or ()),
        tuple(rule.get("verbs") or ()),
        None if namespaces is None else tuple(namespaces),
        tuple(rule.get("resourceNames") or ()),
        tuple(rule.get("nonResourceURLs") or ()),
    )


@dataclass(frozen=True, slots=True)
class User:
    """Somebody the API server knows, with the rules that hold apart from RBAC objects."""

    name: str
    groups: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def info(self) -> Object:
        """`userInfo` of reviews."""
        info: Object = {"username": self.name}
        if self.uid:
            info["uid"] = self.uid
        info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {key: list(values) for key, values in self.extra.items()}
        return info


ANONYMOUS = User(
    "system:anonymous",
    ("system:unauthenticated",),
    (Rule(non_resource_urls=_PUBLIC, verbs=("get",)),),
)


def authenticated(user: User) -> User:
    group = "system:authenticated"
    return user if group in user.groups else replace(user, groups=(*user.groups, group))


@dataclass(slots=True)
class Tokens:
    """Bearer tokens and their users."""

    _users: dict[str, User] = field(default_factory=dict, repr=False)

    def issue(self, user: User, token: str | None = None) -> str:
        token = token or secrets.token_urlsafe(24)
        self._users[token] = authenticated(user)
        return token

    def revoke(self, token: str) -> None:
        self._users.pop(token, None)

    def user(self, authorization: str) -> User | None:
        scheme, _, token = authorization.partition(" ")
        return self.of_token(token.strip()) if scheme.lower() == "bearer" else None

    def rules_of(self, name: str) -> tuple[Rule, ...]:
        """The rules that came with any token of this user."""
        return tuple(
            rule for user in self._users.values() if user.name == name for rule in user.rules
        )

    def of_token(self, token: str) -> User | None:
        return self._users.get(token)


def certificate_user(certificate: Mapping[str, Any]) -> User | None:
    """The common name is the user, organizations are the groups."""
    name, groups = "", []
    for relative in certificate.get("subject", ()):
        for key, value in relative:
            if key == "commonName":
                name = value
            elif key == "organizationName":
                groups.append(value)
    return authenticated(User(name, tuple(groups))) if name else None


class Authorizer:
    """Decides from the user's own rules and from the RBAC objects in the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def allowed(self, user: User, verb: str, target: Target) -> bool:
        if MASTERS in user.groups:
            return True
        return any(rule.allows(verb, target) for rule in self.rules(user, target.namespace))

    def require(self, user: User, verb: str, target: Target) -> None:
        if not self.allowed(user, verb, target):
            raise refusal(user, verb, target)

    def rules(self, user: User, namespace: str) -> Iterator[Rule]:
        """Everything that applies to the user in a namespace."""
        if MASTERS in user.groups:
            yield from EVERYTHING
            return
        yield from user.rules
        if "system:authenticated" in user.groups:
            yield from _EVERYBODY
        for binding in self._bindings("clusterrolebindings", ""):
            if _binds(binding, user):
                yield from self._role_rules(binding, None)
        if namespace:
            for binding in self._bindings("rolebindings", namespace):
                if _binds(binding, user):
                    yield from self._role_rules(binding, namespace)

    def _bindings(self, plural: str, namespace: str) -> Iterable[Object]:
        collection = self._store.collection((_RBAC, plural))
        return [collection.records[key].object for key in collection.keys(namespace)]

    def _role_rules(self, binding: Object, namespace: str | None) -> Iterator[Rule]:
        reference = binding.get("roleRef") or {}
        in_role = reference.get("kind") == "Role"
        place = ("roles" if in_role else "clusterroles", namespace or "" if in_role else "")
        role = self._store.get((_RBAC, place[0]), (place[1], reference.get("name", "")))
        for rule in (role.object.get("rules") if role else None) or ():
            limits = None if namespace is None else (namespace,)
            yield replace(parse_rule(rule), namespaces=limits)


def _binds(binding: Object, user: User) -> bool:
    for subject in binding.get("subjects") or ():
        name = subject.get("name")
        match subject.get("kind"):
            case "User":
                found = name == user.name
            case "Group":
                found = name in user.groups
            case "ServiceAccount":
                space = subject.get("namespace") or binding["metadata"].get("namespace")
                found = user.name == f"system:serviceaccount:{space}:{name}"
            case _:
                found = False
        if found:
            return True
    return False


def refusal(user: User, verb: str, target: Target) -> Refusal:
    """403 in kube-apiserver's words."""
    if not target.resource:
        return forbidden("", {}, "", f'User "{user.name}" cannot {verb} path "{target.path}"')
    resource = target.resource
    if target.subresource:
        resource = f"{resource}/{target.subresource}"
    where = f'in the namespace "{target.namespace}"' if target.namespace else "at the cluster scope"
    why = (
        f'User "{user.name}" cannot {verb} resource "{resource}" '
        f'in API group "{target.group}" {where}'
    )
    qualified = f"{target.resource}.{target.group}" if target.group else target.resource
    details: dict[str, Any] = {"name": target.name} if target.name else {}
    if target.group:
        details["group"] = target.group
    details["kind"] = target.resource
    return forbidden(qualified, details, target.name, why)


def service_account_user(namespace: str, name: str, uid: str) -> User:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return User(f"system:serviceaccount:{namespace}:{name}", groups, uid=uid)
