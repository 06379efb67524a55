from __future__ import annotations

import asyncio
import io
import json
import os
import pty
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import uvloop

from fairlead.errors import Reason, Unreachable
from fairlead.kube.access import Presented
from fairlead.kube.credentials import StaticCredentials
from fairlead.kube.exec_plugin import (
    API_VERSIONS,
    MIN_REUSE_SECONDS,
    ExecCredentials,
    ExecPlugin,
    InteractiveMode,
    fetch,
)
from fairlead.kube.exec_process import MAX_OUTPUT
from tests.kube.pki import issue

V1, V1BETA1 = API_VERSIONS
CLIENT = issue("client")


class Time:
    """Both clocks of the credentials, moved by hand."""

    def __init__(self) -> None:
        self.passed = 1000.0
        self._start = datetime(2030, 1, 1, tzinfo=UTC) - timedelta(seconds=1000)

    def clock(self) -> float:
        return self.passed

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self.passed)

    def stamp(self, seconds: float) -> str:
        return (self.now() + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


class Script:
    """A real program in a folder of its own, which notes its runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "plugin.py"
        self.body("sys.exit('nothing to say')")

    def body(self, code: str) -> None:
        head = (
            "import json, os, sys, time\nopen(os.path.join(sys.path[0], 'runs'), 'a').write('x')\n"
        )
        # At once or not at all: it may be started while it is being rewritten.
        draft = self.folder / "draft"
        draft.write_text(head + code)
        draft.replace(self.path)

    def prints(self, version: str = V1, **status: Any) -> None:
        answer = {"apiVersion": version, "kind": "ExecCredential", "status": status}
        self.body(f"print({json.dumps(answer)!r})")

    @property
    def runs(self) -> int:
        runs = self.folder / "runs"
        return len(runs.read_text()) if runs.exists() else 0

    def plugin(self, *args: str, **options: Any) -> ExecPlugin:
        options = {"interactive_mode": InteractiveMode.NEVER, "api_version": V1} | options
        return ExecPlugin(
            sys.executable, origin="config:7", args=(str(self.path), *args), **options
        )

    def credentials(self, time: Time | None = None, **options: Any) -> ExecCredentials:
        time = time or Time()
        base = options.pop("base", None) or StaticCredentials()
        return ExecCredentials(self.plugin(**options), base, now=time.now, clock=time.clock)


@pytest.fixture
def script(tmp_path: Path) -> Script:
    return Script(tmp_path)


@pytest.mark.parametrize("version", API_VERSIONS)
async def test_a_token_is_presented_in_both_versions(script: Script, version: str) -> None:
    script.prints(version, token="t0ken")
    credentials = script.credentials(api_version=version)
    assert (await credentials.current()).authorization == "Bearer t0ken"
    assert (await credentials.current()).authorization == "Bearer t0ken"
    assert script.runs == 1


async def test_a_client_certificate_is_presented_with_or_without_token(script: Script) -> None:
    pems = {
        "clientCertificateData": CLIENT.cert_pem.decode(),
        "clientKeyData": CLIENT.key_pem.decode(),
    }
    script.prints(**pems)
    credentials = script.credentials()
    assert await credentials.current() == Presented(None, CLIENT.pair)
    assert credentials.expires_at == CLIENT.certificate.not_valid_after_utc
    script.prints(token="t0ken", **pems)
    assert await script.credentials().current() == Presented("Bearer t0ken", CLIENT.pair)


async def test_what_the_program_does_not_give_comes_from_the_user_stanza(script: Script) -> None:
    script.prints(token="t0ken")
    headers = (("Impersonate-User", "jane"),)
    base = StaticCredentials(Presented(None, CLIENT.pair, headers))
    presented = await script.credentials(base=base).current()
    assert presented == Presented("Bearer t0ken", CLIENT.pair, headers)


async def test_the_program_runs_again_shortly_before_the_expiry(script: Script) -> None:
    time = Time()
    script.prints(token="first", expirationTimestamp=time.stamp(600))
    credentials = script.credentials(time)
    await credentials.current()
    assert credentials.expires_at == time.now() + timedelta(seconds=600)
    script.prints(token="second", expirationTimestamp=time.stamp(1200))
    time.passed += 560
    assert (await credentials.current()).authorization == "Bearer first"
    time.passed += 20
    assert (await credentials.current()).authorization == "Bearer second"
    assert script.runs == 2


async def test_a_client_certificate_is_replaced_before_it_expires(script: Script) -> None:
    script.prints(
        clientCertificateData=CLIENT.cert_pem.decode(), clientKeyData=CLIENT.key_pem.decode()
    )
    time = Time()
    left = timedelta(seconds=600)
    credentials = ExecCredentials(
        script.plugin(),
        StaticCredentials(),
        now=lambda: CLIENT.certificate.not_valid_after_utc - left,
        clock=time.clock,
    )
    await credentials.current()
    time.passed += 590
    await credentials.current()
    assert script.runs == 1
    left = timedelta(seconds=10)
    await credentials.current()
    assert script.runs == 2


async def test_answers_that_are_always_expired_do_not_start_the_program_for_every_request(
    script: Script,
) -> None:
    time = Time()
    script.prints(token="t0ken", expirationTimestamp=time.stamp(-60))
    credentials = script.credentials(time)
    for _ in range(5):
        assert (await credentials.current()).authorization == "Bearer t0ken"
    assert script.runs == 1
    time.passed += MIN_REUSE_SECONDS
    await credentials.current()
    assert script.runs == 2


async def test_a_refused_credential_is_fetched_anew_once(script: Script) -> None:
    script.prints(token="first")
    credentials = script.credentials()
    refused = await credentials.current()
    script.prints(token="second")
    for _ in range(3):
        credentials.invalidate(refused)
    assert (await credentials.current()).authorization == "Bearer second"
    credentials.invalidate(refused)
    assert (await credentials.current()).authorization == "Bearer second"
    assert script.runs == 2


async def test_many_callers_share_one_run(script: Script) -> None:
    script.prints(token="t0ken")
    credentials = script.credentials()
    presented = await asyncio.gather(*(credentials.current() for _ in range(50)))
    assert {p.authorization for p in presented} == {"Bearer t0ken"}
    assert script.runs == 1


async def test_many_callers_share_one_failure_and_the_next_caller_tries_again(
    script: Script,
) -> None:
    credentials = script.credentials()
    results = await asyncio.gather(
        *(credentials.current() for _ in range(20)), return_exceptions=True
    )
    assert all(isinstance(result, Unreachable) for result in results)
    assert script.runs == 1
    script.prints(token="t0ken")
    assert (await credentials.current()).authorization == "Bearer t0ken"


async def test_a_caller_that_gives_up_does_not_take_the_refresh_from_the_others(
    script: Script,
) -> None:
    release = script.folder / "release"
    answer = {"apiVersion": V1, "kind": "ExecCredential", "status": {"token": "t0ken"}}
    script.body(
        f"while not os.path.exists({str(release)!r}): time.sleep(0.01)\n"
        f"print({json.dumps(answer)!r})"
    )
    credentials = script.credentials()
    impatient, patient = (asyncio.create_task(credentials.current()) for _ in range(2))
    await until(lambda: script.runs == 1)
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    release.touch()
    assert (await patient).authorization == "Bearer t0ken"
    assert script.runs == 1


async def test_when_every_caller_gave_up_the_program_is_ended(script: Script) -> None:
    pid_file = script.folder / "pid"
    script.body(f"open({str(pid_file)!r}, 'w').write(f'{{os.getpid()}}\\n')\ntime.sleep(50)")
    credentials = script.credentials()
    caller = asyncio.create_task(credentials.current())
    await until(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"))
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await until(lambda: not alive(int(pid_file.read_text())))
    script.prints(token="t0ken")
    assert (await credentials.current()).authorization == "Bearer t0ken"


async def test_a_failure_ahead_of_the_expiry_keeps_the_valid_credential_in_use(
    script: Script,
) -> None:
    time = Time()
    script.prints(token="first", expirationTimestamp=time.stamp(600))
    credentials = script.credentials(time)
    await credentials.current()
    script.body("sys.exit('offline')")
    time.passed += 580
    assert (await credentials.current()).authorization == "Bearer first"
    time.passed += 21
    with pytest.raises(Unreachable, match="offline"):
        await credentials.current()


async def test_the_program_gets_arguments_environment_and_cluster(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INHERITED", "yes")
    seen = script.folder / "seen"
    script.body(
        f"json.dump([sys.argv[1:], dict(os.environ), sys.stdin.read()], open({str(seen)!r}, 'w'))\n"
        "sys.exit(1)"
    )
    cluster = {"server": "https://host:6443", "config": {"audience": "fleet"}}
    plugin = script.plugin("get-token", env=(("REGION", "eu"),), cluster=cluster)
    with pytest.raises(Unreachable):
        await fetch(plugin)
    args, env, stdin = json.loads(seen.read_text())
    assert args == ["get-token"]
    assert (env["REGION"], env["INHERITED"], stdin) == ("eu", "yes", "")
    assert json.loads(env["KUBERNETES_EXEC_INFO"]) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": cluster},
    }


STATUS_ONLY_CERTIFICATE = {"clientCertificateData": CLIENT.cert_pem.decode()}
FOREIGN_KEY = STATUS_ONLY_CERTIFICATE | {"clientKeyData": issue("other").key_pem.decode()}


@pytest.mark.parametrize(
    "answer, complaint",
    [
        ("s3cr3t, not JSON", "did not print an ExecCredential as JSON"),
        ("", "did not print an ExecCredential as JSON"),
        ("[]", "did not print an ExecCredential as JSON"),
        ({"status": {"token": "s3cr3t"}}, "did not print an object of kind ExecCredential"),
        ({"kind": "ExecCredential", "apiVersion": V1BETA1}, "did not answer in version v1;"),
        ({"status": {"token": 5}}, "did not print an ExecCredential as JSON"),
        ({}, "neither a token nor a client certificate"),
        ({"token": ""}, "neither a token nor a client certificate"),
        ({"token": "s3cr3t s3cr3t"}, "gave something unusable: the token holds a space"),
        ({"token": "s3cr3t", "expirationTimestamp": "s3cr3t"}, "as JSON"),
        ({"token": "s3cr3t", "expirationTimestamp": "2030-01-01T00:00:00"}, "as JSON"),
        ({"token": "s3cr3t", "expirationTimestamp": "9999-12-31T23:59:59-10:00"}, "as JSON"),
        (STATUS_ONLY_CERTIFICATE, "without key or the reverse"),
        (FOREIGN_KEY, "does not belong to the client certificate"),
    ],
)
async def test_a_bad_answer_is_explained_without_showing_it(
    script: Script, answer: Any, complaint: str
) -> None:
    if isinstance(answer, str):
        script.body(f"print({answer!r})")
    elif {"kind", "status"} & answer.keys():
        script.body(f"print({json.dumps(answer)!r})")
    else:
        script.prints(**answer)
    with pytest.raises(Unreachable, match=complaint) as caught:
        await fetch(script.plugin())
    assert caught.value.reason is Reason.UNAUTHORIZED
    assert str(caught.value).startswith("config:7: the exec plugin")
    assert_hidden(caught.value, "s3cr3t", "PRIVATE KEY")


async def test_a_failure_shows_standard_error_in_one_line_and_no_secret(script: Script) -> None:
    token = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEyMyJ9.eyJzdWIiOiJqYW5lIn0.c2lnbmF0dXJl"
    script.body(
        f"print('s3cr3t-output')\nsys.stderr.write('login\\x1b[31m failed\\n for {token}'\n"
        "  f\" with {os.environ['API_KEY']} and {sys.argv[2]} and {sys.argv[3]}\")\nsys.exit(7)"
    )
    plugin = script.plugin(
        "--client-secret", "s3cr3t-arg", "--id-token=s3cr3t-flag", env=(("API_KEY", "s3cr3t-env"),)
    )
    with pytest.raises(Unreachable) as caught:
        await fetch(plugin)
    message = str(caught.value)
    assert "failed with exit code 7: login [31m failed for (hidden) with (hidden)" in message
    assert "\n" not in message
    assert_hidden(caught.value, "s3cr3t", "eyJ")
    assert "s3cr3t" not in repr(plugin)


async def test_a_program_that_is_not_there_is_answered_with_the_install_hint() -> None:
    hint = "Install it:\n  brew install corp-login"
    plugin = ExecPlugin("no-such-program", V1, "config:7", install_hint=hint)
    with pytest.raises(Unreachable, match=r"found; Install it: brew install corp-login$"):
        await fetch(plugin)
    with pytest.raises(Unreachable, match=r"found; install it or correct `command`$"):
        await fetch(ExecPlugin("no-such-program", V1, "config:7"))


async def test_a_program_that_cannot_be_started_is_explained(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF not really")
    program.chmod(0o700)
    with pytest.raises(Unreachable, match="cannot be started"):
        await fetch(ExecPlugin(str(program), V1, "config:7"))


async def test_a_program_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    await hang(tmp_path / "pids")


def test_a_program_that_hangs_is_ended_under_uvloop_too(tmp_path: Path) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(hang(tmp_path / "pids"))


async def hang(pids: Path) -> None:
    # A shell, since it is up long before the time is.
    code = f"sleep 50 & echo $$ $! > {pids}; wait"
    plugin = ExecPlugin("sh", V1, "config:7", args=("-c", code))
    with pytest.raises(Unreachable, match="did not finish within 2 s"):
        await fetch(plugin, timeout=2)
    await until(lambda: not any(map(alive, map(int, pids.read_text().split()))))


def test_a_token_is_fetched_under_uvloop_too(script: Script) -> None:
    script.prints(token="t0ken")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(fetch(script.plugin())).authorization == "Bearer t0ken"


async def test_a_child_left_in_the_background_does_not_hold_the_answer_back(
    script: Script,
) -> None:
    pid_file = script.folder / "pid"
    answer = {"apiVersion": V1, "kind": "ExecCredential", "status": {"token": "t0ken"}}
    script.body(
        f"print({json.dumps(answer)!r}, flush=True)\n"
        "if child := os.fork():\n"
        f"  open({str(pid_file)!r}, 'w').write(str(child))\n"
        "else:\n  time.sleep(50)"
    )
    try:
        assert (await fetch(script.plugin(), timeout=20)).authorization == "Bearer t0ken"
    finally:
        os.kill(int(pid_file.read_text()), 9)


async def test_endless_output_is_cut_off(script: Script) -> None:
    script.body(f"while True: print('x' * {MAX_OUTPUT})")
    with pytest.raises(Unreachable, match="far more than a credential"):
        await fetch(script.plugin(), timeout=30)


async def test_endless_complaints_are_bounded(script: Script) -> None:
    script.body(f"sys.stderr.write('no ' * {MAX_OUTPUT})\nsys.exit(1)")
    with pytest.raises(Unreachable) as caught:
        await fetch(script.plugin(), timeout=30)
    assert len(str(caught.value)) < 1000


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A terminal as our standard input."""
    controller, inner = pty.openpty()
    saved = os.dup(0)
    os.dup2(inner, 0)
    with open(0, closefd=False) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield
    os.dup2(saved, 0)
    for descriptor in (saved, controller, inner):
        os.close(descriptor)


REPORT = (
    "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
    "sys.exit(f\"interactive {info['spec']['interactive']}, terminal {os.isatty(0)}\")"
)


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    "mode, outcome",
    [
        (InteractiveMode.NEVER, "interactive False, terminal False"),
        (InteractiveMode.IF_AVAILABLE, "interactive True, terminal True"),
        (InteractiveMode.ALWAYS, "interactive True, terminal True"),
    ],
)
async def test_with_a_terminal_the_mode_decides(
    script: Script, mode: InteractiveMode, outcome: str, capsys: pytest.CaptureFixture[str]
) -> None:
    script.body(REPORT)
    with pytest.raises(Unreachable, match=outcome):
        await fetch(script.plugin(interactive_mode=mode))
    assert (outcome in capsys.readouterr().err) is (mode is not InteractiveMode.NEVER)


@pytest.mark.parametrize("stdin", [io.StringIO(), None])
async def test_without_a_terminal_nothing_is_interactive(
    script: Script, monkeypatch: pytest.MonkeyPatch, stdin: io.StringIO | None
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    script.body(REPORT)
    with pytest.raises(Unreachable, match="interactive False, terminal False"):
        await fetch(script.plugin(interactive_mode=InteractiveMode.IF_AVAILABLE))
    with pytest.raises(Unreachable, match="needs a terminal and there is none"):
        await fetch(script.plugin(interactive_mode=InteractiveMode.ALWAYS))
    assert script.runs == 1


async def test_nothing_secret_shows_in_a_repr(script: Script) -> None:
    script.prints(token="s3cr3t")
    credentials = script.credentials()
    await credentials.current()
    fetched = await fetch(script.plugin())
    for thing in (credentials, fetched, await credentials.current()):
        assert "s3cr3t" not in repr(thing)


def assert_hidden(error: BaseException, *secrets: str) -> None:
    """Not in the error and in nothing that led to it."""
    link: BaseException | None = error
    while link is not None:
        assert not any(secret in f"{link!r} {link}" for secret in secrets)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def until(condition: Callable[[], bool]) -> None:
    """Polls: what other processes do raises no event here."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
