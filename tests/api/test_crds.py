from __future__ import annotations

from pathlib import Path

import yaml

from fairlead.api.cluster_registry import CLUSTER_REGISTRY
from fairlead.api.crd import crd
from fairlead.api.kinds import crd_files, kinds

DEPLOYED = Path(__file__).parents[2] / "deploy" / "crds"


def test_the_files_in_deploy_are_what_the_types_say() -> None:
    """If this fails, run `make crds`."""
    files = {path.name: path.read_text(encoding="utf-8") for path in DEPLOYED.glob("*.yaml")}

    assert files == crd_files()


def test_every_kind_is_found_once_and_named_as_kubernetes_demands() -> None:
    names = [kind.crd_name for kind in kinds()]

    assert CLUSTER_REGISTRY in kinds()
    assert len(names) == len(set(names))
    for kind in kinds():
        definition = crd(kind)
        assert definition["metadata"]["name"] == kind.crd_name
        assert definition["spec"]["names"]["plural"] == kind.plural
        assert definition["spec"]["versions"][0]["subresources"] == {"status": {}}


def test_generation_is_deterministic_and_the_text_reads_back_as_the_definition() -> None:
    assert crd_files() == crd_files()
    text = crd_files()[CLUSTER_REGISTRY.file_name]

    assert yaml.safe_load(text) == crd(CLUSTER_REGISTRY)


def test_the_registry_is_cluster_scoped_and_its_clusters_are_a_map_by_name() -> None:
    spec = crd(CLUSTER_REGISTRY)["spec"]
    schema = spec["versions"][0]["schema"]["openAPIV3Schema"]
    clusters = schema["properties"]["spec"]["properties"]["clusters"]

    assert spec["scope"] == "Cluster"
    assert clusters["x-kubernetes-list-map-keys"] == ["name"]
    assert clusters["items"]["properties"]["weight"]["default"] == 100
