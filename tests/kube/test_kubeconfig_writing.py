from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.errors import InvalidInput
from fairlead.kube.access import Access, Presented, TlsSettings
from fairlead.kube.credentials import StaticCredentials, basic, bearer
from fairlead.kube.kubeconfig import load_kubeconfig, parse_kubeconfig
from fairlead.kube.kubeconfig.writer import ContextEntry, dump, merge_into, write_private
from tests.kube.kubeconfigs import AUTHORITY, CLIENT, config, write

HEADERS = (
    ("Impersonate-User", "jane"),
    ("Impersonate-Uid", "u1"),
    ("Impersonate-Group", "a"),
    ("Impersonate-Group", "b"),
    ("Impersonate-Extra-example.com%2Fzone", "x"),
)


@pytest.mark.parametrize(
    "presented",
    [
        Presented(),
        Presented(bearer("t0ken")),
        Presented(bearer("0123456789")),
        Presented(basic("jane", "pass:wörd")),
        Presented(None, CLIENT.pair),
        Presented(bearer("t0ken"), CLIENT.pair, HEADERS),
    ],
)
async def test_what_is_written_gives_the_same_access_when_read(presented: Presented) -> None:
    access = Access(
        server="https://prod.example:6443/clusters/root",
        tls=TlsSettings(AUTHORITY.cert_pem, "api.example"),
        credentials=StaticCredentials(presented),
        proxy_url="http://proxy:3128",
        namespace="fleet",
        description="the original",
    )
    text = dump([ContextEntry.of("prod", access, presented)], current="prod")
    read = parse_kubeconfig(text, "written").access()
    assert (read.server, read.tls, read.proxy_url, read.namespace) == (
        access.server,
        access.tls,
        access.proxy_url,
        access.namespace,
    )
    assert await read.credentials.current() == presented


def test_an_insecure_context_stays_insecure() -> None:
    entry = ContextEntry("lab", "https://lab:1", TlsSettings(insecure=True))
    assert parse_kubeconfig(dump([entry]), "written").access("lab").tls.insecure


def entry(name: str, token: str = "new-token") -> ContextEntry:
    return ContextEntry(name, f"https://{name}.example", presented=Presented(bearer(token)))


def test_a_new_file_is_private_and_so_is_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config"
    merge_into(path, [entry("a"), entry("b")], current="b")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) & 0o077 == 0
    loaded = load_kubeconfig([path])
    assert (loaded.contexts, loaded.current_context) == (("a", "b"), "b")


async def test_merging_keeps_everything_else_and_replaces_the_same_names(tmp_path: Path) -> None:
    data = config(user={"token": None, "tokenFile": "token"}, preferences={"colors": True})
    data["contexts"].append({"name": "a", "context": {"cluster": "gone"}})
    path = write(tmp_path / "config", data)
    path.chmod(0o644)
    (tmp_path / "token").write_text("kept")
    merge_into(path, [entry("a")])
    merge_into(path, [entry("a", "newer-token"), entry("b")])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    loaded = load_kubeconfig([path])
    assert (loaded.contexts, loaded.current_context) == (("prod", "a", "b"), "prod")
    tokens = [(await loaded.access(c).credentials.current()).authorization for c in loaded.contexts]
    assert tokens == ["Bearer kept", "Bearer newer-token", "Bearer new-token"]
    assert yaml.safe_load(path.read_text())["preferences"] == {"colors": True}


@pytest.mark.parametrize("content", ["[]", "clusters: 5", "kind: Secret", "{", "users: [{}]"])
def test_a_file_that_is_no_kubeconfig_is_left_as_it_is(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(InvalidInput, match=str(path)):
        merge_into(path, [entry("a")])
    assert path.read_text() == content
    assert os.listdir(tmp_path) == ["config"]


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "config").symlink_to(tmp_path / "real")
    merge_into(tmp_path / "config", [entry("a")])
    assert (tmp_path / "config").is_symlink()
    assert load_kubeconfig([tmp_path / "real"]).contexts == ("a",)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config"
    path.write_text("old")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InvalidInput, match=r"cannot be written \(No space left on device\)"):
        write_private(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["config"]


async def test_chosen_contexts_are_extracted_with_absolute_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "./bin/login",
        "interactiveMode": "Never",
    }
    (tmp_path / "token").write_text("from-file")
    one = write(tmp_path / "one", user={"token": None, "tokenFile": "token"}, name="a")
    two = write(tmp_path / "two", user={"token": None, "exec": program}, name="b")
    three = write(tmp_path / "three", name="c")
    loaded = load_kubeconfig([one, two, three])
    other = tmp_path / "elsewhere" / "config"
    write_private(other, loaded.to_text(["b", "a"]))
    extracted = load_kubeconfig([other])
    assert (extracted.contexts, extracted.current_context) == (("b", "a"), "a")
    presented = await extracted.access("a").credentials.current()
    assert presented.authorization == "Bearer from-file"
    users = {user["name"]: user["user"] for user in yaml.safe_load(other.read_text())["users"]}
    assert users["b"]["exec"]["command"] == str(tmp_path / "bin" / "login")
    assert load_kubeconfig([one, two]).to_text(["b"]).count("current-context") == 0
    with pytest.raises(InvalidInput, match="there is no context 'd'"):
        loaded.to_text(["d"])


def test_nothing_secret_shows_in_a_repr() -> None:
    assert "s3cr3t" not in repr(entry("a", "s3cr3t"))
