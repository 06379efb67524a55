from __future__ import annotations

import asyncio
import socket

import aiohttp
import pytest

from fairlead.errors import InvalidInput
from fairlead.runtime.heartbeat import Heartbeat
from fairlead.runtime.metrics import Metrics
from fairlead.runtime.probes import ProbeServer
from tests.runtime.virtual_time import VirtualClock, run_virtual


def server() -> ProbeServer:
    return ProbeServer(Metrics(version="9.9"), host="127.0.0.1", port=0)


async def ask(probes: ProbeServer, path: str) -> tuple[int, str]:
    url = f"http://127.0.0.1:{probes.port}{path}"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status, await answer.text()


async def test_probes_answer_ok_while_every_check_passes() -> None:
    async with server() as probes:
        probes.add_live("loop", lambda: None)
        probes.add_ready("registry", lambda: None)
        assert await ask(probes, "/livez") == (200, "ok")
        assert await ask(probes, "/readyz") == (200, "ok")


async def test_a_failing_check_is_named_and_verbose_says_why() -> None:
    async with server() as probes:
        probes.add_ready("registry", lambda: None)
        probes.add_ready("caches", lambda: "cluster east: not yet read: configmaps")
        assert await ask(probes, "/readyz") == (503, "not ok: caches")
        status, text = await ask(probes, "/readyz?verbose")
        assert status == 503
        assert text.splitlines() == [
            "[-] caches failed: cluster east: not yet read: configmaps",
            "[+] registry ok",
            "readyz check failed",
        ]
        assert (await ask(probes, "/livez"))[0] == 200


async def test_a_check_that_breaks_counts_as_failed() -> None:
    def broken() -> str | None:
        raise ZeroDivisionError("oops")

    async with server() as probes:
        probes.add_live("odd", broken)
        status, text = await ask(probes, "/livez?verbose")
        assert status == 503
        assert "the check itself broke: oops" in text


async def test_an_answer_is_bounded_however_long_the_reason() -> None:
    async with server() as probes:
        probes.add_ready("wordy", lambda: "x" * 1_000_000)
        assert len((await ask(probes, "/readyz?verbose"))[1]) < 5000


async def test_metrics_and_pages_are_served_beside_the_probes() -> None:
    async with server() as probes:
        probes.add_page("/fleet", lambda: {"clusters": ["east", "west"]})
        status, text = await ask(probes, "/metrics")
        assert status == 200
        assert 'version="9.9"' in text
        assert await ask(probes, "/fleet") == (200, '{"clusters":["east","west"]}')
        status, text = await ask(probes, "/other")
        assert status == 404
        assert "/livez, /readyz, /metrics, /fleet" in text


async def test_a_port_in_use_is_one_sentence_with_a_remedy() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInput, match=f"127.0.0.1:{port}.*choose another probe port"):
            async with ProbeServer(Metrics(), host="127.0.0.1", port=port):
                pass


async def test_the_port_is_free_again_afterwards() -> None:
    async with server() as probes:
        port = probes.port
    async with ProbeServer(Metrics(), host="127.0.0.1", port=port) as again:
        assert (await ask(again, "/livez"))[0] == 200


def test_a_heart_that_stops_beating_fails_the_check() -> None:
    async def scenario() -> None:
        lags: list[float] = []
        clock = VirtualClock()
        heart = Heartbeat(clock, limit=30, on_lag=lags.append)
        beating = asyncio.create_task(heart.run())
        await asyncio.sleep(100)
        assert heart.check() is None
        assert max(lags) == pytest.approx(0)
        beating.cancel()
        await asyncio.wait({beating})
        await asyncio.sleep(40)
        assert "no heartbeat for 4" in (heart.check() or "")

    run_virtual(scenario())
