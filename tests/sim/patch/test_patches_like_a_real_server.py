"""JSON, merge and strategic patches, compared with what a real kube-apiserver made of them."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from fairlead_sim.patch import (
    PatchError,
    apply_json_patch,
    apply_merge_patch,
    apply_strategic_patch,
    builtin_list_types,
)
from tests.sim.patch.patch_scenarios import GOLDEN, JSON, MERGE, STRATEGIC

GOLDEN_ANSWERS: dict[str, Any] = json.loads(GOLDEN.read_text())
LISTS = builtin_list_types("apps", "Deployment")
CASES = [
    pytest.param(verb, name, body, id=f"{verb}-{name}")
    for verb, bodies in (("strategic", STRATEGIC), ("json", JSON), ("merge", MERGE))
    for name, body in bodies.items()
]


def _patched(verb: str, live: Any, body: Any) -> Any:
    if verb == "json":
        return apply_json_patch(live, body)
    if verb == "merge":
        return apply_merge_patch(live, body)
    return apply_strategic_patch(live, body, LISTS)


def _contains(big: Any, small: Any) -> bool:
    """Is everything that `small` says true of `big`? A real server adds defaults."""
    if isinstance(small, dict):
        return isinstance(big, dict) and all(_contains(big.get(k), v) for k, v in small.items())
    if isinstance(small, list):
        return len(big) == len(small) and all(map(_contains, big, small))
    return bool(big == small)


@pytest.mark.parametrize("verb,name,body", CASES)
def test_a_patch_gives_what_the_real_server_gave(verb: str, name: str, body: Any) -> None:
    golden = GOLDEN_ANSWERS["answers"][verb][name]
    live = GOLDEN_ANSWERS["live"]["object"]
    untouched, sent = copy.deepcopy(live), copy.deepcopy(body)
    if golden["code"] >= 300:
        with pytest.raises(PatchError) as refused:
            _patched(verb, live, body)
        assert (refused.value.code, str(refused.value)) == (golden["code"], golden["message"])
    else:
        patched = LISTS.typed_form(_patched(verb, live, body))
        patched["spec"].pop("nope", None)
        assert _contains(golden["object"], {k: patched[k] for k in ("metadata", "spec")})
        assert patched["metadata"].get("labels") == golden["object"]["metadata"]["labels"]
    assert (live, body) == (untouched, sent)
