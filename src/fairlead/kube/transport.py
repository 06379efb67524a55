"""Connections to one API server: one aiohttp session for each client certificate, the headers
that present the credentials, bounded reading of answers, and rotation that lets requests in
flight finish on the connections they began on. Raises what aiohttp raises; knows nothing of what
answers mean."""

from __future__ import annotations

import asyncio
import io
import socket
from typing import Any

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from fairlead.errors import InvalidInput, Reason, Unreachable
from fairlead.kube.access import Access, CertificatePair, Presented
from fairlead.kube.call import Answer, Call
from fairlead.kube.tls import ssl_context

PARALLEL_REQUESTS = 64
"""Requests in flight to one server, watches not counted; more wait their turn."""
_CONNECT_SECONDS = 10.0
_LARGE_BODY = 1 << 20


class AnswerTooLarge(aiohttp.ClientPayloadError):
    """The answer is larger than this client is willing to hold."""


class Closed(aiohttp.ClientConnectionError):
    """The client was closed; there is nothing to ask with any more."""


_CONNECT_ONLY = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS)


def stream_limits(total: float, idle: float | None) -> aiohttp.ClientTimeout:
    """Time limits of a stream: in all, and without a single byte."""
    return aiohttp.ClientTimeout(total=total, sock_connect=_CONNECT_SECONDS, sock_read=idle)


class _Session:
    """The connections that present one client certificate; closed when retired and unused."""

    def __init__(self, http: aiohttp.ClientSession, certificate: CertificatePair | None) -> None:
        self.http = http
        self.certificate = certificate
        self._users = 0
        self._retired = False

    def enter(self) -> None:
        self._users += 1

    async def leave(self) -> None:
        self._users -= 1
        if self._retired and self._users == 0:
            await self.http.close()

    async def retire(self) -> None:
        self._retired = True
        if self._users == 0:
            await self.http.close()


class _Link:
    """A session together with what is presented on it; headers are built once and reused."""

    def __init__(self, session: _Session, presented: Presented) -> None:
        self.session = session
        self.presented = presented
        self._headers: dict[tuple[str, str | None], CIMultiDict[str]] = {}

    def headers(self, call: Call) -> CIMultiDict[str]:
        key = (call.accept, call.content_type)
        headers = self._headers.get(key)
        if headers is None:
            headers = CIMultiDict(self.presented.headers)
            headers["Accept"] = call.accept
            if call.content_type is not None:
                headers["Content-Type"] = call.content_type
            if self.presented.authorization is not None:
                headers["Authorization"] = self.presented.authorization
            self._headers[key] = headers
        return headers


class Stream:
    """An answer whose body is still coming. `close()` drops the connection."""

    def __init__(self, response: aiohttp.ClientResponse, session: _Session) -> None:
        self.code = response.status
        self.headers = response.headers
        self._response = response
        self._session: _Session | None = session

    async def read_some(self) -> bytes:
        """The next bytes as they come, b"" at the end of a complete body."""
        return await self._response.content.readany()

    async def read_all(self, bound: int) -> bytes:
        return await _read_bounded(self._response, bound)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            self._response.close()
            await session.leave()


