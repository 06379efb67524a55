"""One check, against servers that answer in every way a cluster can."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from fairlead.errors import Reason
from fairlead.kube.access import Access, TlsSettings
from fairlead.kube.client import Client
from fairlead.kube.credentials import StaticCredentials
from fairlead.registry.entry import HealthCheck
from fairlead.registry.health import Verdict
from fairlead.registry.prober import Probe, probe
from fairlead.registry.settings import RegistrySettings
from fairlead.runtime.clock import SystemClock
from tests.registry.fleet import running

UID = "0a1b2c3d-0000-1111-2222-333344445555"
RULE = HealthCheck(timeout=5.0, slow=4.0)


class Server:
    """A cluster that is nothing but its health paths and its kube-system namespace."""

    def __init__(self) -> None:
        self.codes = {"/readyz": 200, "/version": 200, "/api/v1/namespaces/kube-system": 200}
        self.asked: list[str] = []
        self.delay = 0.0
        self.at_once = 0
        self.most_at_once = 0

    async def handle(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(self.delay)
        finally:
            self.at_once -= 1
        path = "/" + request.path.partition("/in/")[2].partition("/")[2]
        path = path if "/in/" in request.path else request.path
        code = self.codes.get(path, 404)
        if code == 200 and path.startswith("/api"):
            meta = {"name": "kube-system", "uid": UID, "resourceVersion": "1"}
            return web.json_response({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
        if code == 200:
            return web.Response(text="ok")
        if path == "/readyz" and code == 500:
            return web.Response(status=500, text="[+]ping ok\n[-]etcd failed\nreadyz check failed")
        status = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code}
        reasons = {401: "Unauthorized", 403: "Forbidden", 404: "NotFound"}
        status |= {"message": f"user cannot do that ({code})", "reason": reasons.get(code, "")}
        return web.json_response(status, status=code)


@asynccontextmanager
async def serving(server: Server) -> AsyncIterator[str]:
    handler = web.Server(server.handle, handler_cancellation=True)  # type: ignore[arg-type]
    runner = web.ServerRunner(handler, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
async def client(server: Server) -> AsyncIterator[Client]:
    async with serving(server) as url:
        access = Access(
            server=url, tls=TlsSettings(), credentials=StaticCredentials(), description="test"
        )
        async with Client(access, name="a") as client:
            yield client


async def check(client: Client, rule: HealthCheck = RULE) -> Probe:
    return await probe(client, rule, SystemClock())


async def test_a_ready_cluster_is_good_and_tells_its_identity(client: Client) -> None:
    found = await check(client)

    assert found.check.verdict is Verdict.GOOD
    assert found.identity == UID
    assert found.check.error is None


@pytest.mark.parametrize("code", [403, 404])
async def test_where_readyz_is_not_for_us_version_is_asked(
    client: Client, server: Server, code: int
) -> None:
    server.codes["/readyz"] = code

    assert (await check(client)).check.verdict is Verdict.GOOD
    assert "/version" in server.asked


async def test_where_neither_is_for_us_the_identity_proves_it_alive(
    client: Client, server: Server
) -> None:
    server.codes |= {"/readyz": 403, "/version": 403}

    assert (await check(client)).check.verdict is Verdict.GOOD


async def test_a_failing_readyz_of_a_cluster_that_answers_is_an_impairment(
    client: Client, server: Server
) -> None:
    server.codes["/readyz"] = 500
    found = await check(client)

    assert found.check.verdict is Verdict.IMPAIRED
    assert found.identity == UID
    assert "[-]etcd failed" in str(found.check.error)


async def test_a_cluster_that_fails_everywhere_is_failed(client: Client, server: Server) -> None:
    server.codes = dict.fromkeys(server.codes, 503)
    found = await check(client, HealthCheck(timeout=2.0))

    assert found.check.verdict is Verdict.FAILED
    assert found.identity is None


@pytest.mark.parametrize("code, reason", [(401, Reason.UNAUTHORIZED), (403, Reason.FORBIDDEN)])
async def test_a_refused_credential_is_an_impairment_and_no_death(
    client: Client, server: Server, code: int, reason: Reason
) -> None:
    server.codes = dict.fromkeys(server.codes, code)
    found = await check(client)

    assert found.check.verdict is Verdict.IMPAIRED
    assert found.check.reason is reason


async def test_a_cluster_without_kube_system_is_failed(client: Client, server: Server) -> None:
    server.codes["/api/v1/namespaces/kube-system"] = 404

    assert (await check(client)).check.verdict is Verdict.FAILED


async def test_a_slow_answer_is_an_impairment_that_says_how_slow(
    client: Client, server: Server
) -> None:
    server.delay = 0.05
    found = await check(client, HealthCheck(timeout=5.0, slow=0.01))

    assert found.check.verdict is Verdict.IMPAIRED
    assert "answers slowly" in str(found.check.error)
    assert found.check.seconds >= 0.05


async def test_no_answer_in_time_is_a_failure(client: Client, server: Server) -> None:
    server.delay = 30
    found = await check(client, HealthCheck(timeout=0.1))

    assert found.check.verdict is Verdict.FAILED
    assert found.check.reason is Reason.TIMEOUT
    assert "no answer within 0.1s" in str(found.check.error)


async def test_a_path_of_ones_own_is_asked_alone(client: Client, server: Server) -> None:
    found = await check(client, HealthCheck(timeout=5.0, path="/livez"))

    assert server.asked == ["/livez", "/api/v1/namespaces/kube-system"]
    assert found.check.verdict is Verdict.IMPAIRED, "it does not exist on this server"


@pytest.mark.parametrize("allowed", [1, 3])
async def test_no_more_checks_run_at_once_than_allowed(
    tmp_path: Path, server: Server, allowed: int
) -> None:
    server.delay = 0.02
    async with serving(server) as url:
        entries = [{"name": f"c{n}", "endpoint": f"{url}/in/c{n}"} for n in range(6)]
        (tmp_path / "c.yaml").write_text(yaml.safe_dump({"clusters": entries}))
        async with running(tmp_path, RegistrySettings(concurrent_checks=allowed)) as run:
            await run.registry.wait_checked()
            await run.until_health("c5", "healthy")

    assert server.most_at_once == allowed
