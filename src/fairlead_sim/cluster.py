"""A simulated cluster: start it, get a kubeconfig, hand out tokens, make trouble, stop it. Puts the
parts together and owns their lifetime; what they do is theirs."""

from __future__ import annotations

import base64
import os
import ssl
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import yaml
from aiohttp import web

from fairlead_sim.authorization import MASTERS, Rule, Tokens, User, parse_rule
from fairlead_sim.certificates import Authority, KeyPair
from fairlead_sim.controlplane import ControlPlane
from fairlead_sim.faults import Faults
from fairlead_sim.kinds.catalogue import Object
from fairlead_sim.serving.listener import Listener
from fairlead_sim.serving.server import ApiServer, ServerSettings

VERSION = "v1.36.3"


def _utc_now() -> datetime:
    return datetime.now(UTC)


class SimCluster:
    """One simulated Kubernetes API server over TLS, with the controllers a client notices."""

    def __init__(
        self,
        name: str,
        *,
        version: str = VERSION,
        base_path: str = "",
        history: int = 10_000,
        bookmark_interval: float = 30.0,
        random: Random | None = None,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        self.name = name
        self._history = history
        self._clock = clock
        self._authority = Authority(f"{name}-ca")
        self._tokens = Tokens()
        self.admin_token = self._tokens.issue(User("admin", (MASTERS,)))
        self._settings = ServerSettings(version, base_path.rstrip("/"), bookmark_interval, clock)
        self.faults = Faults(random or Random(0), self)
        self._plane: ControlPlane | None = None
        self._server: ApiServer | None = None
        self._connections: web.Server | None = None
        self._listener: Listener | None = None

    def __repr__(self) -> str:
        return f"SimCluster({self.name!r}, {self.url if self._listener else 'not started'})"

    # ---- life

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> SimCluster:
        """Serve; port 0 picks a free one, which restarts keep."""
        if self._listener is not None:
            raise RuntimeError(f"the simulated cluster {self.name} is already started")
        self._plane = self._new_plane()
        self._server = ApiServer(self._plane, self._tokens, self.faults, self._settings)
        self._listener = Listener(host, self._tls())
        self._plane.background.start()
        await self._listen(port)
        return self

    async def stop(self) -> None:
        """Drop every connection, stop every task, forget everything."""
        if self._listener is None:
            return
        self._listener.release()
        await self._hang_up()
        if self._plane is not None:
            await self._plane.background.stop()
        self._listener = self._server = self._plane = None

    async def __aenter__(self) -> SimCluster:
        return self if self._listener is not None else await self.start()

    async def __aexit__(self, *exception: object) -> None:
        await self.stop()

    async def crash(self) -> None:
        """All connections break at once and new ones are refused, until `restart`."""
        self._started.close()
        await self._hang_up()

    async def restart(self, *, keep_data: bool = True) -> None:
        """Come back on the same port: with the same objects but no history, or as a new and empty
        cluster (another kube-system uid) behind the same address and credentials. A partition
        outlives a restart."""
        await self.crash()
        if keep_data:
            self.plane.store.compact()
        else:
            await self.plane.background.stop()
            self._plane = self._new_plane()
            self._plane.background.start()
            self._api.plane = self._plane
            self._api.forget_documents()
        if not self.faults.partitioned:
            await self._listen()
        elif self.faults.partitioned == "hang":
            await self._started.swallow()

    async def settle(self) -> None:
        """Wait until garbage collection and the other controllers have nothing left to do."""
        await self.plane.background.settle()

    def _new_plane(self) -> ControlPlane:
        return ControlPlane(
            self._tokens,
            history=self._history,
            clock=self._clock,
            ca_pem=self.ca_pem.decode(),
        )

    async def _listen(self, port: int = 0) -> None:
        self._connections = web.Server(
            self._api.handle,
            handler_cancellation=True,
            access_log=None,
            keepalive_timeout=3600,
            max_field_size=64 * 1024,
            max_line_size=64 * 1024,
        )
        await self._started.serve(self._connections, port)
        self._api.address = f"{self._started.host}:{self._started.port}"

    async def _hang_up(self) -> None:
        connections, self._connections = self._connections, None
        if connections is None:
            return
        for connection in connections.connections:
            # uvloop's TLS transports can be aborted without being asyncio.Transports.
            abort = getattr(connection.transport, "abort", None)
            if abort is not None:
                abort()
        await connections.shutdown(0)

    def _tls(self) -> ssl.SSLContext:
        pair = self._authority.serving(self.name)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory(prefix="fairlead-sim-") as folder:
            file = Path(folder) / "serving.pem"
            file.touch(mode=0o600)
            file.write_bytes(pair.key + pair.certificate)
            context.load_cert_chain(file)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=self.ca_pem.decode())
        return context

    # ---- parts that exist only between start and stop

    @property
    def plane(self) -> ControlPlane:
        """What is behind the API; for whoever embeds the cluster."""
        if self._plane is None:
            raise RuntimeError(f"the simulated cluster {self.name} is not started")
        return self._plane

    @property
    def _started(self) -> Listener:
        if self._listener is None:
            raise RuntimeError(f"the simulated cluster {self.name} is not started")
        return self._listener

    @property
    def _api(self) -> ApiServer:
        if self._server is None:
            raise RuntimeError(f"the simulated cluster {self.name} is not started")
        return self._server

    # ---- access

    @property
    def host(self) -> str:
        return self._started.host

    @property
    def port(self) -> int:
        return self._started.port

    @property
    def url(self) -> str:
        """`https://127.0.0.1:<port>` and the base path, if there is one."""
        return f"https://{self.host}:{self.port}{self._settings.base_path}"

    @property
    def ca_pem(self) -> bytes:
        return self._authority.certificate_pem

    @property
    def identity(self) -> str:
        """The uid of the kube-system namespace."""
        return self.plane.identity

    def add_token(
        self,
        user: str,
        groups: Sequence[str] = (),
        rules: Iterable[Rule | Mapping[str, Any]] = (),
        *,
        token: str | None = None,
    ) -> str:
        """A bearer token for this user. Rules have the fields of an RBAC PolicyRule and
        `namespaces` (absent: everywhere); bound Roles and ClusterRoles count as well."""
        parsed = tuple(parse_rule(rule) for rule in rules)
        return self._tokens.issue(User(user, tuple(groups), parsed), token)

    def revoke_token(self, token: str) -> None:
        """From now on the token is answered with 401."""
        self._tokens.revoke(token)

    def client_certificate(self, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """A client certificate for this user, signed by the cluster's own authority."""
        return self._authority.client(user, groups)

    def kubeconfig(self, token: str | None = None, *, namespace: str | None = None) -> Object:
        """A kubeconfig with one context named like the cluster; the admin's unless `token`."""
        context: Object = {"cluster": self.name, "user": self.name}
        if namespace:
            context["namespace"] = namespace
        authority = base64.b64encode(self.ca_pem).decode()
        cluster = {"server": self.url, "certificate-authority-data": authority}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": self.name, "cluster": cluster}],
            "users": [{"name": self.name, "user": {"token": token or self.admin_token}}],
            "contexts": [{"name": self.name, "context": context}],
            "current-context": self.name,
        }

    def write_kubeconfig(self, path: Path | str, token: str | None = None) -> Path:
        """Write the kubeconfig, readable by the owner only, in one step."""
        target = Path(path)
        text = yaml.safe_dump(self.kubeconfig(token), sort_keys=False)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "w") as file:  # mkstemp made it 0600
                file.write(text)
            Path(temporary).replace(target)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
        return target

    def load(self, objects: Iterable[Object]) -> int:
        """Create objects without going through HTTP; answers how many."""
        count = 0
        for obj in objects:
            self.plane.create(obj)
            count += 1
        return count

    # ---- what faults do beneath the level of requests

    async def refuse_connections(self) -> None:
        await self.crash()

    async def swallow_connections(self) -> None:
        await self._started.swallow()

    async def accept_connections(self) -> None:
        connections = self._connections
        if connections is None:
            await self._listen()
        else:
            await self._started.serve(connections)

    def drop_watches(self) -> int:
        return self._api.drop_watches()

    def forget_history(self) -> None:
        self.plane.store.compact()
