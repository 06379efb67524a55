"""The whole registry over real sockets: joining, rotation, rebuilding, health."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fairlead.errors import InvalidInput, Reason, Unreachable
from fairlead.kube.resource import NAMESPACES
from fairlead.registry.health import Health
from fairlead.registry.last_good import ProviderSnapshot
from fairlead.registry.problem import Severity
from fairlead.registry.providers import Publish
from fairlead.registry.providers.file import FileProvider
from fairlead.registry.registry import Registry
from fairlead.registry.settings import RegistrySettings
from fairlead_sim import SimCluster
from tests.registry.fleet import FAST, PATIENCE, Recorder, running, write


@pytest.fixture
async def east() -> AsyncIterator[SimCluster]:
    async with SimCluster("east") as cluster:
        yield cluster


@pytest.fixture
async def west() -> AsyncIterator[SimCluster]:
    async with SimCluster("west") as cluster:
        yield cluster


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


async def test_clusters_are_verified_engaged_and_healthy(
    folder: Path, east: SimCluster, west: SimCluster
) -> None:
    write(folder, east, west, region="north")

    async with running(folder, RegistrySettings(observer="tester")) as run:
        await run.until_health("east", "healthy")
        snapshot = await run.until_health("west", "healthy")

        assert sorted(run.listener.told) == ["east engaged", "west engaged"]
        view = snapshot.clusters["east"]
        assert view.identity == east.identity
        assert view.engaged
        assert view.health.observer == "tester"
        assert view.health.response_time is not None
        assert view.entry.region == "north"
        assert snapshot.problems == ()
        assert await run.registry.client("east").get(NAMESPACES, "default")

    assert sorted(run.listener.told)[-2:] == ["west disengaged", "west engaged"]
    assert run.listener.clients == {}


async def test_an_entry_that_is_removed_leaves_and_the_others_do_not_notice(
    folder: Path, east: SimCluster, west: SimCluster
) -> None:
    write(folder, east, west)

    async with running(folder) as run:
        await run.until_health("east", "healthy")
        await run.until_health("west", "healthy")
        left = run.listener.clients["west"]
        (folder / "west.yaml").unlink()
        await run.until(lambda s: "west" not in s.clusters)

        assert run.listener.told.count("west disengaged") == 1
        assert "east disengaged" not in run.listener.told
        with pytest.raises(InvalidInput, match="known are: east"):
            run.registry.client("west")
        with pytest.raises(Unreachable):
            await left.get(NAMESPACES, "default")


async def test_new_credentials_are_used_once_they_are_verified(
    folder: Path, east: SimCluster
) -> None:
    write(folder, east)
    async with running(folder) as run:
        await run.until_health("east", "healthy")
        old = run.listener.clients["east"]
        before = run.registry.snapshot().clusters["east"].entry.connection

        token = east.add_token("next", ["system:masters"])
        write(folder, east, token=token)
        await run.until(lambda s: s.clusters["east"].entry.connection != before)
        with pytest.raises(Unreachable):
            await old.get(NAMESPACES, "default")
        east.revoke_token(east.admin_token)
        checked = run.registry.snapshot().clusters["east"].health.checked_at
        snapshot = await run.until(lambda s: s.clusters["east"].health.checked_at != checked)

        assert run.listener.told == ["east engaged", "east exchanged"]
        assert snapshot.clusters["east"].health.health is Health.HEALTHY
        assert snapshot.problems == ()


async def test_new_credentials_that_do_not_work_leave_the_old_in_force(
    folder: Path, east: SimCluster
) -> None:
    write(folder, east)
    async with running(folder) as run:
        await run.until_health("east", "healthy")
        in_force = run.registry.snapshot().clusters["east"].entry.connection

        write(folder, east, token="nonsense", weight=7)
        problem = await run.until_problem("the old one stays")
        snapshot = run.registry.snapshot()

        assert str(folder / "east.yaml") in problem
        assert "401" in problem
        assert "nonsense" not in repr(snapshot)
        view = snapshot.clusters["east"]
        assert view.entry.connection == in_force
        assert view.entry.weight == 7, "what needs no verification is taken over"
        assert view.engaged
        assert view.health.health is Health.HEALTHY

        write(folder, east)
        await run.until_no_problem()
        assert run.listener.told == ["east engaged"]


async def test_a_token_file_is_followed_and_a_bad_content_leaves_the_old_token_in_force(
    folder: Path, east: SimCluster
) -> None:
    file = folder / "east.token"
    file.write_text(east.admin_token)
    write(folder, east, token=None, tokenFile="east.token")
    async with running(folder) as run:
        await run.until_health("east", "healthy")
        file.write_text("half a tok")
        await run.until_problem("the token holds a space")
        file.write_text("nonsense")
        await run.until_problem("the old one stays")
        assert run.listener.told == ["east engaged"]

        file.write_text(east.add_token("next", ["system:masters"]))
        await run.until_no_problem()
        east.revoke_token(east.admin_token)
        count = len(run.seen)
        snapshot = await run.until(lambda _: len(run.seen) > count + 2)

        assert snapshot.clusters["east"].health.health is Health.HEALTHY
        assert run.listener.told == ["east engaged", "east exchanged"]


async def test_new_credentials_of_another_cluster_are_not_used(
    folder: Path, east: SimCluster, west: SimCluster
) -> None:
    write(folder, east)
    async with running(folder) as run:
        await run.until_health("east", "healthy")
        write(
            folder,
            east,
            endpoint=west.url,
            token=west.admin_token,
            certificateData=west.ca_pem.decode(),
        )
        problem = await run.until_problem("the old one stays")

        assert f"identity changed from {east.identity} to {west.identity}" in problem
        assert run.listener.told == ["east engaged"]
        assert run.registry.snapshot().clusters["east"].entry.endpoint == east.url

        run.registry.accept_identity("east")
        await run.until(lambda s: s.clusters["east"].entry.endpoint == west.url)
        assert run.listener.told == ["east engaged", "east exchanged"]


async def test_a_rebuilt_cluster_is_noticed_named_and_not_used_until_accepted(
    folder: Path, east: SimCluster, west: SimCluster
) -> None:
    write(folder, east, west)
    async with running(folder) as run:
        await run.until_health("east", "healthy")
        before = east.identity
        await east.restart(keep_data=False)
        problem = await run.until_problem("was rebuilt")
        snapshot = await run.until_health("east", "unhealthy")

        assert f"identity changed from {before} to {east.identity}" in problem
        assert f"set `identity: {east.identity}`" in problem
        assert str(folder / "east.yaml") in problem
        assert snapshot.clusters["east"].health.reason is Reason.WRONG_CLUSTER
        assert not snapshot.clusters["east"].engaged
        assert "east disengaged" in run.listener.told
        with pytest.raises(Unreachable) as caught:
            run.registry.client("east")
        assert caught.value.reason is Reason.WRONG_CLUSTER

        run.registry.accept_identity("east")
        await run.until_health("east", "healthy")
        assert run.listener.told[-1] == "east engaged"
        await run.until_no_problem()


async def test_a_pin_in_the_entry_accepts_a_rebuilt_cluster_and_refuses_any_other(
    folder: Path, east: SimCluster
) -> None:
    write(folder, east)
    async with running(folder) as run:
        await run.until_health("east", "healthy")
        await east.restart(keep_data=False)
        await run.until_health("east", "unhealthy")
        write(folder, east, identity=east.identity)
        await run.until_health("east", "healthy")

        write(folder, east, identity="11111111-2222-3333-4444-555555555555")
        problem = await run.until_problem("is not the one its entry pins")
        assert east.identity in problem
        await run.until_health("east", "unhealthy")


async def test_a_cluster_rebuilt_while_nobody_looked_is_noticed_by_the_identity_file(
    folder: Path, east: SimCluster
) -> None:
    write(folder, east)
    settings = RegistrySettings(identity_file=folder / "identities.state")
    async with running(folder, settings) as run:
        await run.until_health("east", "healthy")
    await east.restart(keep_data=False)

    async with running(folder, settings) as run:
        await run.until_problem("was rebuilt")
        assert run.listener.told == []

        (folder / "east.yaml").unlink()
        await run.until(lambda s: not s.clusters)
        write(folder, east)
        await run.until_health("east", "healthy")


async def test_identities_known_from_elsewhere_count(folder: Path, east: SimCluster) -> None:
    write(folder, east)
    async with running(folder, RegistrySettings(known_identities={"east": "other"})) as run:
        await run.until_problem("identity changed from other to")
        assert run.listener.told == []


async def test_a_damaged_identity_file_is_reported_and_left_alone(
    folder: Path, east: SimCluster
) -> None:
    file = folder / "identities.state"
    file.write_text('{"east": ')
    write(folder, east)
    async with running(folder, RegistrySettings(identity_file=file)) as run:
        await run.until_health("east", "healthy")
        problem = await run.until_problem("identities cannot be read")

    assert str(file) in problem
    assert file.read_text() == '{"east": '


async def test_a_partition_makes_unhealthy_after_the_threshold_and_recovery_takes_several_checks(
    folder: Path, east: SimCluster, west: SimCluster
) -> None:
    write(folder, east, west)
    async with running(folder) as run:
        await run.until_health("east", "healthy")
        await run.until_health("west", "healthy")
        await east.faults.partition()
        snapshot = await run.until_health("east", "unhealthy")
        await east.faults.heal()
        await run.until_health("east", "healthy")

        state = snapshot.clusters["east"].health
        assert state.failed == FAST.failure_threshold
        assert state.reason is Reason.CONNECT
        assert state.last_error is not None
        states = [s.clusters["east"].health for s in run.seen if "east" in s.clusters]
        first = next(s for s in states if s.health is Health.UNHEALTHY)
        back = next(s for s in states[states.index(first) :] if s.health is Health.HEALTHY)
        assert back.answered >= FAST.success_threshold
        assert "east disengaged" not in run.listener.told, "its caches are still the best there is"


async def test_when_nothing_can_be_reached_the_observer_does_not_judge(
    folder: Path, east: SimCluster, west: SimCluster
) -> None:
    write(folder, east, west)
    async with running(folder) as run:
        await run.until_health("east", "healthy")
        await run.until_health("west", "healthy")
        await east.faults.partition()
        await west.faults.partition()
        await run.until_health("west", "unknown")
        snapshot = await run.until_health("east", "unknown")

        assert "the fault is likely here" in str(snapshot.clusters["east"].health.last_error)
        await east.faults.heal()
        await run.until_health("west", "unhealthy")


async def test_a_hanging_cluster_is_unhealthy_by_timeout(
    folder: Path, east: SimCluster, west: SimCluster
) -> None:
    write(folder, east, west, healthCheck={"interval": 1, "timeout": 0.2, "failureThreshold": 1})
    async with running(folder) as run:
        await run.until_health("east", "healthy")
        await run.until_health("west", "healthy")
        await east.faults.partition("hang")
        snapshot = await run.until_health("east", "unhealthy")
        await east.faults.heal()

        assert snapshot.clusters["east"].health.reason is Reason.TIMEOUT


async def test_refused_credentials_degrade_but_do_not_look_like_a_dead_cluster(
    folder: Path, east: SimCluster
) -> None:
    write(folder, east)
    async with running(folder) as run:
        await run.until_health("east", "healthy")
        east.revoke_token(east.admin_token)
        snapshot = await run.until_health("east", "degraded")

        assert snapshot.clusters["east"].health.reason is Reason.UNAUTHORIZED
        assert east.admin_token not in repr(snapshot)


async def test_a_credential_that_never_worked_is_a_problem_of_the_entry(
    folder: Path, east: SimCluster, west: SimCluster
) -> None:
    write(folder, east, token="nonsense")
    write(folder, west, certificateData=east.ca_pem.decode())
    async with running(folder) as run:
        problem = await run.until_problem("cluster 'east' is not used")
        assert problem.startswith(str(folder / "east.yaml"))
        assert "401" in problem
        assert "unknown authority" in await run.until_problem("cluster 'west' is not used")
        assert run.listener.told == []


async def test_a_credential_that_may_not_read_the_identity_is_not_used(
    folder: Path, east: SimCluster
) -> None:
    write(folder, east, token=east.add_token("narrow"))
    async with running(folder) as run:
        snapshot = await run.until_health("east", "degraded")
        problem = await run.until_problem("does not tell its identity")

        assert "get the namespace kube-system" in problem
        assert not snapshot.clusters["east"].engaged
        assert run.listener.told == []


async def test_the_right_to_read_kube_system_is_all_that_is_needed(
    folder: Path, east: SimCluster
) -> None:
    rule = {
        "apiGroups": [""],
        "resources": ["namespaces"],
        "resourceNames": ["kube-system"],
        "verbs": ["get"],
    }
    write(folder, east, token=east.add_token("narrow", rules=[rule]))
    async with running(folder) as run:
        await run.until_health("east", "healthy")


async def test_one_cluster_under_two_names_is_reported(folder: Path, east: SimCluster) -> None:
    write(folder, east)
    twin = (folder / "east.yaml").read_text().replace("name: east", "name: twin")
    (folder / "twin.yaml").write_text(twin)
    async with running(folder) as run:
        problem = await run.until_problem("are the same cluster")

        assert "'east' and 'twin'" in problem
        assert run.registry.snapshot().problems[0].severity is Severity.WARNING


async def test_a_cluster_out_of_service_is_listed_but_neither_asked_nor_used(
    folder: Path, east: SimCluster
) -> None:
    write(folder, east)
    async with running(folder) as run:
        await run.until_health("east", "healthy")
        write(folder, east, status="Unavailable")
        snapshot = await run.until_health("east", "unknown")

        assert "taken out of service" in str(snapshot.clusters["east"].health.last_error)
        assert run.listener.told == ["east engaged", "east disengaged"]
        await run.registry.wait_checked()

        write(folder, east)
        await run.until_health("east", "healthy")
        assert run.listener.told[-1] == "east engaged"


async def test_of_two_providers_with_one_name_the_first_counts(
    folder: Path, east: SimCluster, west: SimCluster
) -> None:
    first, second = folder / "first", folder / "second"
    for place, cluster in ((first, east), (second, west)):
        place.mkdir()
        write(place, cluster, name="one")
    providers = [FileProvider(path, defaults=FAST, poll_seconds=0.02) for path in (first, second)]
    async with running(providers) as run:
        snapshot = await run.until_health("one", "healthy")

        assert snapshot.clusters["one"].identity == east.identity
        (problem,) = snapshot.problems
        assert str(first / "east.yaml") in str(problem)
        assert str(second / "west.yaml") in str(problem)


async def test_nothing_is_engaged_before_every_provider_has_spoken(
    folder: Path, east: SimCluster, west: SimCluster
) -> None:
    """Or the later provider's cluster would be used under a name that is the earlier one's."""

    class Late:
        description = "a provider that takes its time"

        def __init__(self) -> None:
            self.speak = asyncio.Event()

        async def run(self, publish: Publish) -> None:
            await self.speak.wait()
            write(folder, east, name="one")
            publish(FileProvider(folder / "east.yaml", defaults=FAST).load())
            await asyncio.Event().wait()

    second = folder / "second"
    second.mkdir()
    write(second, west, name="one")
    late, spoken = Late(), asyncio.Event()

    class Prompt(FileProvider):
        async def run(self, publish: Publish) -> None:
            def tell(snapshot: ProviderSnapshot) -> None:
                publish(snapshot)
                spoken.set()

            await super().run(tell)

    listener = Recorder()
    registry = Registry([late, Prompt(second, defaults=FAST)], listeners=[listener])
    task = asyncio.create_task(registry.run())
    try:
        async with asyncio.timeout(PATIENCE):
            await spoken.wait()
            assert not registry.loaded
            late.speak.set()
            snapshot = await registry.wait_for(
                lambda s: "one" in s.clusters and s.clusters["one"].engaged
            )
        assert snapshot.clusters["one"].identity == east.identity
        assert listener.told == ["one engaged"]
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_subscribers_hear_of_news_only(folder: Path, east: SimCluster) -> None:
    write(folder, east)
    async with running(folder) as run:
        await run.until_health("east", "healthy")
        heard: list[int] = []
        unsubscribe = run.registry.subscribe(lambda snapshot: heard.append(snapshot.generation))
        before = run.registry.snapshot()
        count = len(run.seen)
        await run.until(lambda _: len(run.seen) > count + 3)
        assert heard == []
        assert run.registry.snapshot().generation == before.generation

        write(folder, east, weight=3)
        await run.until(lambda s: s.clusters["east"].entry.weight == 3)
        assert heard == [before.generation + 1]

        unsubscribe()
        write(folder, east, weight=4)
        await run.until(lambda s: s.clusters["east"].entry.weight == 4)
        assert heard == [before.generation + 1]


async def test_a_bad_edit_leaves_the_running_registry_as_it_is(
    folder: Path, east: SimCluster
) -> None:
    write(folder, east)
    async with running(folder) as run:
        await run.until_health("east", "healthy")
        (folder / "east.yaml").write_text("clusters: [")
        problem = await run.until_problem("not valid YAML")

        assert problem.startswith(str(folder / "east.yaml"))
        assert run.registry.snapshot().clusters["east"].engaged
        assert run.listener.told == ["east engaged"]
