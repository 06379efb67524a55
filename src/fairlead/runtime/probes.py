"""The small HTTP server that Kubernetes and Prometheus ask: `/livez`, `/readyz`, `/metrics` and
pages others add. Owns the answers' form and bounds; knows nothing of what is checked. Plain HTTP:
nothing here is secret, and nothing can be changed through it."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import msgspec
import structlog
from aiohttp import web

from fairlead.errors import InvalidInput
from fairlead.runtime.metrics import Metrics

log = structlog.get_logger(__name__)

Check = Callable[[], str | None]
"""None if all is well, else the sentence that says what is not."""

_LONGEST_REASON = 2000
_MOST_REQUEST_BYTES = 8192
_encode = msgspec.json.Encoder(enc_hook=str).encode


class ProbeServer:
    """`async with ProbeServer(...)` serves until the block ends. Checks and pages may be added at
    any time; a check that breaks counts as failed."""

    def __init__(self, metrics: Metrics, *, host: str, port: int) -> None:
        self._figures = metrics
        self._host = host
        self._port = port
        self._live: dict[str, Check] = {}
        self._ready: dict[str, Check] = {}
        self._pages: dict[str, Callable[[], Any]] = {}
        self._runner: web.AppRunner | None = None

    def add_live(self, name: str, check: Check) -> None:
        self._live[name] = check

    def add_ready(self, name: str, check: Check) -> None:
        self._ready[name] = check

    def add_page(self, path: str, content: Callable[[], Any]) -> None:
        """Serves what `content` returns as JSON at `path`, such as `/fleet`."""
        self._pages[path] = content

    @property
    def port(self) -> int:
        """The port in use, also when the system chose it."""
        if self._runner is None or not self._runner.addresses:
            return self._port
        return int(self._runner.addresses[0][1])

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=_MOST_REQUEST_BYTES)
        app.router.add_get("/livez", self._answer_live)
        app.router.add_get("/readyz", self._answer_ready)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/{page:.*}", self._page)
        runner = web.AppRunner(app, access_log=None, keepalive_timeout=15.0, shutdown_timeout=1.0)
        await runner.setup()
        try:
            await web.TCPSite(runner, self._host, self._port).start()
        except OSError as error:
            await runner.cleanup()
            raise InvalidInput(
                f"probe address {self._host}:{self._port}",
                f"cannot be listened on ({error.strerror or error})",
                "choose another probe port, or 0 for any free one",
            ) from error
        self._runner = runner
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def _answer_live(self, request: web.Request) -> web.Response:
        return _verdict(request, "livez", self._live)

    async def _answer_ready(self, request: web.Request) -> web.Response:
        return _verdict(request, "readyz", self._ready)

    async def _metrics(self, request: web.Request) -> web.Response:
        body, content_type = await self._figures.render(request.headers.get("Accept", ""))
        response = web.Response(body=body)
        response.headers["Content-Type"] = content_type
        return response

    async def _page(self, request: web.Request) -> web.Response:
        content = self._pages.get(request.path)
        if content is None:
            known = ", ".join(["/livez", "/readyz", "/metrics", *sorted(self._pages)])
            return web.Response(status=404, text=f"not found; there are {known}\n")
        return web.Response(body=_encode(content()), content_type="application/json")


def _verdict(request: web.Request, what: str, checks: dict[str, Check]) -> web.Response:
    results = {name: _outcome(name, check) for name, check in sorted(checks.items())}
    failed = [name for name, problem in results.items() if problem]
    status = 503 if failed else 200
    if "verbose" not in request.query:
        text = f"not ok: {', '.join(failed)}"[:_LONGEST_REASON] if failed else "ok"
        return web.Response(status=status, text=text)
    lines = [
        f"[-] {name} failed: {problem}" if problem else f"[+] {name} ok"
        for name, problem in results.items()
    ]
    verdict = "failed" if failed else "passed"
    return web.Response(status=status, text="\n".join([*lines, f"{what} check {verdict}\n"]))


def _outcome(name: str, check: Check) -> str | None:
    try:
        problem = check()
    except Exception as error:
        log.exception("check broke", check=name)
        problem = f"the check itself broke: {error}"
    return problem[:_LONGEST_REASON] if problem else None
