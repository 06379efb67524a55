"""Which configuration is found, and what its fields become."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead import yamltext
from fairlead.errors import InvalidInput
from fairlead.registry.entry import HealthCheck
from fairlead.runtime.settings import RuntimeSettings
from fairlead.settings import (
    ClusterRegistrySource,
    ConfigMapSource,
    FileSource,
    KubeconfigSource,
    editable_registry,
    load_settings,
)

EVERYTHING = """\
sources:
- type: file
  path: more
- type: kubeconfig
  path: kube.yaml
  contexts: [a, b]
- type: configMap
  namespace: mca
- type: clusterRegistry
home: {name: east, context: prod-east}
controllers: {registry-status: false}
registry:
  observer: east-1
  healthCheck: {interval: 10s, timeout: 2s, failureThreshold: 5}
agent:
  host: 127.0.0.1
  port: 9000
  logFormat: json
  leaderElection: true
"""


def test_every_field_reaches_the_settings_of_its_package(tmp_path: Path) -> None:
    (tmp_path / "fairlead.yaml").write_text(EVERYTHING)
    loaded = load_settings(tmp_path, {})
    assert loaded.sources == (
        FileSource(tmp_path / "more"),
        KubeconfigSource(tmp_path / "kube.yaml", ("a", "b")),
        ConfigMapSource(namespace="mca"),
        ClusterRegistrySource(),
    )
    assert (loaded.home.name, loaded.home.context) == ("east", "prod-east")
    assert loaded.controllers == {"registry-status": False}
    assert loaded.registry.observer == "east-1"
    assert loaded.registry.health_check.interval == 10.0
    assert loaded.registry.health_check.failure_threshold == 5
    assert (loaded.runtime.probe_host, loaded.runtime.probe_port) == ("127.0.0.1", 9000)
    assert loaded.runtime.leader_election


def test_a_folder_without_settings_is_a_folder_of_registry_files(tmp_path: Path) -> None:
    assert load_settings(tmp_path, {}).sources == (FileSource(tmp_path),)


def test_a_registry_file_can_be_named_directly(tmp_path: Path) -> None:
    file = tmp_path / "clusters.yaml"
    file.write_text("clusters: []\n")
    assert load_settings(file, {}).sources == (FileSource(file),)


def test_a_kubeconfig_can_be_named_directly(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text("apiVersion: v1\nkind: Config\nclusters: []\n")
    assert load_settings(file, {}).sources == (KubeconfigSource(file),)


def test_the_first_place_that_exists_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    assert load_settings(None, environment).sources == (KubeconfigSource(),)
    (tmp_path / "xdg/fairlead").mkdir(parents=True)
    assert load_settings(None, environment).sources == (FileSource(tmp_path / "xdg/fairlead"),)
    (tmp_path / "fairlead.yaml").write_text("sources: [{type: file, path: here.yaml}]")
    assert load_settings(None, environment).sources == (FileSource(Path("here.yaml")),)
    (tmp_path / "named").mkdir()
    environment["FAIRLEAD_CONFIG"] = str(tmp_path / "named")
    assert load_settings(None, environment).sources == (FileSource(tmp_path / "named"),)


@pytest.mark.parametrize(
    "text,sentence",
    [
        ("sorces: []", "fairlead.yaml:1: sorces: unknown field 'sorces'; did you mean 'sources'?"),
        ("sources:\n- typo: x", "fairlead.yaml:2: sources[0].type: is missing"),
        ("sources:\n- type: ftp", "fairlead.yaml:2: sources[0].type: must be one of file"),
        ("sources: file", "fairlead.yaml:1: sources: must be a list"),
        ("sources: [a]", "fairlead.yaml:1: sources[0]: must be a mapping"),
        ("agent:\n  port: high", "fairlead.yaml:2: agent.port: must be a whole number"),
        ("agent: {logFormat: xml}", "must be one of auto, json, console"),
        ("registry: {healthCheck: {interval: soon}}", "interval: is not a duration"),
        ("controllers: {a: maybe}", "fairlead.yaml:1: controllers.a: must be true or false"),
        ("[]", "must be a mapping"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "fairlead.yaml"
    file.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        load_settings(file, {})
    assert sentence in str(caught.value)


def test_clusters_are_added_to_the_users_own_folder_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert editable_registry(None, {"XDG_CONFIG_HOME": "/x"}) == Path("/x/fairlead")
    assert editable_registry(tmp_path / "new.yaml", {}) == tmp_path / "new.yaml"


def test_settings_without_a_registry_file_cannot_be_edited(tmp_path: Path) -> None:
    (tmp_path / "fairlead.yaml").write_text("sources: [{type: clusterRegistry}]")
    with pytest.raises(InvalidInput, match="names no registry file"):
        editable_registry(tmp_path, {})


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["sources", "type", "agent", "registry", "healthCheck", "port", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(anything)
@settings(max_examples=150, deadline=None)
def test_any_document_gives_settings_or_one_sentence(data: object) -> None:
    from fairlead.settings import _from_document

    document = yamltext.Document("fairlead.yaml", data, {(): 1})
    try:
        _from_document(document, Path("/x"), (FileSource(Path("/x")),))
    except InvalidInput as error:
        assert str(error).startswith("fairlead.yaml")


def test_the_settings_page_shows_settings_that_load(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/reference/settings.md").read_text()
    example = page.split("```yaml\n")[1].split("```")[0]
    (tmp_path / "fairlead.yaml").write_text(example)
    shown = load_settings(tmp_path, {})
    assert len(shown.sources) == 4
    defaults = RuntimeSettings()
    assert shown.runtime == defaults
    assert shown.registry.health_check == HealthCheck()
