"""Credentials that are fixed or stand in files, and when any credential expires. Owns re-reading
of rotated files; knows nothing of kubeconfigs, plugins or HTTP."""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from cryptography import x509

from fairlead.errors import InvalidInput, Reason, Unreachable
from fairlead.kube.access import CertificatePair, Presented
from fairlead.kube.tls import check_certificate

REREAD_SECONDS = 10.0
MAX_FILE_BYTES = 4 * 1024 * 1024


def bearer(token: str) -> str:
    """The Authorization header of a token; `InvalidInput` (empty place) if it cannot be one."""
    token = token.strip()
    if not token:
        raise InvalidInput("", "the token is empty", "put the token there")
    if any(not 0x21 <= ord(letter) <= 0x7E for letter in token):
        problem = "the token holds a space, a line break or a character that is not ASCII"
        raise InvalidInput("", problem, "copy the token again, as one word")
    return f"Bearer {token}"


def basic(username: str, password: str) -> str:
    """The Authorization header of a user and a password."""
    if ":" in username:
        raise InvalidInput("", "a username cannot hold a colon", "correct the username")
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode("ascii")


class StaticCredentials:
    """The same thing for ever, until whoever made it makes another."""

    refreshable = False

    def __init__(self, presented: Presented | None = None) -> None:
        self._presented = presented or Presented()

    @property
    def expires_at(self) -> datetime | None:
        return presented_expiry(self._presented)

    async def current(self) -> Presented:
        return self._presented

    def invalidate(self, presented: Presented) -> None:
        """Nothing else to offer."""


@dataclass(frozen=True, slots=True)
class CredentialFiles:
    """Files that somebody else keeps fresh."""

    token: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


class FileCredentials:
    """Credentials in files, read again when they may have changed.

    A file that is missing or half written during a rotation leaves what was read before in
    force, until the server refuses that. What `fixed` holds is used where no file says otherwise.
    Raises `InvalidInput` with an empty place if the files are unusable from the start.
    """

    refreshable = True

    def __init__(
        self,
        files: CredentialFiles,
        fixed: Presented | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._files = files
        self._fixed = fixed or Presented()
        self._clock = clock
        self._refused = False
        self._token_was_read = False
        self._last = self._read()
        self._read_at = clock()

    @property
    def expires_at(self) -> datetime | None:
        return presented_expiry(self._last)

    async def current(self) -> Presented:
        if not self._refused and self._clock() - self._read_at < REREAD_SECONDS:
            return self._last
        # Small local files: reading them in the event loop is cheaper than a thread.
        try:
            self._last = self._read()
        except InvalidInput as error:
            if self._refused:
                raise Unreachable(Reason.UNAUTHORIZED, str(error)) from error
        else:
            self._refused = False
        self._read_at = self._clock()
        return self._last

    def invalidate(self, presented: Presented) -> None:
        if presented == self._last:
            self._refused = True

    def _read(self) -> Presented:
        return replace(
            self._fixed,
            authorization=self._authorization(),
            certificate=self._certificate(),
        )

    def _authorization(self) -> str | None:
        if self._files.token is None:
            return self._fixed.authorization
        try:
            header = bearer(read_file(self._files.token, "token").decode("ascii", "replace"))
        except InvalidInput as error:
            if self._fixed.authorization is not None and not self._token_was_read:
                return self._fixed.authorization
            place = error.place or str(self._files.token)
            raise InvalidInput(place, error.problem, error.remedy) from error
        self._token_was_read = True
        return header

    def _certificate(self) -> CertificatePair | None:
        if self._files.certificate is None or self._files.key is None:
            return self._fixed.certificate
        pair = CertificatePair(
            read_file(self._files.certificate, "client certificate"),
            read_file(self._files.key, "client key"),
        )
        try:
            check_certificate(pair)
        except InvalidInput as error:
            place = f"{self._files.certificate} and {self._files.key}"
            raise InvalidInput(place, error.problem, error.remedy) from error
        return pair


def read_file(path: Path, what: str) -> bytes:
    """The content of a credential file; `InvalidInput` names the file."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable path"
        problem = f"the {what} cannot be read ({reason})"
        remedy = "check that the file exists and is readable"
        raise InvalidInput(str(path), problem, remedy) from error
    if len(content) > MAX_FILE_BYTES:
        problem = f"the {what} is larger than {MAX_FILE_BYTES // 1024**2} MiB"
        raise InvalidInput(str(path), problem, "name the right file")
    return content


def presented_expiry(presented: Presented) -> datetime | None:
    """The earliest end of whatever is presented, as it says itself."""
    token = (presented.authorization or "").removeprefix("Bearer ")
    pair = presented.certificate
    return earliest((token_expiry(token), certificate_expiry(pair.cert_pem) if pair else None))


def earliest(moments: Iterable[datetime | None]) -> datetime | None:
    return min((moment for moment in moments if moment is not None), default=None)


def certificate_expiry(cert_pem: bytes) -> datetime | None:
    """notAfter of the first certificate, which is the one presented."""
    try:
        return x509.load_pem_x509_certificate(cert_pem).not_valid_after_utc
    except ValueError:
        return None


class _Claims(msgspec.Struct):
    exp: float | None = None


def token_expiry(token: str) -> datetime | None:
    """`exp` of a JWT, read without verification: only the server can verify it."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        payload = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        exp = msgspec.json.decode(payload, type=_Claims).exp
        return None if exp is None else datetime.fromtimestamp(exp, UTC)
    except (binascii.Error, msgspec.MsgspecError, ValueError, OverflowError, OSError):
        return None
