"""An HTTP server on loopback that answers by script: one step for each request, the last one for
all that follow, faults of every kind among them. It remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from aiohttp import web

from fairlead.kube import Access, Client, Credentials, Presented, RequestSeen, TlsSettings
from fairlead.kube.credentials import StaticCredentials

Step = Callable[[web.Request], Awaitable[web.StreamResponse]]

TOKEN = Presented("Bearer the-secret-token")


@dataclass
class Asked:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(self.target.partition("?")[2]).items()}

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class ScriptedServer:
    steps: list[Step]
    asked: list[Asked] = field(default_factory=list)
    url: str = ""
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def wait_for(self, requests: int) -> None:
        """Until so many requests have arrived."""
        async with asyncio.timeout(30), self.arrived:
            await self.arrived.wait_for(lambda: len(self.asked) >= requests)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        step = self.steps[min(len(self.asked), len(self.steps) - 1)]
        body = await request.read()
        self.asked.append(Asked(request.method, request.raw_path, dict(request.headers), body))
        async with self.arrived:
            self.arrived.notify_all()
        return await step(request)

    def access(
        self,
        credentials: Credentials | None = None,
        *,
        tls: TlsSettings | None = None,
        base_path: str = "",
        proxy_url: str | None = None,
    ) -> Access:
        return Access(
            server=self.url + base_path,
            tls=tls or TlsSettings(),
            credentials=credentials or StaticCredentials(TOKEN),
            description="context test",
            proxy_url=proxy_url,
        )

    def client(
        self, *, request_timeout: float = 20.0, max_answer: int = 1 << 20, **options: Any
    ) -> Client:
        observe: Callable[[RequestSeen], None] | None = options.pop("observe", None)
        return Client(
            self.access(**options),
            name="west",
            request_timeout=request_timeout,
            max_answer=max_answer,
            observe=observe,
        )


@asynccontextmanager
async def scripted(
    *steps: Step, tls: ssl.SSLContext | None = None
) -> AsyncIterator[ScriptedServer]:
    server = ScriptedServer(list(steps))
    application = web.Application(client_max_size=64 << 20)
    application.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    server.url = f"http{'s' if tls else ''}://127.0.0.1:{port}"
    try:
        yield server
    finally:
        await runner.cleanup()


def answer(
    content: Any, code: int = 200, *, content_type: str = "application/json", **headers: str
) -> Step:
    """Answer with JSON, or with text and bytes as they stand."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def step(request: web.Request) -> web.StreamResponse:
        return web.Response(body=body, status=code, content_type=content_type, headers=named)

    return step


def status(
    code: int,
    reason: str,
    message: str = "said no",
    *,
    details: dict[str, Any] | None = None,
    **headers: str,
) -> Step:
    """Refuse as an API server does."""
    content = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    if details is not None:
        content["details"] = details
    return answer(content, code, **headers)


def config_map(name: str, version: str = "1", **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "resourceVersion": version},
        "data": data,
    }


def page(*items: dict[str, Any], version: str = "10", token: str = "") -> dict[str, Any]:
    bare = [{k: v for k, v in item.items() if k not in {"kind", "apiVersion"}} for item in items]
    metadata = {"resourceVersion": version} | ({"continue": token} if token else {})
    return {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": bare}


async def cut(request: web.Request) -> web.StreamResponse:
    """Drop the connection before a single byte of an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def cut_within(body: bytes, code: int = 200) -> Step:
    """Announce more than is sent, then drop the connection."""

    async def step(request: web.Request) -> web.StreamResponse:
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body) + 100)}
        response = web.StreamResponse(status=code, headers=headers)
        await response.prepare(request)
        await response.write(body)
        assert request.transport is not None
        request.transport.close()
        return response

    return step


async def never(request: web.Request) -> web.StreamResponse:
    """Never answer at all."""
    await asyncio.Event().wait()
    return web.Response()


def line(kind: str, obj: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": obj}).encode() + b"\n"


def bookmark(version: str) -> bytes:
    return line("BOOKMARK", {"kind": "ConfigMap", "metadata": {"resourceVersion": version}})


def stream(*pieces: bytes, until: asyncio.Event | None = None, broken: bool = False) -> Step:
    """A watch: the pieces one by one, then (after `until`) a clean end or a broken connection."""

    async def step(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
        if until is not None:
            await until.wait()
        if broken:
            assert request.transport is not None
            request.transport.abort()
        return response

    return step
