"""The HTTP face of a simulated cluster: authentication, authorization, faults, the documents that
are not resources, and answers that never contain a traceback. What resources do is decided
elsewhere."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import yaml
from aiohttp import web
from multidict import CIMultiDict

from fairlead_sim import answers
from fairlead_sim.authorization import ANONYMOUS, Tokens, User, authenticated, certificate_user
from fairlead_sim.controlplane import ControlPlane
from fairlead_sim.faults import Faults
from fairlead_sim.objects.watch import EventRenderer, Watcher, error_event, parse_watch
from fairlead_sim.serving import discovery, openapi
from fairlead_sim.serving.calls import Answer, Call
from fairlead_sim.serving.negotiation import JSON, YAML, Form, wanted_form
from fairlead_sim.serving.routes import Target, parse_path, verb_of

MAX_BODY = 3 * 1024 * 1024
_HEALTH = ("healthz", "livez", "readyz")
_CHECKS = ("ping", "log", "etcd", "informer-sync", "poststarthook/crd-informer-synced")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServerSettings:
    version: str
    base_path: str
    bookmark_interval: float
    clock: Callable[[], datetime]


class ApiServer:
    """Answers requests; `plane` may be replaced while nobody is connected."""

    def __init__(
        self, plane: ControlPlane, tokens: Tokens, faults: Faults, settings: ServerSettings
    ) -> None:
        self.plane = plane
        self._tokens = tokens
        self._faults = faults
        self._settings = settings
        self._watches: set[asyncio.WriteTransport] = set()
        self._documents: dict[str, tuple[int, bytes]] = {}
        self.address = ""

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        await self._faults.reachable()
        warnings: list[str] = []
        try:
            response = await self._respond(request, warnings)
        except answers.Refusal as refusal:
            response = web.Response(
                body=refusal.encoded(), status=refusal.code, content_type=JSON,
                headers=_headers(warnings, refusal.headers),
            )  # fmt: skip
        except answers.PlainRefusal as plain:
            response = web.Response(text=plain.text, status=plain.code, headers=plain.headers)
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception:  # noqa: BLE001 - the client gets a 500 Status, the log the cause
            _log.exception("request failed: %s %s", request.method, request.path)
            defect = answers.internal_error("the simulated API server has a defect")
            response = web.Response(body=defect.encoded(), status=500, content_type=JSON)
        await self._faults.reachable()
        return response

    async def _respond(self, request: web.BaseRequest, warnings: list[str]) -> web.StreamResponse:
        path = request.path
        if self._settings.base_path:
            if not path.startswith(self._settings.base_path + "/"):
                raise answers.page_not_found()
            path = path[len(self._settings.base_path) :]
        target = parse_path(path)
        query = request.query
        verb = verb_of(request.method, target, query)
        user = self._authenticate(request)
        await self._faults.meet(verb, target)
        self.plane.authorizer.require(user, verb, target)
        accept = request.headers.get("Accept", "")
        if target.path == "/openapi/v2" and openapi.VERSION_TWO_ASKED in accept:
            headers = {"Content-Type": openapi.VERSION_TWO_ANSWERED}
            return web.Response(body=openapi.version_two_protobuf(), headers=headers)
        form = wanted_form(accept)
        if not target.resource:
            return self._document(request.method, target, query, form)
        call = Call(
            request.method, verb, target, query, user, form,
            request.headers.get("User-Agent", ""), request.headers.get("Content-Type", ""),
            warnings=warnings,
        )  # fmt: skip
        if verb == "watch":
            return await self._watch(request, call)
        if request.can_read_body:
            call.body = await _read(request)
        answer = self.plane.resources.serve(call)
        return _response(answer, form, warnings)

    # ---- who

    def _authenticate(self, request: web.BaseRequest) -> User:
        """Wrong credentials are refused here; none at all make an anonymous user."""
        user: User | None = ANONYMOUS
        header = request.headers.get("Authorization")
        if header is not None:
            user = self._tokens.user(header)
        elif request.transport is not None:
            certificate = request.transport.get_extra_info("peercert")
            user = certificate_user(certificate) if certificate else ANONYMOUS
        if user is None:
            raise answers.unauthorized()
        if "Impersonate-User" in request.headers:
            return self._impersonate(user, request)
        return user

    def _impersonate(self, user: User, request: web.BaseRequest) -> User:
        name = request.headers["Impersonate-User"]
        groups = request.headers.getall("Impersonate-Group", [])
        require = self.plane.authorizer.require
        require(user, "impersonate", Target("", resource="users", name=name))
        for group in groups:
            require(user, "impersonate", Target("", resource="groups", name=group))
        return authenticated(User(name, tuple(groups), self._tokens.rules_of(name)))

    # ---- watching

    async def _watch(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        kind = self.plane.resources.kind(call.target)
        if "watch" not in kind.verbs or call.target.subresource:
            raise answers.method_not_allowed()
        query = dict(call.query)
        if call.target.name:
            query["fieldSelector"] = f"metadata.name={call.target.name}"
        asked = parse_watch(kind, call.target.in_namespace, query, call.form)
        response = web.StreamResponse(headers=_headers(call.warnings, {}))
        response.content_type = JSON
        response.enable_chunked_encoding()
        transport = request.transport
        if transport is None:
            raise ConnectionResetError("the client is gone")
        self._watches.add(transport)
        try:
            await response.prepare(request)
            if not asked.from_start and self._faults.takes_expiry():
                refusal = answers.too_old(asked.revision, self.plane.store.revision)
                await response.write(error_event(refusal))
                return response
            renderer = EventRenderer(asked, self._settings.clock)
            watcher = Watcher(self.plane.store, asked, renderer, self._bookmark_interval)
            async for chunk in watcher.chunks():
                await self._faults.reachable()
                await response.write(chunk)
        finally:
            self._watches.discard(transport)
        return response

    def _bookmark_interval(self) -> float | None:
        return self._settings.bookmark_interval if self._faults.bookmarks else None

    def drop_watches(self) -> int:
        watches = list(self._watches)
        for transport in watches:
            transport.abort()
        return len(watches)

    # ---- what is not a resource

    def _document(
        self, method: str, target: Target, query: Mapping[str, str], form: Form
    ) -> web.Response:
        parts = [part for part in target.path.split("/") if part]
        if method not in ("GET", "HEAD"):
            raise answers.method_not_allowed()
        if parts and parts[0] in _HEALTH:
            return _health(parts, query)
        body = self._discovery(parts, form) if parts and parts[0] in ("api", "apis") else None
        if body is not None:
            return body
        if parts and (parts[0] == "api" or self._in_builtin_group(parts)):
            raise answers.no_such_resource()
        if parts == ["version"]:
            return _json(msgspec.json.encode(_version(self._settings.version)))
        if parts[:1] == ["openapi"]:
            return self._openapi(parts[1:])
        if not parts:
            paths = ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3"]
            return _json(msgspec.json.encode({"paths": [*paths, "/readyz", "/version"]}))
        raise answers.page_not_found()

    def _in_builtin_group(self, parts: list[str]) -> bool:
        return len(parts) > 1 and parts[0] == "apis" and self.plane.catalogue.is_builtin(parts[1])

    def _discovery(self, parts: list[str], form: Form) -> web.Response | None:
        catalogue, core = self.plane.catalogue, parts[0] == "api"
        if len(parts) == 1:
            if form.kind == "APIGroupDiscoveryList":
                name, version = f"aggregated {parts[0]} {form.version}", form.version
                body = self._cached(
                    name, lambda: discovery.aggregated(catalogue, core=core, version=version)
                )
                media = f"{JSON};g={form.group};v={form.version};as={form.kind}"
                return web.Response(body=body, headers={"Content-Type": media})
            if core:
                return _json(msgspec.json.encode(discovery.core_versions(self.address)))
            return _json(self._cached("groups", lambda: discovery.group_list(catalogue)))
        found: Any = None
        if not core and len(parts) == 2:
            found = discovery.group(catalogue, parts[1])
        elif len(parts) == (2 if core else 3):
            found = discovery.resource_list(catalogue, "" if core else parts[1], parts[-1])
        return _json(msgspec.json.encode(found)) if found is not None else None

    def _openapi(self, parts: list[str]) -> web.Response:
        catalogue = self.plane.catalogue
        if parts == ["v2"]:
            return _json(self._cached("v2", lambda: openapi.version_two(catalogue)))
        if parts == ["v3"]:
            return _json(self._cached("v3", lambda: openapi.documents(catalogue)))
        if parts[:2] == ["v3", "api"] and len(parts) == 3:
            group, version = "", parts[2]
        elif parts[:2] == ["v3", "apis"] and len(parts) == 4:
            group, version = parts[2], parts[3]
        else:
            raise answers.page_not_found()
        name = f"v3 {group}/{version}"
        body = self._cached(name, lambda: openapi.document(catalogue, group, version))
        if body == b"null":
            raise answers.page_not_found()
        return _json(body)

    def _cached(self, name: str, make: Callable[[], Any]) -> bytes:
        """Documents change only with the catalogue."""
        generation = self.plane.catalogue.generation
        found = self._documents.get(name)
        if found is None or found[0] != generation:
            found = self._documents[name] = (generation, msgspec.json.encode(make()))
        return found[1]

    def forget_documents(self) -> None:
        self._documents.clear()


async def _read(request: web.BaseRequest) -> bytes:
    if (request.content_length or 0) > MAX_BODY:
        raise answers.too_large(MAX_BODY)
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > MAX_BODY:
            raise answers.too_large(MAX_BODY)
    return bytes(body)


def _headers(warnings: list[str], more: Mapping[str, str]) -> CIMultiDict[str]:
    headers = CIMultiDict(more)
    for warning in dict.fromkeys(warnings):
        text = warning.replace("\\", "\\\\").replace('"', '\\"')
        headers.add("Warning", f'299 - "{text}"')
    return headers


def _response(answer: Answer, form: Form, warnings: list[str]) -> web.Response:
    headers = _headers(warnings, {}) if warnings else None
    if form.media_type == YAML:
        text = yaml.safe_dump(msgspec.json.decode(answer.body), sort_keys=False)
        return web.Response(
            body=text.encode(), status=answer.code, content_type=YAML, headers=headers
        )
    return web.Response(body=answer.body, status=answer.code, content_type=JSON, headers=headers)


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, content_type=JSON)


def _health(parts: list[str], query: Mapping[str, str]) -> web.Response:
    if len(parts) > 1:
        if "/".join(parts[1:]) not in _CHECKS:
            raise answers.page_not_found()
        return web.Response(text="ok")
    if "verbose" not in query:
        return web.Response(text="ok")
    lines = [f"[+]{check} ok" for check in _CHECKS]
    return web.Response(text="\n".join([*lines, f"{parts[0]} check passed", ""]))


def _version(version: str) -> dict[str, str]:
    major, minor = version.removeprefix("v").split(".")[:2]
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": version,
        "gitCommit": "0" * 40,
        "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z",
        "goVersion": "go1.25",
        "compiler": "gc",
        "platform": "linux/amd64",
    }
