"""Lists: selectors, chunks, versions."""

from __future__ import annotations

import pytest

from fairlead_sim import SimCluster
from tests.sim.conftest import Api, Connect, config_map

MAPS = "/api/v1/namespaces/work/configmaps"


@pytest.fixture
async def filled(api: Api) -> Api:
    await api.create(
        "/api/v1/namespaces",
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "work"}},
    )
    for number in range(5):
        labels = {"parity": "even" if number % 2 == 0 else "odd", f"n{number}": "x"}
        await api.create(MAPS, config_map(f"c{number}", labels=labels))
    await api.delete(f"{MAPS}/kube-root-ca.crt")
    return api


OURS = "labelSelector=parity"


@pytest.mark.parametrize(
    "selector,expected",
    [
        ("parity=even", "024"),
        ("parity==odd", "13"),
        ("parity!=odd,parity", "024"),
        ("parity in (even,odd),n1", "1"),
        ("parity notin (even),parity", "13"),
        ("!n0,parity", "1234"),
        ("n0", "0"),
        ("parity in ()", ""),
    ],
)
async def test_label_selectors_choose(filled: Api, selector: str, expected: str) -> None:
    encoded = selector.replace(",", "%2C").replace("=", "%3D").replace(" ", "%20")
    names = await filled.names(f"{MAPS}?labelSelector={encoded}")
    assert names == [f"c{digit}" for digit in expected]


@pytest.mark.parametrize("selector", ["a b", "a in", "a in (x", "=x", "a=,", "a,,b", "a%3D%3D%3Db"])
async def test_a_selector_that_cannot_be_read_is_a_bad_request(api: Api, selector: str) -> None:
    reply = await api.get(f"/api/v1/configmaps?labelSelector={selector}")
    assert (reply.status, reply.reason) == (400, "BadRequest")


async def test_field_selectors_choose_by_name_and_namespace(filled: Api) -> None:
    assert await filled.names(f"{MAPS}?fieldSelector=metadata.name%3Dc1") == ["c1"]
    everywhere = "/api/v1/configmaps?fieldSelector=metadata.namespace%3Dwork"
    assert len(await filled.names(f"{everywhere}&{OURS}")) == 5
    reply = await filled.get(f"{MAPS}?fieldSelector=data.x%3D1")
    assert reply.status == 400
    assert "is not a known field selector" in reply.message


async def test_chunks_show_one_moment_even_while_objects_change(filled: Api) -> None:
    first = (await filled.get(f"{MAPS}?limit=2&{OURS}")).body
    await filled.delete(f"{MAPS}/c3")
    await filled.create(MAPS, config_map("c9", labels={"parity": "odd"}))
    names = [item["metadata"]["name"] for item in first["items"]]
    token = first["metadata"]["continue"]
    while token:
        chunk = (await filled.get(f"{MAPS}?limit=2&{OURS}&continue={token}")).body
        assert chunk["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        names += [item["metadata"]["name"] for item in chunk["items"]]
        token = chunk["metadata"].get("continue")
    assert names == ["c0", "c1", "c2", "c3", "c4"]


async def test_the_number_of_remaining_items_is_told(filled: Api) -> None:
    total = len(await filled.names(MAPS))
    chunk = (await filled.get(f"{MAPS}?limit=2")).body
    assert chunk["metadata"]["remainingItemCount"] == total - 2


async def test_an_expired_continue_token_is_410_with_a_way_on(
    cluster: SimCluster, filled: Api
) -> None:
    first = (await filled.get(f"{MAPS}?limit=2&{OURS}")).body
    await filled.create(MAPS, config_map("c9", labels={"parity": "odd"}))
    cluster.faults.compact()
    token = first["metadata"]["continue"]
    reply = await filled.get(f"{MAPS}?limit=9&{OURS}&continue={token}")
    assert (reply.status, reply.reason) == (410, "Expired")
    fresh = reply.body["metadata"]["continue"]
    rest = await filled.names(f"{MAPS}?limit=9&{OURS}&continue={fresh}")
    assert rest == ["c2", "c3", "c4", "c9"]


async def test_an_exact_version_lists_the_past(filled: Api) -> None:
    before = (await filled.get(MAPS)).body["metadata"]["resourceVersion"]
    await filled.delete(f"{MAPS}/c0")
    query = f"{OURS}&resourceVersion={before}&resourceVersionMatch=Exact"
    assert await filled.names(f"{MAPS}?{query}") == ["c0", "c1", "c2", "c3", "c4"]
    query = f"{OURS}&resourceVersion={before}&resourceVersionMatch=NotOlderThan"
    assert await filled.names(f"{MAPS}?{query}") == ["c1", "c2", "c3", "c4"]


async def test_a_version_of_the_future_times_out(api: Api) -> None:
    reply = await api.get("/api/v1/configmaps?resourceVersion=999999")
    assert (reply.status, reply.reason) == (504, "Timeout")
    assert reply.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


@pytest.mark.parametrize(
    "query,code",
    [
        ("resourceVersion=abc", 400),
        ("limit=abc", 400),
        ("continue=garbage", 400),
        ("resourceVersionMatch=Exact", 422),
        ("resourceVersion=1&resourceVersionMatch=Some", 422),
        ("sendInitialEvents=true", 422),
    ],
)
async def test_options_that_make_no_sense_are_refused(api: Api, query: str, code: int) -> None:
    assert (await api.get(f"/api/v1/configmaps?{query}")).status == code


async def test_items_of_built_in_lists_have_no_kind_of_their_own(filled: Api) -> None:
    body = (await filled.get(MAPS)).body
    assert (body["kind"], body["apiVersion"]) == ("ConfigMapList", "v1")
    assert all("kind" not in item for item in body["items"])


@pytest.mark.slow
async def test_ten_thousand_objects_are_listed_whole(cluster: SimCluster, connect: Connect) -> None:
    count = cluster.load(config_map(f"c{number}", {"k": "v"}) for number in range(10_000))
    listed = await connect(cluster).names("/api/v1/namespaces/default/configmaps")
    assert len(listed) == count + 1
    assert listed == sorted(listed)
