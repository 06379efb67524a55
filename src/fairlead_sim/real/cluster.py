"""One real Kubernetes cluster without machines: a kube-apiserver on a loopback port of its own,
its keys and users, and a kube-controller-manager if wanted. Clusters share an etcd and are kept
apart by its key prefix. Knows nothing of what is put into the cluster."""

from __future__ import annotations

import asyncio
import base64
import http
import http.client
import ssl
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from fairlead.errors import InvalidInput
from fairlead_sim import certificates
from fairlead_sim.real.errors import RealPartFailed
from fairlead_sim.real.etcd import RealEtcd
from fairlead_sim.real.files import Files, User, write_private
from fairlead_sim.real.flags import apiserver_flags, controller_manager_flags
from fairlead_sim.real.parts import binary
from fairlead_sim.real.port import ReservedPort
from fairlead_sim.real.process import Process

_START_SECONDS = 120.0
_ANSWER_SECONDS = 5.0
_ADMINISTRATORS = "system:masters"
_READY = (
    "/readyz",
    "/api/v1/namespaces/default",
    "/api/v1/namespaces/kube-system",
)
_CONTROLLERS_READY = (
    "/api/v1/namespaces/default/serviceaccounts/default",
    "/api/v1/namespaces/default/configmaps/kube-root-ca.crt",
)


class RealCluster:
    """Data, keys, tokens and port stay the same over `stop`, `crash` and `start`."""

    def __init__(
        self,
        name: str,
        etcd: RealEtcd,
        directory: Path,
        *,
        users: Sequence[User] = (),
        controllers: bool = True,
    ) -> None:
        self.name = name
        self.users = {
            user.name: user for user in (User("admin", (_ADMINISTRATORS,)), User("nobody"), *users)
        }
        self._etcd = etcd
        self._files = Files(directory.absolute())
        self._authority = certificates.Authority(f"{name} authority")
        self._port = ReservedPort()
        self._processes: tuple[Process, ...] = ()
        self._rebuilds = 0
        self._controllers = controllers
        self._tls = ssl.create_default_context(cadata=self._authority.certificate_pem.decode())

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._port.number}"

    @property
    def ca_pem(self) -> bytes:
        return self._authority.certificate_pem

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that run now."""
        return tuple(pid for process in self._processes if (pid := process.pid) is not None)

    def token(self, user: str = "admin") -> str:
        """The token of a user that was named when the cluster was made."""
        if user not in self.users:
            raise InvalidInput(
                f"cluster {self.name}",
                f"has no user {user!r}",
                f"use one of {', '.join(sorted(self.users))} or name it in `users`",
            )
        return self.users[user].token

    def client_certificate(
        self, user: str = "admin", groups: Sequence[str] | None = None
    ) -> certificates.KeyPair:
        """A new client certificate; it works at once, also for a user nobody has named yet.

        Without `groups` it carries those the user was named with.
        """
        if groups is None:
            groups = self.users[user].groups if user in self.users else ()
        return self._authority.client(user, groups)

    def kubeconfig(self, user: str = "admin", *, certificate: bool = False) -> dict[str, Any]:
        """A kubeconfig with one context; the user shows a token, or a client certificate."""
        if certificate:
            pair = self.client_certificate(user)
            credentials = {
                "client-certificate-data": base64.b64encode(pair.certificate).decode(),
                "client-key-data": base64.b64encode(pair.key).decode(),
            }
        else:
            credentials = {"token": self.token(user)}
        cluster = {
            "server": self.url,
            "certificate-authority-data": base64.b64encode(self.ca_pem).decode(),
        }
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": self.name, "cluster": cluster}],
            "users": [{"name": user, "user": credentials}],
            "contexts": [{"name": self.name, "context": {"cluster": self.name, "user": user}}],
            "current-context": self.name,
        }

    def kubeconfig_text(self, user: str = "admin", *, certificate: bool = False) -> str:
        config = self.kubeconfig(user, certificate=certificate)
        return yaml.safe_dump(config, sort_keys=False)

    def write_kubeconfig(
        self, path: Path, user: str = "admin", *, certificate: bool = False
    ) -> Path:
        """Write it so that only the owner can read it; gives the path back."""
        write_private(path, self.kubeconfig_text(user, certificate=certificate).encode())
        return path

    async def start(self) -> None:
        """Run it and return when it can be used; does nothing if it runs already."""
        if not self._etcd.pids:
            raise RealPartFailed(
                f"The real cluster {self.name} cannot start because its etcd does not run: "
                "await the `start` of its RealEtcd first."
            )
        if not self._processes:
            self._prepare()
        try:
            for process, paths in zip(self._processes, (_READY, _CONTROLLERS_READY), strict=False):
                await process.start(partial(self._answers, paths), _START_SECONDS)
        except BaseException:
            await self.crash()
            raise

    async def stop(self) -> None:
        """End it and keep its data; does nothing if it does not run."""
        for process in reversed(self._processes):
            await process.stop()

    async def crash(self) -> None:
        """End it with no warning and keep its data."""
        for process in self._processes:
            process.kill()

    async def restart(self) -> None:
        """Stop it and start it again, with the same data, keys and port."""
        await self.stop()
        await self.start()

    async def rebuild(self) -> None:
        """Start anew with no data, as another cluster at the same address with the same keys."""
        await self.stop()
        self._rebuilds += 1
        self._processes = ()
        await self.start()

    def _prepare(self) -> None:
        files = self._files
        commands = {
            "kube-apiserver": apiserver_flags(
                files,
                self._port.number,
                self._etcd.endpoint,
                f"/{self.name}-{self._rebuilds}" if self._rebuilds else f"/{self.name}",
                controllers=self._controllers,
            )
        }
        if self._controllers:
            commands["kube-controller-manager"] = controller_manager_flags(files)
        processes = tuple(
            Process(
                f"{program} of {self.name}",
                [str(binary(program)), *flags],
                files.log(program),
                files.directory,
            )
            for program, flags in commands.items()
        )
        files.write_keys(self._authority, self.users.values())
        self.write_kubeconfig(files.controllers_kubeconfig)
        self._processes = processes

    async def _answers(self, paths: Sequence[str]) -> bool:
        return await asyncio.to_thread(self._answers_now, paths)

    def _answers_now(self, paths: Sequence[str]) -> bool:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._port.number, timeout=_ANSWER_SECONDS, context=self._tls
        )
        try:
            for path in paths:
                connection.request("GET", path, headers={"Authorization": f"Bearer {self.token()}"})
                answer = connection.getresponse()
                answer.read()
                if answer.status != http.HTTPStatus.OK:
                    return False
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        return True
