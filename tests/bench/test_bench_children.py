"""Child processes of the bench: they answer, their end is told in one sentence, none is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.processes import BenchFailed, Child

pytestmark = pytest.mark.slow


async def test_a_child_that_breaks_is_reported_with_its_last_words(tmp_path: Path) -> None:
    missing = tmp_path / "no-kubeconfig"
    async with Child("writer", str(missing)) as child:
        with pytest.raises(BenchFailed, match=r"bench\.children\.writer .* ended early: .*no-kube"):
            await child.ask(do="list", chunk=0)


async def test_a_child_that_was_never_started_says_so() -> None:
    child = Child("writer")
    with pytest.raises(BenchFailed, match="never started"):
        await child.ask(do="list")
    await child.__aexit__(None, None, None)


async def test_writes_at_a_pace_take_the_time_they_must(tmp_path: Path) -> None:
    async with Child("sim_server", str(tmp_path / "kubeconfig")) as cluster:
        await cluster.ask(do="fill", objects=20)
        order = {"objects": 20, "generation": "1", "rate": 200, "clump": 5}
        written = await cluster.ask(do="write", **order)
        assert written["seconds"] >= 0.09
