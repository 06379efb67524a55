"""YAML text: data, places, bounds."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead import yamltext
from fairlead.errors import InvalidInput

CLUSTERS = """\
clusters:
- name: east
  labels: {tier: prod}
- name: west
"""


@pytest.mark.parametrize(
    "path,place",
    [
        ((), "f.yaml:1"),
        (("clusters", 0, "name"), "f.yaml:2: clusters[0].name"),
        (("clusters", 0, "labels", "tier"), "f.yaml:3: clusters[0].labels.tier"),
        (("clusters", 1, "endpoint"), "f.yaml:4: clusters[1].endpoint"),
        (("nowhere", "at", "all"), "f.yaml:1: nowhere.at.all"),
    ],
)
def test_a_field_is_placed_on_its_line_or_the_nearest_one(
    path: tuple[str | int, ...], place: str
) -> None:
    assert yamltext.parse(CLUSTERS, "f.yaml").place(*path) == place


@pytest.mark.parametrize(
    "text,sentence",
    [
        ("a: [", "not valid YAML: did not find"),
        ("a: 1\nb: 2\na: 3", "f.yaml:3: the key 'a' is given twice"),
        ("a: &x [*x]", "nests too deep"),
        ("x: {<<: {a: 1}}", "merge keys"),
        ("? [1]\n: 2", "f.yaml:1: a key must be plain text"),
        ("a: 1\n---\nb: 2", "f.yaml:3: a second document"),
        (b"a: \xff", "f.yaml:1: not valid UTF-8"),
        ("a: !!python/object/apply:os.system [ls]", "f.yaml:1"),
    ],
)
def test_what_cannot_be_parsed_is_named_with_its_line(text: str | bytes, sentence: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        yamltext.parse(text, "f.yaml")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_alias_bomb_is_refused_quickly() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    with pytest.raises(InvalidInput, match="aliases"):
        yamltext.parse("\n".join(levels), "bomb.yaml")


def test_a_text_over_the_size_limit_is_refused() -> None:
    with pytest.raises(InvalidInput, match="larger than 16 MiB"):
        yamltext.parse("a" * (yamltext.MAX_BYTES + 1), "big.yaml")


def test_dates_stay_text_as_kubernetes_reads_them() -> None:
    assert yamltext.parse("a: 2026-01-02", "f").data == {"a": "2026-01-02"}


def test_an_empty_text_is_a_document_without_data() -> None:
    assert yamltext.parse("# nothing\n", "f").data is None


def test_a_missing_file_is_named_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"missing\.yaml: cannot be read .*check that it exists"):
        yamltext.read(tmp_path / "missing.yaml")


plain_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(plain_data)
@settings(max_examples=150, deadline=None)
def test_what_was_dumped_is_read_back(data: object) -> None:
    text = yaml.safe_dump(data)
    assert yamltext.parse(text, "f").data == data


@given(st.binary(max_size=200) | st.text(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_input_gives_documents_or_one_sentence_with_the_file(raw: bytes | str) -> None:
    try:
        yamltext.parse_all(raw, "f.yaml")
    except InvalidInput as error:
        assert str(error).startswith("f.yaml")
