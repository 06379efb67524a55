"""Every write of the scenarios, compared with what a real kube-apiserver answered to it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead_sim.patch import (
    ApplyConflict,
    ListTypes,
    PatchError,
    apply_json_patch,
    apply_merge_patch,
    apply_strategic_patch,
    builtin_list_types,
    schema_list_types,
    server_side_apply,
    track_update,
)
from tests.sim.patch.apply_scenarios import (
    GOLDEN,
    PATHS,
    SCENARIOS,
    WIDGET_SCHEMA,
    Step,
    request_body,
)

Object = dict[str, Any]
NOW = "2099-01-01T00:00:00Z"
GOLDEN_ANSWERS: dict[str, list[Any]] = json.loads(GOLDEN.read_text())


def _lists(kind: str) -> ListTypes:
    if kind == "Widget":
        return schema_list_types(WIDGET_SCHEMA)
    return builtin_list_types("apps" if kind == "Deployment" else "", kind)


def _without(obj: Object, *names: str) -> Object:
    metadata = {k: v for k, v in obj["metadata"].items() if k not in names}
    return {**obj, "metadata": metadata}


def _owners(obj: Object, live: Object | None) -> list[Object]:
    """managedFields with times that say only whether this write set them."""
    before = {e.get("time") for e in (live or {}).get("metadata", {}).get("managedFields", [])}
    entries = obj["metadata"].get("managedFields", [])
    return [
        {**e, "time": "before" if e["time"] in before else "now"} if "time" in e else e
        for e in entries
    ]


def _contains(big: Any, small: Any) -> bool:
    """Is everything that `small` says true of `big`?"""
    if isinstance(small, dict):
        return isinstance(big, dict) and all(
            k in big and _contains(big[k], v) for k, v in small.items()
        )
    if isinstance(small, list):
        return len(big) == len(small) and all(map(_contains, big, small))
    return bool(big == small)


def _written(step: Step, kind: str, body: Any, live: Object | None, answer: Object) -> Object:
    """Our outcome of a step; raises what a refusal raises."""
    version, lists = PATHS[kind][0], _lists(kind)
    if step["verb"] == "apply":
        return server_side_apply(
            live,
            body,
            manager=step["manager"],
            force=step["force"],
            api_version=version,
            subresource=step["subresource"],
            time=NOW,
            lists=lists,
        )
    # What the server stored is what our functions must explain; the request itself is checked too.
    new = _without(answer, "managedFields")
    if live is not None and step["verb"] != "update":
        patched = _patched(step["verb"], live, body, lists)
        if not step["subresource"] and kind in ("ConfigMap", "Widget"):
            assert _same_spec(patched, new)
        if "managedFields" in patched["metadata"]:
            new["metadata"]["managedFields"] = patched["metadata"]["managedFields"]
    return track_update(
        live,
        new,
        manager=step["manager"],
        subresource=step["subresource"],
        api_version=version,
        time=NOW,
        lists=lists,
    )


def _patched(verb: str, live: Object, body: Any, lists: ListTypes) -> Any:
    if verb == "merge":
        return apply_merge_patch(live, body)
    if verb == "json":
        return apply_json_patch(live, body)
    return apply_strategic_patch(live, body, lists)


def _same_spec(patched: Object, stored: Object) -> bool:
    return bool(patched.get("data") == stored.get("data"))


def _code(error: BaseException) -> int:
    return error.code if isinstance(error, PatchError) else 409


CASES = [
    pytest.param(name, number, id=f"{name}-{number}")
    for name, (_, steps) in SCENARIOS.items()
    for number in range(len(steps))
]


@pytest.mark.parametrize("name,number", CASES)
def test_a_write_leaves_what_the_real_server_left(name: str, number: int) -> None:
    kind, steps = SCENARIOS[name]
    answers = GOLDEN_ANSWERS[name]
    live = next((a["answer"] for a in reversed(answers[:number]) if a["code"] < 300), None)
    step, code, answer = steps[number], answers[number]["code"], answers[number]["answer"]
    item = f"golden-{list(SCENARIOS).index(name)}"
    body = request_body(step, PATHS[kind][0], kind, item, live)
    if code == 422:  # validation refused it afterwards
        return
    if code >= 300:
        with pytest.raises((ApplyConflict, PatchError)) as refused:
            _written(step, kind, body, live, answer)
        assert str(refused.value) == answer["message"]
        assert _code(refused.value) == code
        if isinstance(refused.value, ApplyConflict):
            assert refused.value.causes() == answer["details"]["causes"]
        return
    ours = _written(step, kind, body, live, answer)
    assert _owners(ours, live) == _owners(answer, live)
    server_set = ("managedFields", "generation", "resourceVersion", "uid", "creationTimestamp")
    if step["verb"] == "apply" and (live is None or kind in ("Deployment", "Service")):
        # The real server defaulted its answer.
        assert _contains(answer, _without(ours, *server_set))
    else:
        assert _without(ours, *server_set) == _without(answer, *server_set)
    if live is not None:
        unchanged = answer["metadata"]["resourceVersion"] == live["metadata"]["resourceVersion"]
        assert (ours is live) == unchanged
