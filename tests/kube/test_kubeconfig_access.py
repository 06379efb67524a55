from __future__ import annotations

import base64
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.errors import InvalidInput
from fairlead.kube.access import Access, Presented
from fairlead.kube.kubeconfig import load_kubeconfig, parse_kubeconfig
from tests.kube.kubeconfigs import AUTHORITY, CLIENT, config, encoded, write
from tests.kube.pki import issue

V1 = "client.authentication.k8s.io/v1"
EXEC = {"apiVersion": V1, "command": "login", "interactiveMode": "Never"}
INLINE = {
    "client-certificate-data": encoded(CLIENT.cert_pem),
    "client-key-data": encoded(CLIENT.key_pem),
}


def access_of(path: Path, **parts: Any) -> Access:
    return load_kubeconfig([write(path, **parts)]).access()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config"


@pytest.mark.parametrize(
    "user, presented",
    [
        ({}, Presented()),
        ({"token": "abc\n"}, Presented("Bearer abc")),
        ({"username": "jane", "password": "pw"}, Presented("Basic amFuZTpwdw==")),
        (INLINE, Presented(None, CLIENT.pair)),
        (INLINE | {"token": "abc"}, Presented("Bearer abc", CLIENT.pair)),
        ({"token": "abc", "exec": EXEC}, Presented("Bearer abc")),
        (
            {
                "token": "abc",
                "as": "jane",
                "as-uid": "u1",
                "as-groups": ["a", "b"],
                "as-user-extra": {"example.com/Zone": ["x", "y"]},
            },
            Presented(
                "Bearer abc",
                None,
                (
                    ("Impersonate-User", "jane"),
                    ("Impersonate-Uid", "u1"),
                    ("Impersonate-Group", "a"),
                    ("Impersonate-Group", "b"),
                    ("Impersonate-Extra-example.com%2FZone", "x"),
                    ("Impersonate-Extra-example.com%2FZone", "y"),
                ),
            ),
        ),
    ],
)
async def test_what_a_user_presents(path: Path, user: dict[str, Any], presented: Presented) -> None:
    access = access_of(path, user={"token": None} | user)
    assert await access.credentials.current() == presented


async def test_a_context_without_a_user_is_anonymous(path: Path) -> None:
    access = access_of(path, context={"user": None})
    assert await access.credentials.current() == Presented()


def test_everything_a_cluster_stanza_says_is_used(path: Path) -> None:
    access = access_of(
        path,
        cluster={
            "server": "HTTPS://[::1]:6443/clusters/root:org/",
            "certificate-authority-data": encoded(AUTHORITY.cert_pem),
            "tls-server-name": "api.example",
            "proxy-url": "http://user:s3cr3t@proxy:3128",
            "disable-compression": True,
        },
        context={"namespace": "fleet"},
    )
    assert access.server == "https://[::1]:6443/clusters/root:org"
    assert access.tls.ca_pem == AUTHORITY.cert_pem
    assert access.tls.server_name == "api.example"
    assert not access.tls.insecure
    assert access.proxy_url == "http://user:s3cr3t@proxy:3128"
    assert access.namespace == "fleet"
    assert access.description == f"context prod of {path}"
    assert "s3cr3t" not in repr(access)


def test_verification_can_be_switched_off(path: Path) -> None:
    assert access_of(path, cluster={"insecure-skip-tls-verify": True}).tls.insecure


def plugin_script(folder: Path) -> None:
    program = folder / "bin" / "login"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport base64, json, os, sys\n"
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "seen = json.dumps([sys.argv[1:], os.environ['REGION'], info]).encode()\n"
        "print(json.dumps({'apiVersion': info['apiVersion'], 'kind': 'ExecCredential',\n"
        "  'status': {'token': base64.b64encode(seen).decode()}}))\n"
    )
    program.chmod(0o700)


