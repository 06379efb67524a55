from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from fairlead.errors import InvalidInput
from fairlead.kube.kubeconfig import default_paths, load_kubeconfig
from tests.kube.kubeconfigs import AUTHORITY, CLIENT, config, write


async def authorization(paths: list[Path] | None = None, context: str | None = None) -> str | None:
    access = load_kubeconfig(paths).access(context)
    return (await access.credentials.current()).authorization


@pytest.fixture
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two files in folders of their own that KUBECONFIG lists."""
    paths = (tmp_path / "one" / "config", tmp_path / "two" / "config")
    for path in paths:
        path.parent.mkdir()
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, paths)))
    return paths


async def test_the_first_file_to_set_a_name_wins_whole(listed: tuple[Path, Path]) -> None:
    write(listed[0], user={"token": "first"}, context={"namespace": "one"})
    write(listed[1], user={"token": "second", "as": "root"}, cluster={"tls-server-name": "two"})
    access = load_kubeconfig().access()
    presented = await access.credentials.current()
    assert (presented.authorization, presented.headers) == ("Bearer first", ())
    assert (access.tls.server_name, access.namespace) == (None, "one")


async def test_a_context_may_use_stanzas_of_other_files(listed: tuple[Path, Path]) -> None:
    write(listed[0], config(clusters=[], users=[]) | {"current-context": ""})
    write(listed[1], config(contexts=[]))
    loaded = load_kubeconfig()
    assert loaded.current_context == "prod"
    assert loaded.contexts == ("prod",)
    assert await authorization() == "Bearer prod-token"


async def test_the_contexts_of_all_files_are_there(listed: tuple[Path, Path]) -> None:
    write(listed[0], name="a")
    write(listed[1], name="b")
    loaded = load_kubeconfig()
    assert (loaded.contexts, loaded.current_context) == (("a", "b"), "a")
    assert await authorization(context="b") == "Bearer b-token"


async def test_missing_and_empty_entries_of_kubeconfig_are_ignored(
    listed: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(listed[1])
    monkeypatch.setenv("KUBECONFIG", f"::{listed[0]}:{listed[1]}:{listed[1]}:")
    assert default_paths() == listed
    assert await authorization() == "Bearer prod-token"


async def test_an_unreadable_entry_of_kubeconfig_is_not_ignored(
    listed: tuple[Path, Path],
) -> None:
    listed[0].mkdir()
    write(listed[1])
    with pytest.raises(InvalidInput, match=f"{listed[0]}: .*cannot be read"):
        load_kubeconfig()


def test_without_kubeconfig_the_home_directory_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_paths() == (tmp_path / ".kube" / "config",)
    empty = load_kubeconfig()
    assert (empty.contexts, empty.current_context) == ((), None)
    with pytest.raises(InvalidInput, match="config: there is no kubeconfig; name one with"):
        empty.access()


def test_a_file_that_was_named_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"nowhere: .*cannot be read .*; check that"):
        load_kubeconfig([tmp_path / "nowhere"])


async def test_relative_paths_are_relative_to_the_file_they_stand_in(
    listed: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in listed:
        (path.parent / "ca.crt").write_bytes(AUTHORITY.cert_pem)
        (path.parent / "tls.crt").write_bytes(CLIENT.cert_pem)
        (path.parent / "tls.key").write_bytes(CLIENT.key_pem)
        (path.parent / "token").write_text(f"token-of-{path.parent.name}\n")
    write(listed[0], config(users=[]))
    files = {"client-certificate": "tls.crt", "client-key": "tls.key", "tokenFile": "token"}
    cluster = {"certificate-authority": "../two/ca.crt"}
    write(listed[1], user={"token": None} | files, cluster=cluster, name="other")
    monkeypatch.chdir("/")
    access = load_kubeconfig().access("other")
    presented = await access.credentials.current()
    assert access.tls.ca_pem == AUTHORITY.cert_pem
    assert presented.certificate == CLIENT.pair
    assert presented.authorization == "Bearer token-of-two"
    assert access.credentials.refreshable


async def test_a_relative_kubeconfig_path_survives_a_change_of_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "token").write_text("from-file")
    write(Path("config"), user={"token": None, "tokenFile": "token"})
    loaded = load_kubeconfig([Path("config")])
    monkeypatch.chdir("/")
    presented = await loaded.access().credentials.current()
    assert presented.authorization == "Bearer from-file"


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "null\n", "apiVersion: v1\n"])
def test_an_empty_file_is_a_kubeconfig_without_contexts(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    loaded = load_kubeconfig([path])
    assert loaded.contexts == ()
    with pytest.raises(InvalidInput, match="current-context is not set; it has no contexts"):
        loaded.access()


def test_json_is_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config()))
    assert load_kubeconfig([path]).access().server == "https://prod.example:6443"


def test_a_broken_context_hurts_nobody_until_it_is_asked_for(tmp_path: Path) -> None:
    data = config()
    data["contexts"].append({"name": "leftover", "context": {"cluster": "gone", "user": "gone"}})
    loaded = load_kubeconfig([write(tmp_path / "config", data)])
    assert loaded.access().server == "https://prod.example:6443"
    with pytest.raises(InvalidInput, match="names a cluster that is not there; choose 'prod'"):
        loaded.access("leftover")
