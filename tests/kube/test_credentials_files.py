from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.errors import InvalidInput, Reason, Unreachable
from fairlead.kube.access import Presented
from fairlead.kube.credentials import (
    REREAD_SECONDS,
    CredentialFiles,
    FileCredentials,
    StaticCredentials,
    basic,
    bearer,
    certificate_expiry,
    presented_expiry,
    token_expiry,
)
from tests.kube.pki import Identity, issue


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def jwt(**claims: object) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part(claims)}.c2ln"


async def test_a_rotated_token_is_read_again_after_a_while(tmp_path: Path) -> None:
    clock, file = Clock(), tmp_path / "token"
    file.write_text("first\n")
    credentials = FileCredentials(CredentialFiles(token=file), clock=clock)
    file.write_text("second\n")
    clock.seconds += REREAD_SECONDS - 0.1
    assert (await credentials.current()).authorization == "Bearer first"
    clock.seconds += 0.2
    assert (await credentials.current()).authorization == "Bearer second"


async def test_a_refused_token_is_read_again_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    credentials = FileCredentials(CredentialFiles(token=file), clock=Clock())
    refused = await credentials.current()
    file.write_text("second")
    credentials.invalidate(refused)
    assert credentials.refreshable
    assert (await credentials.current()).authorization == "Bearer second"


async def test_a_refusal_of_an_older_token_changes_nothing(tmp_path: Path) -> None:
    clock, file = Clock(), tmp_path / "token"
    file.write_text("first")
    credentials = FileCredentials(CredentialFiles(token=file), clock=clock)
    old = await credentials.current()
    file.write_text("second")
    clock.seconds += REREAD_SECONDS
    assert (await credentials.current()).authorization == "Bearer second"
    file.write_text("third")
    credentials.invalidate(old)
    assert (await credentials.current()).authorization == "Bearer second"


@pytest.mark.parametrize("broken", [None, "", "two words"])
async def test_a_token_file_broken_in_rotation_leaves_the_old_token_in_force(
    tmp_path: Path, broken: str | None
) -> None:
    clock, file = Clock(), tmp_path / "token"
    file.write_text("first")
    credentials = FileCredentials(CredentialFiles(token=file), clock=clock)
    file.unlink() if broken is None else file.write_text(broken)
    clock.seconds += REREAD_SECONDS
    presented = await credentials.current()
    assert presented.authorization == "Bearer first"
    credentials.invalidate(presented)
    with pytest.raises(Unreachable, match=str(file)) as caught:
        await credentials.current()
    assert caught.value.reason is Reason.UNAUTHORIZED
    file.write_text("second")
    assert (await credentials.current()).authorization == "Bearer second"


async def test_the_file_wins_over_the_fixed_token_once_it_was_readable(tmp_path: Path) -> None:
    clock, file = Clock(), tmp_path / "token"
    fixed = Presented(bearer("fixed"))
    credentials = FileCredentials(CredentialFiles(token=file), fixed, clock=clock)
    assert (await credentials.current()).authorization == "Bearer fixed"
    file.write_text("from-file")
    clock.seconds += REREAD_SECONDS
    assert (await credentials.current()).authorization == "Bearer from-file"
    file.unlink()
    clock.seconds += REREAD_SECONDS
    assert (await credentials.current()).authorization == "Bearer from-file"


def test_a_token_file_missing_from_the_start_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=str(tmp_path / "token")):
        FileCredentials(CredentialFiles(token=tmp_path / "token"))


def write_pair(folder: Path, certificate: Identity, key: Identity | None = None) -> CredentialFiles:
    files = CredentialFiles(certificate=folder / "tls.crt", key=folder / "tls.key")
    (folder / "tls.crt").write_bytes(certificate.cert_pem)
    (folder / "tls.key").write_bytes((key or certificate).key_pem)
    return files


async def test_a_rotated_client_certificate_is_read_again(tmp_path: Path) -> None:
    clock, first, second = Clock(), issue("first"), issue("second")
    credentials = FileCredentials(write_pair(tmp_path, first), clock=clock)
    assert (await credentials.current()).certificate == first.pair
    write_pair(tmp_path, second)
    clock.seconds += REREAD_SECONDS
    assert (await credentials.current()).certificate == second.pair
    assert credentials.expires_at == second.certificate.not_valid_after_utc


async def test_a_half_rotated_client_certificate_leaves_the_old_one_in_force(
    tmp_path: Path,
) -> None:
    clock, first, second = Clock(), issue("first"), issue("second")
    credentials = FileCredentials(write_pair(tmp_path, first), clock=clock)
    write_pair(tmp_path, second, key=first)
    clock.seconds += REREAD_SECONDS
    assert (await credentials.current()).certificate == first.pair


async def test_static_credentials_offer_nothing_new() -> None:
    credentials = StaticCredentials(Presented(bearer("token")))
    presented = await credentials.current()
    credentials.invalidate(presented)
    assert not credentials.refreshable
    assert await credentials.current() == presented
    assert await StaticCredentials().current() == Presented()


@pytest.mark.parametrize("token", ["", " \n", "two words", "line\nbreak", "tökén", "nul\x00"])
def test_a_token_that_cannot_be_a_header_is_refused_without_showing_it(token: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        bearer(token)
    assert not token.strip() or token not in str(caught.value)


def test_a_password_is_encoded_and_a_colon_in_the_name_refused() -> None:
    assert basic("ädmin", "pässword") == "Basic w6RkbWluOnDDpHNzd29yZA=="
    with pytest.raises(InvalidInput, match="colon"):
        basic("a:b", "password")


def test_the_earliest_end_counts() -> None:
    moment = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    certificate = issue("client", valid_for=timedelta(days=5))
    token = bearer(jwt(exp=moment.timestamp()))
    assert presented_expiry(Presented(token)) == moment
    soon = certificate.certificate.not_valid_after_utc
    assert presented_expiry(Presented(None, certificate.pair)) == soon
    assert presented_expiry(Presented(token, certificate.pair)) == min(moment, soon)
    assert StaticCredentials(Presented(token)).expires_at == moment
    assert presented_expiry(Presented()) is None


@pytest.mark.parametrize(
    "token",
    [
        "opaque",
        "a.b.c",
        "..",
        jwt(),
        jwt(exp="soon"),
        jwt(exp=None),
        jwt(exp=1e300),
        jwt(exp=-1e18),
        jwt(exp=True),
        "ä.ö.ü",
    ],
)
def test_a_token_without_a_readable_end_has_none(token: str) -> None:
    assert token_expiry(token) is None


@given(st.text())
def test_the_end_of_any_text_or_bytes_is_found_or_not_but_never_raises(text: str) -> None:
    assert token_expiry(text) is None or "." in text
    assert token_expiry(f"a.{text}.c") is None or text
    assert certificate_expiry(text.encode()) is None


def test_nothing_secret_shows_in_a_repr(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cr3t-token")
    credentials = FileCredentials(CredentialFiles(token=tmp_path / "token"))
    presented = Presented(bearer("s3cr3t-token"), headers=(("Impersonate-User", "s3cr3t-token"),))
    for thing in (presented, credentials, StaticCredentials(presented)):
        assert "s3cr3t" not in repr(thing) + str(thing)
