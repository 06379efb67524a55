"""The table of real parts agrees with the Go modules that pin them, and says where things are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fairlead_sim.real import PARTS, Part, RealPartsMissing, binary
from fairlead_sim.real.parts import binary_path, cache_directory, part, target

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("each", PARTS, ids=lambda each: each.name)
def test_versions_agree_with_go_mod(each: Part) -> None:
    go_mod = (ROOT / each.module_directory / "go.mod").read_text()
    pinned = re.findall(rf"^require {re.escape(each.module)} (\S+)$", go_mod, re.MULTILINE)
    assert pinned == [each.version]


@pytest.mark.parametrize("each", PARTS, ids=lambda each: each.name)
def test_every_part_is_kept_by_tools_go(each: Part) -> None:
    tools = (ROOT / each.module_directory / "tools.go").read_text()
    assert f'_ "{each.package}"' in tools


def test_every_staging_module_is_of_the_same_release() -> None:
    go_mod = (ROOT / "tests/real/go.mod").read_text()
    replaced = re.findall(r"^\t(k8s\.io/\S+) => (\S+) (\S+)$", go_mod, re.MULTILINE)
    release = part("kube-apiserver").version.replace("v1.", "v0.")
    assert len(replaced) > 20
    assert {(old == new, version) for old, new, version in replaced} == {(True, release)}


def test_the_cache_is_where_the_user_wants_it(tmp_path: Path) -> None:
    home = Path("~/.cache/fairlead").expanduser()
    assert cache_directory({}) == home
    assert cache_directory({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "fairlead"
    chosen = {"FAIRLEAD_CACHE": str(tmp_path / "own"), "XDG_CACHE_HOME": str(tmp_path)}
    assert cache_directory(chosen) == tmp_path / "own"


def test_a_binary_has_its_version_and_machine_in_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRLEAD_CACHE", str(tmp_path))
    etcd = part("etcd")
    assert binary_path(etcd) == tmp_path / "real" / f"etcd-{etcd.version}-{target()}" / "etcd"


def test_a_missing_part_is_one_sentence_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRLEAD_CACHE", str(tmp_path))
    with pytest.raises(RealPartsMissing, match=r"`make real`.*`make test-fast`") as caught:
        binary("kubectl")
    assert "\n" not in str(caught.value)
