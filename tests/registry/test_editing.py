"""`fairlead clusters add` and `remove` on files that people also edit by hand."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead import yamltext
from fairlead.errors import InvalidInput
from fairlead.registry.edit import add_cluster, permission_problems, remove_cluster
from fairlead.registry.providers.file import FileProvider
from fairlead.registry.yaml_edit import with_item, without_item

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "https://c.example.com:6443"}}]
users: [{name: u, user: {token: kube-token}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
"""

COMMENTED = """\
# The fleet of the north.
owner: me   # not ours

clusters:
  # the first one
  - name: a
    endpoint: https://a.example.com   # behind the firewall
    tokenFile: a.token

  # the second one
  - name: b
    endpoint: https://b.example.com
    tokenFile: b.token
# the end
other: 1
"""


def names(config: Path) -> list[str]:
    return [entry.name for entry in FileProvider(config).load().entries]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        (tmp_path / f"{name}.token").write_text("t")
    return tmp_path


def test_adding_keeps_comments_and_everything_else(folder: Path) -> None:
    file = folder / "fleet.yaml"
    file.write_text(COMMENTED)

    edit = add_cluster(file, {"name": "c", "region": "eu"}, kubeconfig=KUBECONFIG)

    expected = COMMENTED.replace(
        "    tokenFile: b.token\n",
        "    tokenFile: b.token\n  - name: c\n    region: eu\n    kubeconfig: c.kubeconfig\n",
    )
    assert file.read_text() == expected
    assert names(file) == ["a", "b", "c"]
    assert edit.credential_file == folder / "c.kubeconfig"


def test_a_secret_stands_only_in_a_file_that_its_owner_alone_can_read(folder: Path) -> None:
    edit = add_cluster(folder, {"name": "c"}, kubeconfig=KUBECONFIG)
    other = add_cluster(folder, {"name": "d", "endpoint": "https://d.example.com"}, token="tok")

    for file in (edit.credential_file, other.credential_file):
        assert file is not None
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "kube-token" not in (folder / "clusters.yaml").read_text()
    assert permission_problems(folder) == ()
    assert sorted(names(folder)) == ["c", "d"]


def test_removing_takes_the_entry_its_comment_and_its_credential(folder: Path) -> None:
    file = folder / "fleet.yaml"
    file.write_text(COMMENTED)

    remove_cluster(file, "b")

    assert file.read_text() == COMMENTED.replace(
        "  # the second one\n  - name: b\n    endpoint: https://b.example.com\n"
        "    tokenFile: b.token\n",
        "",
    )
    assert not (folder / "b.token").exists()
    assert (folder / "a.token").exists()


def test_removing_the_last_one_leaves_an_empty_list_and_adding_fills_it_again(
    folder: Path,
) -> None:
    add_cluster(folder, {"name": "c"}, kubeconfig=KUBECONFIG)
    remove_cluster(folder, "c")

    assert (folder / "clusters.yaml").read_text() == "clusters: []\n"
    assert FileProvider(folder).load().problems == ()

    add_cluster(folder, {"name": "c"}, kubeconfig=KUBECONFIG)
    assert names(folder) == ["c"]


def test_a_json_file_stays_json(folder: Path) -> None:
    file = folder / "fleet.json"
    file.write_text(
        '{"clusters": [{"name": "a", "endpoint": "https://a", "tokenFile": "a.token"}]}'
    )

    add_cluster(file, {"name": "c"}, kubeconfig=KUBECONFIG)

    assert file.read_text().startswith("{")
    assert names(file) == ["a", "c"]


