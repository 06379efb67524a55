"""Pytest fixtures for real clusters. They start when a test first asks, serve the whole session
of one worker, and fail, never skip, when the real parts are not built. Start and stop happen on
a loop of their own, because the clusters outlive the loop of any one test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from fairlead_sim.real import (
    RealCluster,
    RealEtcd,
    RealFleet,
    RealPartFailed,
    RealPartsMissing,
    binary,
)

NAMES = FIRST, *_OTHERS = ("east", "west", "south")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `--dist loadgroup`, one worker runs all real tests of a group, so that its clusters
    start only once."""
    for item in items:
        if item.get_closest_marker("real") and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group("real"))


def wait_for(work: Coroutine[object, object, None]) -> None:
    """Run it to its end on a loop of its own, whatever loop this thread may have."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    with closing(loop), ThreadPoolExecutor(max_workers=1) as thread:
        done = thread.submit(loop.run_until_complete, task)
        try:
            done.result()
        except BaseException:
            # Without this, Ctrl-C or a timeout would first wait until the clusters have started.
            loop.call_soon_threadsafe(task.cancel)
            raise


@contextmanager
def told_in_one_sentence() -> Iterator[None]:
    """What is wrong with the real parts is for whoever runs the tests: no traceback of ours."""
    try:
        yield
    except (RealPartsMissing, RealPartFailed) as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None


@pytest.fixture(scope="session")
def real_fleet() -> Iterator[RealFleet]:
    """Three clusters on one etcd, none of them started yet."""
    fleet = RealFleet(NAMES)
    try:
        yield fleet
    finally:
        wait_for(fleet.stop())


@pytest.fixture(scope="session")
def real_etcd(real_fleet: RealFleet) -> RealEtcd:
    """The running etcd, for a test that makes a cluster of its own."""
    with told_in_one_sentence():
        wait_for(real_fleet.etcd.start())
    return real_fleet.etcd


@pytest.fixture(scope="session")
def named_real_cluster(real_fleet: RealFleet) -> Callable[[str], RealCluster]:
    """One of the three by its name, running."""

    def named(name: str) -> RealCluster:
        with told_in_one_sentence():
            wait_for(real_fleet.start(name))
        return real_fleet.clusters[name]

    return named


@pytest.fixture(scope="session")
def real_cluster(named_real_cluster: Callable[[str], RealCluster]) -> RealCluster:
    """One running cluster that tests share: use a namespace of your own."""
    return named_real_cluster(FIRST)


@pytest.fixture(scope="session")
def real_clusters(real_fleet: RealFleet) -> tuple[RealCluster, ...]:
    """Three running clusters that tests share; the first is also `real_cluster`."""
    with told_in_one_sentence():
        wait_for(real_fleet.start())
    return tuple(real_fleet.clusters.values())


@pytest.fixture(scope="session")
def kubectl() -> Path:
    """The real kubectl; run it with `--kubeconfig`."""
    with told_in_one_sentence():
        return binary("kubectl")