class Transport:
    """Sends calls to one API server with its current credentials."""

    def __init__(self, access: Access, *, user_agent: str, max_answer: int) -> None:
        self._access = access
        self._user_agent = user_agent
        self._max_answer = max_answer
        self._proxy, self._proxy_headers = _proxy(access.proxy_url)
        self._slots = asyncio.Semaphore(PARALLEL_REQUESTS)
        self._renewal = asyncio.Lock()
        self._link: _Link | None = None
        self._sessions: list[_Session] = []
        self._closed = False
        self._options: dict[str, Any] = {"allow_redirects": False}
        if access.tls.server_name is not None:
            self._options["server_hostname"] = access.tls.server_name
        if self._proxy is not None:
            self._options.update(proxy=self._proxy, proxy_headers=self._proxy_headers)

    async def exchange(self, call: Call) -> Answer:
        """One request and its complete answer, of any code. The caller limits its time."""
        async with self._slots:
            link = await self._current()
            link.session.enter()
            try:
                response = await self._send(link, call, _CONNECT_ONLY)
                async with response:
                    body = await _read_bounded(response, self._max_answer)
                    return Answer(response.status, response.headers, body)
            finally:
                await link.session.leave()

    async def stream(self, call: Call, timeout: aiohttp.ClientTimeout) -> Stream:
        """One request whose answer is read piece by piece; the caller closes it."""
        link = await self._current()
        link.session.enter()
        try:
            response = await self._send(link, call, timeout)
        except BaseException:
            await link.session.leave()
            raise
        return Stream(response, link.session)

    def refresh_after_401(self, call: Call) -> bool:
        """Will the next request present something fresher than this refused one did?"""
        credentials = self._access.credentials
        if call.presented is None or not credentials.refreshable:
            return False
        credentials.invalidate(call.presented)
        return True

    async def close(self) -> None:
        """Drop all connections, also those in use."""
        self._closed = True
        self._link = None
        for session in self._sessions:
            await session.http.close()

    async def _send(
        self, link: _Link, call: Call, timeout: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        body = call.body
        call.presented, call.sent = link.presented, True
        return await link.session.http.request(
            call.method,
            URL(self._access.server + call.target, encoded=True),
            headers=link.headers(call),
            data=body if body is None or len(body) < _LARGE_BODY else io.BytesIO(body),
            timeout=timeout,
            middlewares=_ONCE if call.method in {"PUT", "DELETE"} else None,
            **self._options,
        )

    async def _current(self) -> _Link:
        if self._closed:
            raise Closed("this client has been closed")
        presented = await self._access.credentials.current()
        link = self._link
        if link is not None and (link.presented is presented or link.presented == presented):
            return link
        async with self._renewal:
            return await self._adopt(presented)

    async def _adopt(self, presented: Presented) -> _Link:
        """Present something new from now on; a new certificate needs new connections."""
        before = self._link
        if before is not None and before.session.certificate == presented.certificate:
            link = before if before.presented == presented else _Link(before.session, presented)
        else:
            link = _Link(await self._connect(presented.certificate), presented)
        self._link = link
        if before is not None and before.session is not link.session:
            await before.session.retire()
        return link

    async def _connect(self, certificate: CertificatePair | None) -> _Session:
        tls: Any = True
        if self._access.server.startswith("https:"):
            try:
                # Off the loop: OpenSSL parses keys and the system's whole bundle of authorities.
                tls = await asyncio.to_thread(ssl_context, self._access.tls, certificate)
            except InvalidInput as error:
                raise Unreachable(Reason.TLS, f"{self._access.description}: {error}") from error
        if self._closed:
            raise Closed("this client was closed meanwhile")
        connector = aiohttp.TCPConnector(limit=0, ssl=tls, socket_factory=_socket_with_keepalive)
        http = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": self._user_agent, "Accept-Encoding": "gzip"},
        )
        session = _Session(http, certificate)
        self._sessions = [other for other in self._sessions if not other.http.closed] + [session]
        return session


async def _read_bounded(response: aiohttp.ClientResponse, bound: int) -> bytes:
    length = response.content_length
    if length is not None and length > bound:
        raise AnswerTooLarge(f"{length} bytes announced, {bound} allowed")
    if length is not None and "Content-Encoding" not in response.headers:
        return await response.read()
    # aiohttp inflates piece by piece, so a compressed bomb is noticed while still small.
    pieces: list[bytes] = []
    size = 0
    async for piece in response.content.iter_any():
        size += len(piece)
        if size > bound:
            raise AnswerTooLarge(f"more than the allowed {bound} bytes")
        pieces.append(piece)
    return b"".join(pieces)


async def _send_once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """aiohttp repeats a PUT or DELETE whose connection broke, though it may have been executed;
    it does not repeat an error that it does not recognise."""
    try:
        return await handler(request)
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as fault:
        raise aiohttp.ClientConnectionError(str(fault)) from fault


_ONCE: tuple[aiohttp.ClientMiddlewareType, ...] = (_send_once,)


def _proxy(url: str | None) -> tuple[URL | None, dict[str, str]]:
    """The proxy without its password, which aiohttp's errors would show, and the header that
    aiohttp turns into Proxy-Authorization."""
    if url is None:
        return None, {}
    proxy = URL(url)
    if proxy.user is None:
        return proxy, {}
    header = aiohttp.encode_basic_auth(proxy.user, proxy.password or "")
    return proxy.with_user(None), {"Authorization": header}


def _socket_with_keepalive(address: aiohttp.AddrInfoType) -> socket.socket:
    """A peer that vanished without a word is noticed by the kernel within about a minute."""
    family, kind, protocol, _, _ = address
    sock = socket.socket(family, kind, protocol)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return sock
