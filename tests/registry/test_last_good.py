"""What is in force while somebody edits: never less than the last good version."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.registry.last_good import ProviderSnapshot
from fairlead.registry.providers import Provider
from fairlead.registry.providers.file import FileProvider
from fairlead.registry.providers.kubeconfig import KubeconfigProvider, cluster_name


def entry(name: str, token: str = "t") -> str:
    return f"- name: {name}\n  endpoint: https://{name}.example.com\n  token: {token}\n"


def clusters(*entries: str) -> str:
    return "clusters:\n" + "".join(entries)


class Watched:
    """A file under a provider, written and read in turns."""

    def __init__(self, path: Path, provider: FileProvider | None = None) -> None:
        self.path = path
        self.provider = provider or FileProvider(path)

    def after(self, text: str) -> ProviderSnapshot:
        self.path.write_text(text)
        return self.provider.load()


def names(snapshot: ProviderSnapshot) -> list[str]:
    return sorted(found.name for found in snapshot.entries)


@pytest.fixture
def file(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "clusters.yaml")


def test_a_broken_entry_keeps_its_last_good_version_and_the_others_move_on(file: Watched) -> None:
    file.after(clusters(entry("a"), entry("b")))
    snapshot = file.after(
        clusters(entry("a", "[]"), entry("b").replace("b.example.com", "new.example.com"))
    )

    endpoints = {found.name: found.endpoint for found in snapshot.entries}
    assert endpoints == {"a": "https://a.example.com", "b": "https://new.example.com"}
    assert snapshot.problems[0].cluster == "a"


def test_a_removed_entry_is_removed(file: Watched) -> None:
    file.after(clusters(entry("a"), entry("b")))

    assert names(file.after(clusters(entry("b")))) == ["b"]
    assert names(file.after("clusters: []\n")) == []


@pytest.mark.parametrize("text", ["", "clusters: [", "clusters: 5", "\0", "a: b"])
def test_a_file_that_is_bad_as_a_whole_changes_nothing(file: Watched, text: str) -> None:
    file.after(clusters(entry("a"), entry("b")))
    snapshot = file.after(text)

    assert names(snapshot) == ["a", "b"]
    assert len(snapshot.problems) == 1


def test_an_entry_whose_name_is_mangled_is_not_taken_for_removed(file: Watched) -> None:
    file.after(clusters(entry("a"), entry("b")))

    assert names(file.after(clusters(entry("A!"), entry("b")))) == ["a", "b"]


def test_a_file_that_disappears_changes_nothing(file: Watched) -> None:
    file.after(clusters(entry("a")))
    file.path.unlink()
    snapshot = file.provider.load()

    assert names(snapshot) == ["a"]
    assert "cannot be read" in str(snapshot.problems[0])


def test_files_of_a_folder_count_if_they_list_clusters(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(clusters(entry("a")))
    (tmp_path / "two.yml").write_text(clusters(entry("b")))
    (tmp_path / "routing.yaml").write_text("rules: []\n")
    (tmp_path / "kube.yaml").write_text("kind: Config\nclusters: []\n")
    (tmp_path / ".hidden.yaml").write_text(clusters(entry("h")))
    (tmp_path / "notes.txt").write_text("clusters")

    snapshot = FileProvider(tmp_path).load()

    assert names(snapshot) == ["a", "b"]
    assert snapshot.problems == ()


def test_in_a_folder_a_deleted_file_is_a_removal_but_a_broken_one_is_not(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.yaml").write_text(clusters(entry(name)))
    provider = FileProvider(tmp_path)
    provider.load()

    (tmp_path / "a.yaml").unlink()
    (tmp_path / "b.yaml").write_text("")
    snapshot = provider.load()

    assert names(snapshot) == ["b", "c"]
    assert len(snapshot.problems) == 1


def test_a_folder_that_disappears_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "a.yaml").write_text(clusters(entry("a")))
    provider = FileProvider(folder)
    provider.load()
    folder.rename(tmp_path / "moved")

    assert names(provider.load()) == ["a"]
    assert names(provider.load()) == ["a"]

    (tmp_path / "moved").rename(folder)
    assert provider.load().problems == ()


def test_two_files_with_one_name_name_both_places(tmp_path: Path) -> None:
    (tmp_path / "1.yaml").write_text(clusters(entry("a", "first")))
    (tmp_path / "2.yaml").write_text(clusters(entry("a", "second")))

    snapshot = FileProvider(tmp_path).load()

    assert names(snapshot) == ["a"]
    (problem,) = snapshot.problems
    assert "1.yaml:2" in str(problem)
    assert "2.yaml:2" in str(problem)


@asynccontextmanager
async def running(provider: Provider) -> AsyncIterator[asyncio.Queue[ProviderSnapshot]]:
    published: asyncio.Queue[ProviderSnapshot] = asyncio.Queue()
    task = asyncio.create_task(provider.run(published.put_nowait))
    try:
        yield published
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_a_change_is_noticed_also_through_the_symlinks_of_a_mounted_configmap(
    tmp_path: Path,
) -> None:
    for version, name in (("..v1", "a"), ("..v2", "b")):
        (tmp_path / version).mkdir()
        (tmp_path / version / "clusters.yaml").write_text(clusters(entry(name)))
    (tmp_path / "..data").symlink_to("..v1")
    (tmp_path / "clusters.yaml").symlink_to("..data/clusters.yaml")

    async with running(FileProvider(tmp_path, poll_seconds=0.01)) as published:
        assert names(await published.get()) == ["a"]
        (tmp_path / "new").symlink_to("..v2")
        os.replace(tmp_path / "new", tmp_path / "..data")
        assert names(await published.get()) == ["b"]


async def test_a_named_file_that_changes_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "kube").write_text(yaml.safe_dump(kubeconfig("one")))
    (tmp_path / "c.yaml").write_text("clusters: [{name: a, kubeconfig: kube}]")

    async with running(FileProvider(tmp_path, poll_seconds=0.01)) as published:
        (first,) = (await published.get()).entries
        (tmp_path / "kube").write_text(yaml.safe_dump(kubeconfig("another")))
        (second,) = (await published.get()).entries

    assert first.connection != second.connection


async def test_what_says_the_same_again_is_not_published(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(clusters(entry("a")))

    async with running(FileProvider(path, poll_seconds=0.01)) as published:
        await published.get()
        path.write_text(clusters(entry("a")) + "\n# a comment\n")
        path.write_text(clusters(entry("a"), entry("b")) + "\n")
        assert names(await published.get()) in (["a", "b"], ["a"])
        assert published.empty()


def kubeconfig(token: str, *contexts: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": (contexts or ("main",))[0],
        "clusters": [{"name": "c", "cluster": {"server": "https://c.example.com"}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [
            {"name": name, "context": {"cluster": "c", "user": "u"}}
            for name in contexts or ("main",)
        ],
    }


async def test_contexts_of_a_kubeconfig_are_clusters_and_are_followed(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(kubeconfig("t", "East Side", "west")))

    async with running(KubeconfigProvider([path], poll_seconds=0.01)) as published:
        assert names(await published.get()) == ["east-side", "west"]
        path.write_text(yaml.safe_dump(kubeconfig("t", "west", "north-pole")))
        assert names(await published.get()) == ["north-pole", "west"]


def test_chosen_contexts_only_and_a_missing_one_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(kubeconfig("t", "east", "west")))

    snapshot = KubeconfigProvider([path], ["west", "north"]).load()

    assert names(snapshot) == ["west"]
    assert "there is no context 'north'" in str(snapshot.problems[0])


def test_two_contexts_that_become_one_name_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(kubeconfig("t", "a/b", "a:b")))

    snapshot = KubeconfigProvider([path]).load()

    assert names(snapshot) == ["a-b"]
    assert "already context a/b" in str(snapshot.problems[0])


@pytest.mark.parametrize(
    "context, name",
    [
        ("kind-prod", "kind-prod"),
        ("arn:aws:eks:eu-1:12:cluster/prod", "arn-aws-eks-eu-1-12-cluster-prod"),
        ("default/api-x:6443/admin", "default-api-x-6443-admin"),
        ("x" * 70 + "-end", "x" * 59 + "-end"),
    ],
)
def test_a_context_becomes_a_name(context: str, name: str) -> None:
    assert cluster_name(context) == name


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=30)
)
FIELDS = st.sampled_from(
    [
        *["name", "region", "endpoint", "token", "tokenFile", "caFile", "kubeconfig", "context"],
        *["certificateData", "keyData", "clientCertificateData", "clientKeyData", "weight"],
        *["labels", "healthCheck", "status", "identity", "namespace", "proxyUrl", "surprise"],
        *["tlsServerName", "insecureSkipTlsVerify", "interval", "timeout", "path", "clusters"],
    ]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(FIELDS | st.text(max_size=5), inner, max_size=6),
    ),
    max_leaves=20,
)
PLAUSIBLE = st.fixed_dictionaries(
    {"name": st.sampled_from(["a", "b", "x"]) | SCALARS},
    optional={
        "endpoint": st.sampled_from(["https://a", "http://a", "//", "https://[", "a:b"]) | SCALARS,
        "token": st.just("t") | SCALARS,
        "weight": SCALARS,
        "healthCheck": VALUES,
        "labels": VALUES,
        "certificateData": SCALARS,
        "tokenFile": SCALARS,
        "kubeconfig": SCALARS,
        "proxyUrl": SCALARS,
    },
)
DOCUMENTS = st.one_of(
    VALUES.map(lambda value: yaml.safe_dump(value, allow_unicode=True)),
    st.lists(PLAUSIBLE | VALUES, max_size=4).map(lambda items: yaml.safe_dump({"clusters": items})),
    st.text(max_size=200),
    st.text(alphabet="clusters:-[]{}&*!|>'\"#\n name: endpoint", max_size=120),
)
GOOD = clusters(entry("a"), entry("b"))


@given(document=DOCUMENTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_text_whatever_makes_it_fail_otherwise_than_by_problems(
    tmp_path: Path, document: str
) -> None:
    watched = Watched(tmp_path / "clusters.yaml")
    watched.after(GOOD)

    watched.path.write_bytes(document.encode("utf-8", "surrogatepass"))
    snapshot = watched.provider.load()

    for problem in snapshot.problems:
        assert str(problem).startswith(str(watched.path))
        assert "\n" not in problem.place
    if not snapshot.problems:
        data = yaml.safe_load(document)
        assert names(snapshot) == sorted(item["name"] for item in data["clusters"])


@given(cut=st.integers(0, len(GOOD)), at=st.integers(0, len(GOOD)), junk=st.text(max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_mutilated_file_loses_an_entry_only_if_it_is_well_formed_without_it(
    tmp_path: Path, cut: int, at: int, junk: str
) -> None:
    watched = Watched(tmp_path / "clusters.yaml")
    watched.after(GOOD)
    mutated = GOOD[:at] + junk + GOOD[at:][:cut]

    watched.path.write_bytes(mutated.encode("utf-8", "surrogatepass"))
    snapshot = watched.provider.load()

    unreadable = any("not valid YAML" in str(problem) for problem in snapshot.problems)
    if unreadable:
        assert names(snapshot) == ["a", "b"]