@pytest.mark.parametrize("provide", [True, False])
@pytest.mark.parametrize("version, mode", [("v1", "Never"), ("v1beta1", None)])
async def test_an_exec_plugin_is_run_with_what_its_stanza_says(
    path: Path, version: str, mode: str | None, provide: bool
) -> None:
    plugin_script(path.parent)
    (path.parent / "ca.crt").write_bytes(AUTHORITY.cert_pem)
    program: dict[str, Any] = {
        "apiVersion": f"client.authentication.k8s.io/{version}",
        "command": "bin/login",
        "args": ["get-token", "--quiet"],
        "env": [{"name": "REGION", "value": "eu"}],
        "provideClusterInfo": provide,
    }
    if mode:
        program["interactiveMode"] = mode
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "fleet"}}
    access = access_of(
        path,
        user={"token": None, "exec": program},
        cluster={
            "certificate-authority": "ca.crt",
            "tls-server-name": "api.example",
            "extensions": [extension],
        },
    )
    header = (await access.credentials.current()).authorization or ""
    args, region, info = json.loads(base64.b64decode(header.removeprefix("Bearer ")))
    assert (args, region) == (["get-token", "--quiet"], "eu")
    assert info["spec"].get("cluster") == (
        {
            "server": "https://prod.example:6443",
            "certificate-authority-data": encoded(AUTHORITY.cert_pem),
            "tls-server-name": "api.example",
            "config": {"audience": "fleet"},
        }
        if provide
        else None
    )


FOREIGN = encoded(issue("other").key_pem)
LOCKED = encoded(CLIENT.private_key_pem(b"passphrase"))
CA = encoded(AUTHORITY.cert_pem)


