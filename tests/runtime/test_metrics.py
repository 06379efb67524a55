from __future__ import annotations

from fairlead.kube.caller import RequestSeen
from fairlead.runtime.metrics import Metrics, QueueReading
from fairlead.runtime.outcome import Ending


async def page(metrics: Metrics) -> str:
    return (await metrics.render())[0].decode()


async def test_the_page_names_everything_the_engine_counts() -> None:
    metrics = Metrics(version="1.2.3")
    reconciles = metrics.reconciles("apps", "east")
    reconciles.duration.observe(0.2)
    reconciles.endings[Ending.TERMINAL].inc()
    metrics.watch_restarted("east", "configmaps", "expired")
    metrics.observe_requests("east")(RequestSeen("GET", "configmaps", "200", 0.01))
    metrics.leading("east", True)
    metrics.engaged("east")
    metrics.synced("east")
    metrics.watch_queues(lambda: [QueueReading("apps", "east", 3, 1, 2.5, 10, 4)])
    text = await page(metrics)
    for line in (
        'fairlead_reconcile_duration_seconds_count{cluster="east",controller="apps"} 1.0',
        'fairlead_reconcile_total{cluster="east",controller="apps",result="terminal"} 1.0',
        'fairlead_reconcile_total{cluster="east",controller="apps",result="success"} 0.0',
        'fairlead_watch_restarts_total{cluster="east",reason="expired",resource="configmaps"} 1.0',
        'fairlead_api_requests_total{cluster="east",code="200",method="GET"} 1.0',
        'fairlead_api_request_duration_seconds_count{cluster="east",method="GET"} 1.0',
        'fairlead_leader{cluster="east"} 1.0',
        'fairlead_cluster_engaged{cluster="east"} 1.0',
        'fairlead_cluster_synced{cluster="east"} 1.0',
        'fairlead_queue_depth{cluster="east",controller="apps"} 3.0',
        'fairlead_queue_delayed{cluster="east",controller="apps"} 1.0',
        'fairlead_queue_oldest_age_seconds{cluster="east",controller="apps"} 2.5',
        'fairlead_queue_adds_total{cluster="east",controller="apps"} 10.0',
        'fairlead_queue_retries_total{cluster="east",controller="apps"} 4.0',
        'version="1.2.3"',
    ):
        assert line in text


async def test_a_cluster_that_left_leaves_no_series_behind() -> None:
    metrics = Metrics()
    for cluster in ("east", "west"):
        bound = metrics.reconciles("apps", cluster)
        bound.duration.observe(1)
        metrics.engaged(cluster)
        metrics.leading(cluster, False)
        metrics.watch_restarted(cluster, "configmaps", "closed")
        metrics.event(cluster, "posted")
        metrics.observe_requests(cluster)(RequestSeen("PUT", "leases", "409", 0.01))
    late = metrics.reconciles("apps", "east")
    metrics.forget_cluster("east")
    late.duration.observe(1)  # a reconcile that ended just after
    text = await page(metrics)
    assert 'cluster="east"' not in text
    assert 'cluster="west"' in text


async def test_foreign_text_cannot_make_new_series_without_end() -> None:
    metrics = Metrics()
    seen = metrics.observe_requests("east")
    for number in range(50):
        seen(RequestSeen(f"X{number}", "", "200", 0.1))
    metrics.watch_restarted("east", "configmaps", 'weird "reason"\n' + "x" * 1000)
    text = await page(metrics)
    assert 'fairlead_api_requests_total{cluster="east",code="200",method="OTHER"} 50.0' in text
    assert max(len(line) for line in text.splitlines()) < 200


async def test_two_sets_of_metrics_in_one_process_do_not_mix() -> None:
    one, other = Metrics(), Metrics()
    one.engaged("east")
    assert 'cluster="east"' not in await page(other)


async def test_open_metrics_are_served_to_who_asks_for_them() -> None:
    body, content_type = await Metrics().render("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")
