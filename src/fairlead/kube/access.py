"""What is needed to talk to one cluster: where it is, how to trust it, what to present to it.
Owns the types that join credentials and client; knows nothing of files, plugins or HTTP."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from urllib.parse import SplitResult, urlsplit

from fairlead.errors import InvalidInput

_HOST_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_.])?")


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """How to recognise the server. `ca_pem` None means the system's authorities.

    `server_name` replaces the host of the URL in SNI and in the check of the certificate; it
    belongs to the connection, so the client hands it over there (`server_hostname`).
    """

    ca_pem: bytes | None = field(default=None, repr=False)
    server_name: str | None = None
    insecure: bool = False


@dataclass(frozen=True, slots=True)
class CertificatePair:
    """A client certificate (with its chain, if any) and its private key, both PEM."""

    cert_pem: bytes = field(repr=False)
    key_pem: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Presented:
    """What one request shows to the server: nothing at all is anonymous.

    `headers` are further headers of the identity (impersonation); a name may repeat.
    """

    authorization: str | None = field(default=None, repr=False)
    certificate: CertificatePair | None = field(default=None, repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)


class Credentials(Protocol):
    """A source of what to present; it alone knows when that must be fetched anew."""

    @property
    def refreshable(self) -> bool:
        """Could `current()` after `invalidate()` give something new?"""

    @property
    def expires_at(self) -> datetime | None:
        """When what is presented now stops being valid, as far as known without asking anybody.

        Never raises; timezone-aware, UTC.
        """

    async def current(self) -> Presented:
        """What to present now, refreshed if due; concurrent callers share one refresh.

        Raises `Unreachable` (unauthorized) if there is nothing to present.
        """

    def invalidate(self, presented: Presented) -> None:
        """The server refused `presented` (401): unless already replaced, fetch anew next time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Everything needed to talk to one cluster."""

    server: str
    tls: TlsSettings
    credentials: Credentials = field(repr=False)
    description: str
    proxy_url: str | None = field(default=None, repr=False)
    namespace: str | None = None


def checked_server(url: str) -> str:
    """The URL of an API server without trailing slash; `InvalidInput` has an empty place."""
    parts = _split(url, "server")
    example = "write it like https://host:6443"
    if parts.username is not None or parts.password is not None:
        raise InvalidInput("", "server holds a user or password", "put it into the user instead")
    if parts.scheme not in ("https", "http"):
        raise InvalidInput("", "server has no scheme https:// or http://", example)
    if parts.query or parts.fragment or "?" in url or "#" in url:
        raise InvalidInput("", "server has a query or a fragment", example)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def checked_proxy(url: str) -> str:
    """The URL of an HTTP proxy. It may hold a password, so no complaint repeats it."""
    parts = _split(url, "proxy-url")
    if parts.scheme in ("socks5", "socks5h", "socks4", "socks"):
        problem = "proxy-url names a SOCKS proxy, which is not supported"
        raise InvalidInput("", problem, "use an http:// or https:// proxy")
    if parts.scheme not in ("https", "http"):
        remedy = "write it like http://proxy:3128"
        raise InvalidInput("", "proxy-url has no scheme http:// or https://", remedy)
    return url


def _split(url: str, what: str) -> SplitResult:
    """Parts of a URL whose host and port are usable, whatever its scheme."""
    remedy = "write it like https://host:port"
    if any(ord(letter) <= 0x20 or ord(letter) >= 0x7F for letter in url):
        # urlsplit would silently drop line breaks and tabs.
        problem = f"{what} holds a space or a character that is not ASCII"
        raise InvalidInput("", problem, remedy)
    try:
        parts = urlsplit(url)
        usable = parts.port != 0 and _is_host(parts.hostname or "")
    except ValueError as error:
        raise InvalidInput("", f"{what} is not a valid URL", remedy) from error
    if "://" not in url:
        raise InvalidInput("", f"{what} has no scheme https:// or http://", remedy)
    if not usable:
        raise InvalidInput("", f"{what} has no valid host and port", remedy)
    return parts


def _is_host(host: str) -> bool:
    if ":" in host:
        try:
            ipaddress.IPv6Address(host)
        except ValueError:
            return False
        return True
    return _HOST_NAME.fullmatch(host) is not None and ".." not in host