@pytest.mark.parametrize(
    "part, body, field, complaint",
    [
        ("cluster", {"server": None}, "clusters[0].cluster", "'prod' has no server; add"),
        ("cluster", {"server": "host:6443"}, "clusters[0].cluster.server", "has no scheme"),
        ("cluster", {"server": "host"}, "clusters[0].cluster.server", "has no scheme"),
        ("cluster", {"server": "unix:///run/x"}, "clusters[0].cluster.server", "no valid host"),
        ("cluster", {"server": "ftp://host"}, "clusters[0].cluster.server", "has no scheme"),
        ("cluster", {"server": "https://"}, "clusters[0].cluster.server", "no valid host"),
        ("cluster", {"server": "https://h:99999"}, "clusters[0].cluster.server", "not a valid URL"),
        ("cluster", {"server": "https://h:0"}, "clusters[0].cluster.server", "no valid host"),
        ("cluster", {"server": "https://[::1"}, "clusters[0].cluster.server", "not a valid URL"),
        ("cluster", {"server": "https://h\n.x"}, "clusters[0].cluster.server", "holds a space"),
        ("cluster", {"server": "https://h/?a"}, "clusters[0].cluster.server", "query"),
        ("cluster", {"server": "https://u:s3cr3t@h"}, "clusters[0].cluster.server", "password"),
        ("cluster", {"server": 6443}, "clusters[0].cluster.server", "must be text, not a number"),
        (
            "cluster",
            {"certificate-authority-data": "s3cr3t!"},
            "clusters[0].cluster.certificate-authority-data",
            "is not valid base64; encode",
        ),
        (
            "cluster",
            {"certificate-authority-data": encoded(b"s3cr3t")},
            "clusters[0].cluster.certificate-authority-data",
            "holds no PEM certificate",
        ),
        (
            "cluster",
            {"certificate-authority-data": CA, "insecure-skip-tls-verify": True},
            "clusters[0].cluster.certificate-authority-data",
            "exclude each other; remove one",
        ),
        (
            "cluster",
            {"certificate-authority-data": CA, "certificate-authority": "ca.crt"},
            "clusters[0].cluster.certificate-authority",
            "are both given; remove one",
        ),
        (
            "cluster",
            {"certificate-authority": "nowhere"},
            "clusters[0].cluster.certificate-authority",
            "nowhere: the certificate authority cannot be read",
        ),
        (
            "cluster",
            {"insecure-skip-tls-verify": "true"},
            "clusters[0].cluster.insecure-skip-tls-verify",
            "must be true or false, not text; write it without quotes",
        ),
        (
            "cluster",
            {"proxy-url": "socks5://u:s3cr3t@proxy"},
            "clusters[0].cluster.proxy-url",
            "SOCKS proxy, which is not supported; use an http:// or https:// proxy",
        ),
        ("cluster", {"proxy-url": "proxy:3128"}, "clusters[0].cluster.proxy-url", "no scheme"),
        ("cluster", {"proxy-url": "ftp://proxy"}, "clusters[0].cluster.proxy-url", "no scheme"),
        ("cluster", {"extensions": {}}, "clusters[0].cluster.extensions", "must be a list"),
        ("user", {"token": 12345}, "users[0].user.token", "not a number; put it in quotes"),
        ("user", {"token": ["s3cr3t"]}, "users[0].user.token", "must be text, not a list"),
        ("user", {"token": "s3cr3t s3cr3t"}, "users[0].user.token", "the token holds a space"),
        ("user", {"token": "s3cr3t\0"}, "users[0].user.token", "holds a null character"),
        (
            "user",
            {"username": "jane", "password": "s3cr3t"},
            "users[0].user.username",
            "has both a token and a password; keep one",
        ),
        (
            "user",
            {"token": None, "password": "s3cr3t"},
            "users[0].user.password",
            "has a password but no username; add",
        ),
        (
            "user",
            {"tokenFile": "nowhere", "token": None},
            "users[0].user.tokenFile",
            "nowhere: the token cannot be read",
        ),
        (
            "user",
            {"client-certificate-data": INLINE["client-certificate-data"]},
            "users[0].user.client-certificate-data",
            "has a client certificate but no client key; add `client-key-data`",
        ),
        (
            "user",
            {"client-key-data": INLINE["client-key-data"]},
            "users[0].user.client-key-data",
            "has a client key but no client certificate",
        ),
        (
            "user",
            INLINE | {"client-key-data": FOREIGN},
            "users[0].user.client-certificate-data",
            "does not belong to the client certificate",
        ),
        (
            "user",
            INLINE | {"client-key-data": LOCKED},
            "users[0].user.client-certificate-data",
            "is encrypted; remove its passphrase",
        ),
        (
            "user",
            INLINE | {"client-certificate-data": encoded(b"s3cr3t")},
            "users[0].user.client-certificate-data",
            "holds no PEM certificate",
        ),
        (
            "user",
            {"auth-provider": {"name": "gcp", "config": {"access-token": "s3cr3t"}}},
            "users[0].user.auth-provider",
            "'gcp' is not supported; write `exec` with the plugin gke-gcloud-auth-plugin",
        ),
        ("user", {"as-groups": ["a"]}, "users[0].user", "need `as`; name the user"),
        ("user", {"as": "a\nb"}, "users[0].user.as", "holds a line break"),
        ("user", {"as-groups": "a", "as": "b"}, "users[0].user.as-groups", "must be a list"),
        ("user", {"as-user-extra": ["a"]}, "users[0].user.as-user-extra", "must be a mapping"),
        ("context", {"cluster": "gone"}, "contexts[0].context.cluster", "choose 'prod'"),
        ("context", {"cluster": None}, "contexts[0].context.cluster", "'prod' names no cluster"),
        ("context", {"user": "gone"}, "contexts[0].context.user", "that is not there; choose"),
        ("context", {"namespace": 5}, "contexts[0].context.namespace", "must be text"),
    ],
)
def test_a_stanza_that_cannot_be_used_is_refused_with_place_and_remedy(
    path: Path, part: str, body: dict[str, Any], field: str, complaint: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        access_of(path, **{part: body})
    error = caught.value
    assert re.fullmatch(rf"{re.escape(str(path))}:[0-9]+: {re.escape(field)}", error.place)
    assert complaint in str(error)
    assert error.remedy
    assert "\n" not in str(error)
    assert_hidden(error, "s3cr3t")


@pytest.mark.parametrize(
    "change, field, complaint",
    [
        (
            {"apiVersion": "client.authentication.k8s.io/v1alpha1"},
            ".apiVersion",
            "v1alpha1 is gone",
        ),
        ({"apiVersion": "v3"}, ".apiVersion", "not one Fairlead knows; update the plugin"),
        ({"apiVersion": None}, ".apiVersion", "has no apiVersion"),
        ({"command": ""}, "", "has no command; add `command`"),
        ({"interactiveMode": None}, ".interactiveMode", "must be Never, IfAvailable or Always"),
        ({"interactiveMode": "Maybe"}, ".interactiveMode", "must be Never, IfAvailable or Always"),
        ({"args": "s3cr3t"}, ".args", "must be a list, not text"),
        ({"args": [1]}, ".args[0]", "must be text, not a number"),
        ({"env": {"A": "s3cr3t"}}, ".env", "must be a list, not a mapping"),
        ({"env": [{"name": "A=B", "value": "s3cr3t"}]}, ".env", "equals sign"),
        ({"env": [{"value": "s3cr3t"}]}, ".env", "has no name"),
        ({"provideClusterInfo": "yes"}, ".provideClusterInfo", "must be true or false"),
    ],
)
def test_an_exec_stanza_that_cannot_be_used_is_refused(
    path: Path, change: dict[str, Any], field: str, complaint: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        access_of(path, user={"token": None, "exec": EXEC | change})
    assert caught.value.place.endswith(f": users[0].user.exec{field}")
    assert complaint in str(caught.value)
    assert caught.value.remedy
    assert_hidden(caught.value, "s3cr3t")


def duplicate(plural: str) -> dict[str, Any]:
    data = config()
    data[plural].append(data[plural][0])
    return data


@pytest.mark.parametrize(
    "data, place, complaint",
    [
        (["a"], ":1", "is a list, not a kubeconfig"),
        ("text", ":1", "is text, not a kubeconfig"),
        (config(kind="Deployment"), ":2: kind", "is not Config, so this is not a kubeconfig"),
        (config(apiVersion="v2"), ":1: apiVersion", "is not v1"),
        (config(clusters={}), ":4: clusters", "must be a list, not a mapping"),
        (config(users=["jane"]), ": users[0]", "must be a mapping, not text"),
        (config(users=[{"name": "jane", "user": "x"}]), ": users[0].user", "must be a mapping"),
        (config(contexts=[{"context": {}}]), ": contexts[0]", "the context has no name"),
        (config(contexts=[{"name": 5}]), ": contexts[0].name", "must be text, not a number"),
        (duplicate("clusters"), ": clusters[1].name", "a second cluster is named 'prod'; rename"),
        (duplicate("users"), ": users[1].name", "a second user is named 'prod'; rename"),
        (duplicate("contexts"), ": contexts[1].name", "a second context is named 'prod'; rename"),
        (config() | {"current-context": "dev"}, ":3: current-context", "choose 'prod'"),
        (config() | {"current-context": 1}, ":3: current-context", "must be text"),
        (config() | {"current-context": ""}, "config", "current-context is not set; choose 'prod'"),
    ],
)
def test_a_file_that_is_no_kubeconfig_is_refused_with_its_place(
    path: Path, data: Any, place: str, complaint: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        load_kubeconfig([write(path, data)]).access()
    assert caught.value.place.startswith(str(path))
    assert caught.value.place.endswith(place)
    assert complaint in str(caught.value)
    assert caught.value.remedy


def test_a_context_that_is_not_there_is_answered_with_those_that_are(path: Path) -> None:
    data = config()
    data["contexts"] += [{"name": f"c{n}", "context": {"cluster": "prod"}} for n in range(20)]
    with pytest.raises(InvalidInput, match=r"no context 'x'; choose one of 'prod', 'c0'.*11 more$"):
        load_kubeconfig([write(path, data)]).access("x")


@pytest.mark.parametrize(
    "text",
    [
        "users: [{name: a, user: {password: *s3cr3t}}]",
        "users: [{name: a, user: {password: !s3cr3t x}}]",
        "users: [{name: a, user: {password: %s3cr3t}}]",
        "users: [{name: a, user: {password: 's3cr3t}}]",
        "users: [{name: a, user: {password: @s3cr3t}}]",
        'users: [{name: a, user: {password: "\\s3cr3t"}}]',
        "users:\n  password: s3cr3t\n token: s3cr3t",
    ],
)
def test_a_syntax_error_next_to_a_secret_does_not_show_it(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(InvalidInput, match=f"{path}:[0-9]+: (not valid|a tag)") as caught:
        load_kubeconfig([path])
    assert_hidden(caught.value, "s3cr3t")


REMOTE: list[tuple[str, dict[str, Any], str]] = [
    ("cluster", {"certificate-authority": "/etc/passwd"}, "names a file"),
    ("user", {"tokenFile": "/etc/passwd"}, "names a file"),
    ("user", {"client-certificate": "x"} | INLINE, "names a file"),
    ("user", {"client-key": "x"} | INLINE, "names a file"),
    ("user", {"exec": EXEC}, "runs a program"),
]


@pytest.mark.parametrize("part, body, complaint", REMOTE)
def test_a_kubeconfig_from_elsewhere_may_neither_name_files_nor_programs(
    part: str, body: dict[str, Any], complaint: str
) -> None:
    parts: dict[str, Any] = {part: body}
    text = yaml.safe_dump(config(**parts))
    with pytest.raises(InvalidInput, match=f"^secret fleet/prod:[0-9]+: .*{complaint}") as caught:
        parse_kubeconfig(text, "secret fleet/prod")
    assert caught.value.remedy


async def test_a_kubeconfig_from_elsewhere_may_carry_credentials() -> None:
    text = yaml.safe_dump(config(user=INLINE))
    access = parse_kubeconfig(text.encode(), "secret fleet/prod").access()
    assert await access.credentials.current() == Presented("Bearer prod-token", CLIENT.pair)
    assert access.description == "context prod of secret fleet/prod"


def test_files_and_programs_can_be_allowed(tmp_path: Path) -> None:
    ca = tmp_path / "ca.crt"
    ca.write_bytes(AUTHORITY.cert_pem)
    cluster = {"certificate-authority": str(ca)}
    text = yaml.safe_dump(config(cluster, {"token": None, "exec": EXEC}))
    access = parse_kubeconfig(text, "stdin", allow_files=True, allow_exec=True).access()
    assert access.tls.ca_pem == AUTHORITY.cert_pem
    assert access.credentials.refreshable
    with pytest.raises(InvalidInput):
        parse_kubeconfig(text, "stdin", allow_files=True)
    with pytest.raises(InvalidInput):
        parse_kubeconfig(text, "stdin", allow_exec=True)


def test_nothing_secret_shows_in_a_repr(path: Path) -> None:
    secrets: dict[str, Any] = {"token": "s3cr3t", "as": "s3cr3t", "as-groups": ["s3cr3t"]}
    loaded = load_kubeconfig([write(path, user=secrets)])
    access = loaded.access()
    for thing in (loaded, access, access.credentials):
        assert "s3cr3t" not in f"{thing!r} {thing}"


def assert_hidden(error: BaseException, secret: str) -> None:
    """Not in the error and in nothing that led to it."""
    link: BaseException | None = error
    while link is not None:
        assert secret not in f"{link!r} {link}"
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
