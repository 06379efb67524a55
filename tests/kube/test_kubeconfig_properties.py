"""Whatever is fed to the loader, it loads or complains in one sentence that names the file."""

from __future__ import annotations

import copy
import json
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.errors import InvalidInput
from fairlead.kube.kubeconfig import parse_kubeconfig
from tests.kube.kubeconfigs import AUTHORITY, CLIENT, config, encoded

SOURCE = "some/kubeconfig"
SECRETS = ("s3cr3t-token", "s3cr3t-word", encoded(CLIENT.key_pem))

VALID: dict[str, Any] = config(
    cluster={
        "certificate-authority-data": encoded(AUTHORITY.cert_pem),
        "tls-server-name": "api.example",
        "insecure-skip-tls-verify": False,
        "proxy-url": "http://jane:s3cr3t-word@proxy:3128",
        "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"a": 1}}],
    },
    user={
        "token": "s3cr3t-token",
        "client-certificate-data": encoded(CLIENT.cert_pem),
        "client-key-data": encoded(CLIENT.key_pem),
        "as": "jane",
        "as-groups": ["a", "b"],
        "as-user-extra": {"zone": ["x"]},
        "tokenFile": "",
    },
    context={"namespace": "fleet"},
)
VALID["users"].append(
    {
        "name": "program",
        "user": {
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": "login",
                "args": ["--token", "s3cr3t-token"],
                "env": [{"name": "PASSWORD", "value": "s3cr3t-word"}],
                "interactiveMode": "Never",
                "provideClusterInfo": True,
            },
        },
    }
)
VALID["contexts"].append({"name": "program", "context": {"cluster": "prod", "user": "program"}})

FIELD_NAMES = st.sampled_from(
    [
        "clusters",
        "users",
        "contexts",
        "name",
        "cluster",
        "user",
        "context",
        "server",
        "token",
        "exec",
        "env",
        "args",
        "current-context",
        "apiVersion",
        "kind",
        "as-user-extra",
        "client-key-data",
        "extensions",
        "auth-provider",
        "tokenFile",
        "proxy-url",
    ]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["", "v1", "Config", "https://h", "a\0b", "a\nb", "=", "//", "http://[", "…"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(FIELD_NAMES | st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)
QUICK = settings(max_examples=150, deadline=None)


def use(text: str | bytes) -> None:
    """Loads and asks for every context; whatever is refused is refused properly."""
    for allowed in (True, False):
        try:
            loaded = parse_kubeconfig(text, SOURCE, allow_files=allowed, allow_exec=allowed)
        except InvalidInput as error:
            check(error)
            continue
        for context in (None, *loaded.contexts):
            try:
                access = loaded.access(context)
            except InvalidInput as error:
                check(error)
            else:
                check_hidden(repr(access) + repr(access.credentials))
        check_hidden(repr(loaded))
        reloaded = parse_kubeconfig(loaded.to_text(), SOURCE, allow_files=True, allow_exec=True)
        assert reloaded.contexts == loaded.contexts


def check(error: InvalidInput) -> None:
    assert error.place.startswith(SOURCE)
    assert error.problem
    link: BaseException | None = error
    while link is not None:
        check_hidden(f"{link!r} {link}")
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def check_hidden(text: str) -> None:
    assert not any(secret in text for secret in SECRETS)


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything inside `data`."""
    steps: list[Any] = []
    if isinstance(data, dict):
        steps = list(data)
    elif isinstance(data, list):
        steps = list(range(len(data)))
    found = [path] if path else []
    for step in steps:
        found += places(data[step], (*path, step))
    return found


def test_the_starting_point_is_valid() -> None:
    loaded = parse_kubeconfig(yaml.safe_dump(VALID), SOURCE, allow_exec=True)
    for context in ("prod", "program"):
        assert loaded.access(context).server == "https://prod.example:6443"
    use(yaml.safe_dump(VALID))


@QUICK
@given(st.binary(max_size=200))
def test_any_bytes(raw: bytes) -> None:
    use(raw)


@QUICK
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    use(text)


@QUICK
@given(VALUES, st.booleans())
def test_any_structure(value: Any, as_json: bool) -> None:
    use(json.dumps(value) if as_json else yaml.safe_dump(value))


@QUICK
@given(st.dictionaries(FIELD_NAMES, VALUES, max_size=5))
def test_any_structure_with_the_fields_of_a_kubeconfig(value: dict[str, Any]) -> None:
    use(yaml.safe_dump(value))


@QUICK
@given(st.data())
def test_a_valid_kubeconfig_with_anything_in_some_places(data: st.DataObject) -> None:
    spoiled = copy.deepcopy(VALID)
    for _ in range(data.draw(st.integers(1, 3))):
        *path, last = data.draw(st.sampled_from(places(spoiled)))
        parent = spoiled
        for step in path:
            parent = parent[step]
        if data.draw(st.booleans()):
            parent[last] = data.draw(VALUES)
        else:
            del parent[last]
        if not spoiled:
            break
    use(yaml.safe_dump(spoiled))


@QUICK
@given(st.data())
def test_the_text_of_a_valid_kubeconfig_with_some_of_it_changed(data: st.DataObject) -> None:
    text = yaml.safe_dump(VALID, width=10**6)
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 30))
    patch = data.draw(
        st.text(max_size=5) | st.sampled_from(["*", "!", "&", "%", "'", '"', "\t", "- "])
    )
    use(text[:start] + patch + text[start + length :])


@QUICK
@given(
    st.sampled_from(["*", "!", "&a ", "!!binary ", "!!int ", "!!float ", "@", "`", "%", "'", '"'])
)
def test_a_secret_with_a_character_that_yaml_gives_a_meaning_is_not_shown(prefix: str) -> None:
    text = yaml.safe_dump(VALID)
    for secret in ("s3cr3t-token", "s3cr3t-word"):
        use(text.replace(f"token: {secret}", f"token: {prefix}{secret}"))
        use(text.replace(f"value: {secret}", f"value: {prefix}{secret}"))
