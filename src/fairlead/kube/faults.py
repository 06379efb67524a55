"""Faults of the connection, translated: an exception of aiohttp, ssl or the operating system in,
a `NoAnswer` out that says which of connect, timeout, TLS or garbage it was, whether the request
can have been sent, and what to do about it."""

from __future__ import annotations

import asyncio
import ssl

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from fairlead.errors import Reason
from fairlead.kube.errors import Asked, NoAnswer
from fairlead.kube.transport import AnswerTooLarge, Closed

NETWORK_FAULTS = (
    aiohttp.ClientError,
    HttpProcessingError,
    OSError,
    asyncio.TimeoutError,
    UnicodeError,  # a host name that the IDNA codec refuses
)
"""Everything an exchange over aiohttp raises for a reason outside this process."""

_EXPIRED, _NOT_YET_VALID = 10, 9
_UNKNOWN_AUTHORITY = frozenset({2, 18, 19, 20, 21, 24})
_WRONG_HOST = frozenset({62, 63, 64})


def no_answer(asked: Asked, fault: BaseException, *, sent: bool = True) -> NoAnswer:
    """The error for a failed exchange. The caller chains `fault` as its cause.

    `sent` is False if the request was still waiting for its turn or for credentials.
    """
    host = asked.host
    connecting = isinstance(fault, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
    tls = _tls_fault(fault)
    if tls is not None:
        problem, remedy = _tls_sentence(host, tls)
        return NoAnswer(Reason.TLS, asked.sentence(problem, remedy), sent=not connecting)
    if isinstance(fault, asyncio.TimeoutError):
        if not sent:
            problem = "not sent in time"
            remedy = "too many requests at once, or the credentials took too long to come"
        else:
            problem = "connecting took too long" if connecting else "no answer in time"
            remedy = "check the address, the network and firewalls in between"
        sent = sent and not connecting
        return NoAnswer(Reason.TIMEOUT, asked.sentence(problem, remedy), sent=sent)
    if isinstance(fault, aiohttp.ClientHttpProxyError):
        problem = f"the proxy refused to connect to {host} (HTTP {fault.status})"
        remedy = "check proxy-url and what the proxy allows"
        return NoAnswer(Reason.CONNECT, asked.sentence(problem, remedy), sent=False)
    if isinstance(fault, HttpProcessingError | aiohttp.ClientResponseError):
        problem = "the answer is not valid HTTP"
        remedy = "check the server URL; something other than an API server may listen there"
        return NoAnswer(Reason.BAD_ANSWER, asked.sentence(problem, remedy), sent=True)
    if isinstance(fault, aiohttp.InvalidURL | UnicodeError):
        problem, remedy = f"{host} is no usable address", "check the server URL"
        return NoAnswer(Reason.CONNECT, asked.sentence(problem, remedy), sent=False)
    if isinstance(fault, AnswerTooLarge):
        remedy = "ask for less at once, or raise max_answer"
        return NoAnswer(Reason.BAD_ANSWER, asked.sentence(f"too large: {fault}", remedy), sent=True)
    if isinstance(fault, Closed):
        return NoAnswer(Reason.CONNECT, asked.sentence(str(fault)), sent=False)
    if connecting:
        problem, remedy = _connect_sentence(host, fault)
        return NoAnswer(Reason.CONNECT, asked.sentence(problem, remedy), sent=False)
    problem = "the connection broke before the answer was complete"
    return NoAnswer(Reason.CONNECT, asked.sentence(problem, _cause(fault)), sent=True)


def _connect_sentence(host: str, fault: BaseException) -> tuple[str, str]:
    if isinstance(fault, aiohttp.ClientConnectorDNSError):
        return f"the name {host} cannot be resolved", "check the server's host name and DNS"
    if isinstance(fault, aiohttp.ClientProxyConnectionError):
        return "cannot connect to the proxy", "check proxy-url"
    refused = isinstance(getattr(fault, "os_error", None), ConnectionRefusedError)
    if refused:
        return (
            f"cannot connect to {host}: connection refused",
            "is the API server running, and is the port right?",
        )
    return f"cannot connect to {host}: {_cause(fault)}", "check the address and the network"


def _cause(fault: BaseException) -> str:
    inner = getattr(fault, "os_error", None) or fault
    return getattr(inner, "strerror", None) or str(inner) or type(inner).__name__


def _tls_fault(fault: BaseException) -> ssl.SSLError | None:
    """The TLS error behind a fault, if there is one; aiohttp hides it in various places."""
    link: BaseException | None = fault
    while link is not None:
        for candidate in (
            getattr(link, "certificate_error", None),
            getattr(link, "os_error", None),
            link,
        ):
            if isinstance(candidate, ssl.SSLError):
                return candidate
        link = link.__cause__
    return None


def _tls_sentence(host: str, fault: ssl.SSLError) -> tuple[str, str]:
    if isinstance(fault, ssl.SSLCertVerificationError):
        return _verification_sentence(host, fault)
    reason = fault.reason or str(fault)
    if reason in {"WRONG_VERSION_NUMBER", "UNKNOWN_PROTOCOL", "HTTP_REQUEST"}:
        return f"{host} does not speak TLS", "use an http:// URL or the API server's secure port"
    if "ALERT" in reason and ("CERTIFICATE" in reason or "UNKNOWN_CA" in reason):
        return (
            f"{host} refused our client certificate ({reason})",
            "renew the client certificate, or check that it is signed for this cluster",
        )
    return f"TLS with {host} failed ({reason})", "check that the URL is the API server's own"


def _verification_sentence(host: str, fault: ssl.SSLCertVerificationError) -> tuple[str, str]:
    code = fault.verify_code
    what = f"the certificate of {host}"
    if code in _WRONG_HOST:
        return (
            f"{what} is not for this name ({fault.verify_message})",
            "use a host name in the certificate, or set tls-server-name to one",
        )
    if code == _EXPIRED:
        return f"{what} has expired", "renew it on the server, or check this machine's clock"
    if code == _NOT_YET_VALID:
        return f"{what} is not valid yet", "check the clocks of the server and of this machine"
    if code in _UNKNOWN_AUTHORITY:
        remedy = (
            "set certificate-authority-data to this cluster's CA; "
            "if that is right, another cluster answers at this address"
        )
        return f"{what} is signed by an unknown authority ({fault.verify_message})", remedy
    return f"{what} cannot be verified ({fault.verify_message})", "check certificate and CA"
