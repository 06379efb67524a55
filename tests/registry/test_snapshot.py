"""What only shows when all clusters are seen together, and what time does to credentials."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from fairlead.kube.access import Access, TlsSettings
from fairlead.kube.credentials import StaticCredentials
from fairlead.registry.entry import MAX_CLUSTERS, ClusterEntry
from fairlead.registry.health import HealthState
from fairlead.registry.last_good import ProviderSnapshot
from fairlead.registry.problem import Problem
from fairlead.registry.settings import RegistrySettings
from fairlead.registry.snapshot import ClusterView, assemble, merge

NOW = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)


def entry(name: str, source: str = "here") -> ClusterEntry:
    access = Access(
        server=f"https://{name}",
        tls=TlsSettings(),
        credentials=StaticCredentials(),
        description=name,
    )
    return ClusterEntry(name=name, access=access, credential="", source=source)


def view(name: str = "a", expires: timedelta | None = None, *, renews: bool = False) -> ClusterView:
    return ClusterView(
        entry=entry(name),
        health=HealthState("me"),
        credentials_expire_at=NOW + expires if expires is not None else None,
        credentials_renew_themselves=renews,
    )


def problems(*views: ClusterView) -> list[Problem]:
    return list(assemble(views, [], RegistrySettings(), NOW).problems)


@pytest.mark.parametrize(
    "left, severity, words",
    [
        (timedelta(days=29, hours=1), "warning", "expires in 29 days, at 2024-05-30 13:00 UTC"),
        (timedelta(days=6), "error", "expires in 6 days"),
        (timedelta(hours=5, minutes=30), "error", "expires in 5 hours"),
        (timedelta(seconds=-1), "error", "expired at 2024-05-01 11:59 UTC"),
    ],
)
def test_the_end_of_a_credential_is_reported_ahead(
    left: timedelta, severity: str, words: str
) -> None:
    (problem,) = problems(view(expires=left))

    assert words in str(problem)
    assert problem.severity == severity
    assert problem.cluster == "a"


def test_a_distant_end_none_at_all_or_one_that_renews_itself_is_no_problem() -> None:
    assert problems(view(expires=timedelta(days=31))) == []
    assert problems(view()) == []
    assert problems(view(expires=timedelta(minutes=5), renews=True)) == []


def test_of_two_providers_the_earlier_wins_and_the_problem_names_both_places() -> None:
    first = ProviderSnapshot((entry("a", "file one"), entry("b")))
    second = ProviderSnapshot((entry("a", "file two"), entry("c")), (Problem("x", "bad"),))

    entries, found = merge([first, second])

    assert list(entries) == ["a", "b", "c"]
    assert entries["a"].source == "file one"
    collision = (
        "file two: cluster 'a' is already defined at file one, which is used; "
        "rename or remove one of the two"
    )
    assert [str(problem) for problem in found] == ["x: bad", collision]


def test_more_clusters_than_the_limit_are_left_out_and_reported() -> None:
    many = ProviderSnapshot(tuple(entry(f"c{n}") for n in range(MAX_CLUSTERS)))
    more = ProviderSnapshot((entry("late"),))

    entries, found = merge([many, more])

    assert len(entries) == MAX_CLUSTERS
    assert "'late' is one too many" in str(found[0])


def test_times_and_counts_alone_are_no_news() -> None:
    before = assemble([view()], [], RegistrySettings(), NOW)
    later = replace(view(), health=HealthState("me", checked_at=5.0, response_time=0.2))
    after = assemble([later], [], RegistrySettings(), NOW + timedelta(hours=1))
    changed = assemble([replace(view(), identity="uid")], [], RegistrySettings(), NOW)

    assert before.facts == after.facts
    assert before.facts != changed.facts
