"""A simulated cluster for each test, and a thin HTTP client that hides nothing."""

from __future__ import annotations

import asyncio
import io
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from fairlead_sim import SimCluster

Object = dict[str, Any]
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


@dataclass
class Reply:
    status: int
    headers: Any
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)

    @property
    def message(self) -> str:
        return str(self.body["message"])

    @property
    def reason(self) -> str:
        return str(self.body["reason"])


class Stream:
    """A running watch."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def next(self) -> Object:
        line = await asyncio.wait_for(self.response.content.readline(), 10)
        if not line:
            raise EOFError("the watch ended")
        event: Object = json.loads(line)
        return event

    async def take(self, count: int) -> list[tuple[str, str]]:
        events = [await self.next() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]

    async def rest(self) -> list[Object]:
        text = await asyncio.wait_for(self.response.text(), 20)
        return [json.loads(line) for line in text.splitlines()]


class Api:
    def __init__(self, session: aiohttp.ClientSession, url: str, token: str | None) -> None:
        self._session = session
        self._url = url
        self._token = token

    def _headers(self, more: dict[str, str] | None = None) -> dict[str, str]:
        headers = {"User-Agent": "tests/1"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        return headers | (more or {})

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> Reply:
        sent = self._headers(headers)
        data = None
        if body is not None:
            text = body if isinstance(body, bytes | str) else json.dumps(body)
            data = io.BytesIO(text.encode() if isinstance(text, str) else text)
            sent["Content-Type"] = content_type
        url = self._url + path
        async with self._session.request(method, url, data=data, headers=sent) as response:
            return Reply(response.status, response.headers, await response.text())

    async def get(self, path: str, **headers: str) -> Reply:
        return await self.call("GET", path, headers=headers)

    async def post(self, path: str, body: Any) -> Reply:
        return await self.call("POST", path, body)

    async def put(self, path: str, body: Any) -> Reply:
        return await self.call("PUT", path, body)

    async def patch(self, path: str, body: Any, content_type: str = MERGE) -> Reply:
        return await self.call("PATCH", path, body, content_type)

    async def delete(self, path: str, body: Any = None) -> Reply:
        return await self.call("DELETE", path, body)

    async def create(self, path: str, body: Any) -> Object:
        reply = await self.post(path, body)
        assert reply.status == 201, reply.text
        created: Object = reply.body
        return created

    async def names(self, path: str) -> list[str]:
        return [item["metadata"]["name"] for item in (await self.get(path)).body["items"]]

    @asynccontextmanager
    async def watch(self, path: str, **headers: str) -> AsyncIterator[Stream]:
        joint = "&" if "?" in path else "?"
        url = f"{self._url}{path}{joint}watch=true"
        async with self._session.get(url, headers=self._headers(headers)) as response:
            assert response.status == 200, await response.text()
            yield Stream(response)


def config_map(name: str, data: dict[str, str] | None = None, **metadata: Any) -> Object:
    obj: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
    }
    if data is not None:
        obj["data"] = data
    return obj


Connect = Callable[..., Api]


@pytest.fixture
async def cluster() -> AsyncIterator[SimCluster]:
    async with SimCluster("east") as started:
        yield started


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Clients for any cluster and token; their connections end with the test."""
    sessions: list[aiohttp.ClientSession] = []

    def make(cluster: SimCluster, token: str | None = "", **tls: Any) -> Api:
        context = ssl.create_default_context(cadata=cluster.ca_pem.decode())
        if "chain" in tls:
            context.load_cert_chain(tls["chain"])
        connector = aiohttp.TCPConnector(ssl=context, limit=0)
        session = aiohttp.ClientSession(
            connector=connector, timeout=aiohttp.ClientTimeout(total=30)
        )
        sessions.append(session)
        return Api(session, cluster.url, cluster.admin_token if token == "" else token)

    yield make
    for session in sessions:
        await session.close()


@pytest.fixture
async def api(cluster: SimCluster, connect: Connect) -> Api:
    return connect(cluster)
