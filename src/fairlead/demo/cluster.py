"""A cluster of the demo, simulated or real, and the trouble that can be made with it."""

from __future__ import annotations

import base64
from typing import Any, Protocol

from fairlead_sim.authorization import MASTERS
from fairlead_sim.cluster import SimCluster
from fairlead_sim.real.cluster import RealCluster

Kubeconfig = dict[str, Any]


class DemoCluster(Protocol):
    """What the tour does to a cluster."""

    name: str

    def admin_kubeconfig(self) -> Kubeconfig:
        """For the person who watches."""

    def agent_kubeconfig(self) -> Kubeconfig:
        """For the agents; another credential than the admin's."""

    async def rotate(self) -> None:
        """From now on `agent_kubeconfig` has a new credential; the old one still works."""

    async def retire_old_credential(self) -> bool:
        """The credential before the last `rotate` stops working; False if that cannot be done."""

    async def cut_off(self) -> None:
        """Nobody reaches it any more."""

    async def reconnect(self) -> None: ...

    async def rebuild(self) -> None:
        """An empty, new cluster at the same address with the same credentials."""


class SimulatedCluster:
    def __init__(self, name: str) -> None:
        self.name = name
        self._sim = SimCluster(name)
        self._token = self._new_token()
        self._old_token: str | None = None

    async def start(self) -> None:
        await self._sim.start()

    async def stop(self) -> None:
        await self._sim.stop()

    def admin_kubeconfig(self) -> Kubeconfig:
        return self._sim.kubeconfig()

    def agent_kubeconfig(self) -> Kubeconfig:
        return self._sim.kubeconfig(self._token)

    async def rotate(self) -> None:
        self._old_token, self._token = self._token, self._new_token()

    async def retire_old_credential(self) -> bool:
        if self._old_token is not None:
            self._sim.revoke_token(self._old_token)
        return True

    async def cut_off(self) -> None:
        await self._sim.faults.partition()

    async def reconnect(self) -> None:
        await self._sim.faults.heal()

    async def rebuild(self) -> None:
        await self._sim.restart(keep_data=False)

    def _new_token(self) -> str:
        return self._sim.add_token("fairlead-agent", [MASTERS])


class ProcessCluster:
    """A real kube-apiserver."""

    def __init__(self, real: RealCluster) -> None:
        self.name = real.name
        self._real = real
        self._kubeconfig = real.kubeconfig()

    def admin_kubeconfig(self) -> Kubeconfig:
        return self._real.kubeconfig()

    def agent_kubeconfig(self) -> Kubeconfig:
        return self._kubeconfig

    async def rotate(self) -> None:
        self._kubeconfig = self._real.kubeconfig(certificate=True)

    async def retire_old_credential(self) -> bool:
        # A kube-apiserver reads its token file only when it starts, so the token stays valid.
        return False

    async def cut_off(self) -> None:
        await self._real.crash()

    async def reconnect(self) -> None:
        await self._real.start()

    async def rebuild(self) -> None:
        await self._real.rebuild()


def inline(kubeconfig: str) -> dict[str, str]:
    """The data of a Secret that holds this kubeconfig."""
    return {"kubeconfig": base64.b64encode(kubeconfig.encode()).decode()}