@pytest.mark.parametrize(
    "text, fields, words",
    [
        (COMMENTED, {"name": "a"}, "already there"),
        (COMMENTED, {"name": "Not A Name"}, "cannot be a cluster's name"),
        (COMMENTED, {"name": "c"}, "endpoint: is missing|is missing"),
        (COMMENTED, {"name": "c", "endpoint": "https://c"}, "has no credential"),
        (COMMENTED, {"name": "c", "token": "secret"}, "does not go into the registry file"),
        (
            COMMENTED,
            {"name": "c", "endpoint": "https://c", "tokenFile": "a.token", "wieght": 1},
            "did you mean 'weight'",
        ),
        ("clusters: [", {"name": "c"}, "not valid YAML"),
        ("- a list", {"name": "c"}, "is not a registry file"),
        (KUBECONFIG, {"name": "x"}, "is not a registry file"),
        ("clusters: 7", {"name": "c"}, "must be a list"),
    ],
)
def test_what_cannot_be_added_changes_nothing(
    folder: Path, text: str, fields: dict[str, object], words: str
) -> None:
    file = folder / "fleet.yaml"
    file.write_text(text)
    before = sorted(path.name for path in folder.iterdir())

    with pytest.raises(InvalidInput, match=words):
        add_cluster(file, fields)

    assert file.read_text() == text
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_bad_kubeconfig_is_refused_and_its_file_does_not_stay(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="current-context is not set"):
        add_cluster(folder, {"name": "c"}, kubeconfig="apiVersion: v1\nkind: Config\n")

    assert not (folder / "c.kubeconfig").exists()
    assert not (folder / "clusters.yaml").exists()


def test_a_credential_file_of_somebody_else_is_not_overwritten(folder: Path) -> None:
    (folder / "c.kubeconfig").write_text("precious")

    with pytest.raises(InvalidInput, match="already there"):
        add_cluster(folder, {"name": "c"}, kubeconfig=KUBECONFIG)

    assert (folder / "c.kubeconfig").read_text() == "precious"


def test_a_name_in_another_file_of_the_folder_is_a_duplicate(folder: Path) -> None:
    (folder / "north.yaml").write_text(COMMENTED)

    with pytest.raises(InvalidInput, match=r"north\.yaml:11"):
        add_cluster(folder, {"name": "b"}, kubeconfig=KUBECONFIG)


def test_removing_what_is_not_there_says_so(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no cluster 'x'"):
        remove_cluster(folder, "x")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be opened"):
        add_cluster(tmp_path / "no" / "fleet.yaml", {"name": "c"}, kubeconfig=KUBECONFIG)


def test_loose_permissions_are_reported_with_the_remedy(folder: Path) -> None:
    file = folder / "fleet.yaml"
    file.write_text(COMMENTED.replace("tokenFile: a.token", "token: inline"))
    file.chmod(0o644)
    (folder / "b.token").chmod(0o640)

    problems = [str(problem) for problem in permission_problems(file)]

    assert len(problems) == 2
    assert any(f"chmod 600 {file}" in problem for problem in problems)
    assert any("mode 0640" in problem for problem in problems)


ITEMS = st.lists(
    st.dictionaries(
        st.sampled_from(["name", "endpoint", "labels", "note"]),
        st.one_of(
            st.text(max_size=20),
            st.integers(),
            st.none(),
            st.dictionaries(st.text("abc", min_size=1), st.text(max_size=9), max_size=2),
            st.lists(st.text(max_size=5), max_size=2),
        ),
        min_size=1,
    ),
    max_size=4,
)


@given(ITEMS, st.booleans(), st.sampled_from(["", "# head\n", "---\n"]), st.data())
@settings(deadline=None)
def test_whatever_the_layout_the_edited_text_says_exactly_what_is_meant(
    items: list[dict[str, object]], flow: bool, head: str, data: st.DataObject
) -> None:
    content = {"before": 1, "clusters": items, "behind": [2]}
    text = head + yaml.safe_dump(content, sort_keys=False, default_flow_style=flow, width=30)
    before = yamltext.parse(text, "f").data

    added = yamltext.parse(with_item(text, "f", {"name": "new"}), "f").data
    assert added == before | {"clusters": [*before["clusters"], {"name": "new"}]}

    if items:
        index = data.draw(st.integers(0, len(items) - 1))
        rest = yamltext.parse(without_item(text, "f", index), "f").data
        left = before["clusters"][:index] + before["clusters"][index + 1 :]
        assert rest == before | {"clusters": left}
