"""The examples run, and do what they say."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from fairlead.kube import CONFIG_MAPS, Client, Found, MergePatch, parse_kubeconfig, read
from fairlead.settings import load_settings
from fairlead_sim import SimCluster

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, EXAMPLES / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@asynccontextmanager
async def client_of(cluster: SimCluster) -> AsyncIterator[Client]:
    access = parse_kubeconfig(yaml.safe_dump(cluster.kubeconfig()), cluster.name).access()
    async with Client(access, name=cluster.name) as client:
        yield client


async def content(client: Client, wanted: str) -> None:
    async with asyncio.timeout(20):
        while True:
            seen = await read(client, CONFIG_MAPS, "motd", "default")
            if isinstance(seen, Found) and seen.object["data"] == {"text": wanted}:
                return
            await asyncio.sleep(0.02)


@pytest.mark.timeout(60)
async def test_a_labelled_config_map_is_kept_in_every_cluster(tmp_path: Path) -> None:
    module = example("01-controller/copy_everywhere.py")
    async with SimCluster("east") as east, SimCluster("west") as west:
        entries = []
        for cluster in (east, west):
            cluster.write_kubeconfig(tmp_path / f"{cluster.name}.kubeconfig")
            entries.append({"name": cluster.name, "kubeconfig": f"{cluster.name}.kubeconfig"})
        (tmp_path / "clusters.yaml").write_text(yaml.safe_dump({"clusters": entries}))
        async with client_of(east) as at_east, client_of(west) as at_west:
            running = asyncio.create_task(module.run(load_settings(tmp_path)))
            try:
                original = {
                    "metadata": {"name": "motd", "labels": {module.LABEL: "true"}},
                    "data": {"text": "hello"},
                }
                await at_east.create(CONFIG_MAPS, original, "default")
                await content(at_west, "hello")
                spoiled = MergePatch({"data": {"text": "spoiled"}})
                await at_west.patch(CONFIG_MAPS, "motd", spoiled, "default")
                await content(at_west, "hello")
                news = MergePatch({"data": {"text": "news"}})
                await at_east.patch(CONFIG_MAPS, "motd", news, "default")
                await content(at_west, "news")
            finally:
                running.cancel()
                await asyncio.wait([running])
