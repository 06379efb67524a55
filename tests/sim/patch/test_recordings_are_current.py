"""What the fast tests compare with is still what a real kube-apiserver of the release does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead_sim.patch.builtin_table import build_table, packaged_table
from fairlead_sim.real import RealCluster
from tests.sim.patch import patch_scenarios
from tests.sim.patch.wire import connect_with
from tests.sim.schema import schema_scenarios

pytestmark = pytest.mark.real


def test_the_table_of_builtin_types_is_that_of_the_release(real_cluster: RealCluster) -> None:
    send = connect_with(real_cluster.url, real_cluster.ca_pem, real_cluster.token())
    _, index = send("GET", "/openapi/v3", None)
    served = [
        send("GET", entry["serverRelativeURL"], None)[1]
        for name, entry in sorted(index["paths"].items())
        # Alpha, beta, custom and device kinds are not in the table.
        if name.split("/")[-1] in ("v1", "v2")
        and "example.com" not in name
        and "resource.k8s.io" not in name
    ]
    table = build_table(document for document in served if "components" in document)
    assert {k: table["kinds"][k] for k in packaged_table()["kinds"]} == packaged_table()["kinds"]
    assert {k: table["types"][k] for k in packaged_table()["types"]} == packaged_table()["types"]


def test_the_recorded_patches_are_those_of_the_release(real_cluster: RealCluster) -> None:
    send = connect_with(real_cluster.url, real_cluster.ca_pem, real_cluster.token())
    recorded = json.loads(patch_scenarios.GOLDEN.read_text())
    assert patch_scenarios.record(send)["answers"] == recorded["answers"]


def test_the_recorded_opinions_on_schemas_are_those_of_the_release(
    real_cluster: RealCluster,
) -> None:
    send = connect_with(real_cluster.url, real_cluster.ca_pem, real_cluster.token())
    recorded = json.loads(schema_scenarios.GOLDEN.read_text())
    assert _sorted_causes(schema_scenarios.record(send)) == _sorted_causes(recorded)


def _sorted_causes(answers: Any) -> Any:
    """The real server walks maps in random order, so neither order nor sentence is fixed."""
    return {
        part: {
            name: {
                **outcome,
                "message": "",
                "causes": sorted(
                    outcome.get("causes", []), key=lambda cause: sorted(cause.items())
                ),
            }
            for name, outcome in outcomes.items()
        }
        for part, outcomes in answers.items()
    }
