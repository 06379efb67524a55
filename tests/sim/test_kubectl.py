"""kubectl drives a simulated cluster without noticing."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from fairlead_sim import SimCluster
from fairlead_sim.real import binary

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]

CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.replicas}
    schema:
      openAPIV3Schema:
        type: object
        description: A widget for tests.
        properties:
          spec:
            type: object
            properties:
              replicas: {type: integer, default: 1, description: How many there should be.}
              color: {type: string, enum: [red, blue]}
          status:
            type: object
            properties:
              conditions:
                type: array
                items: {type: object, properties: {type: {type: string}, status: {type: string}}}
"""
WIDGET = """
apiVersion: example.com/v1
kind: Widget
metadata: {name: a}
spec: {color: blue}
"""
SETTINGS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: app}
data: {key: one}
"""


class Kubectl:
    def __init__(self, kubeconfig: Path, home: Path) -> None:
        self._home = home
        self._environment = {
            **os.environ,
            "KUBECONFIG": str(kubeconfig),
            "HOME": str(home),
            "KUBECACHEDIR": str(home / "cache"),
        }

    async def start(self, *arguments: str, **more: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            str(binary("kubectl")),
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=self._environment | more,
        )

    async def run(self, *arguments: str, text: str = "", **more: str) -> tuple[int, str]:
        process = await self.start(*arguments, **more)
        output, _ = await process.communicate(text.encode())
        return process.returncode or 0, output.decode()

    async def __call__(self, *arguments: str, text: str = "", **more: str) -> str:
        code, output = await self.run(*arguments, text=text, **more)
        assert code == 0, output
        return output


@pytest.fixture
async def kubectl(cluster: SimCluster, tmp_path: Path) -> Kubectl:
    return Kubectl(cluster.write_kubeconfig(tmp_path / "config"), tmp_path)


async def test_looking_around(kubectl: Kubectl) -> None:
    assert "Server Version: v1.36.3" in await kubectl("version")
    assert "is running at https://127.0.0.1" in await kubectl("cluster-info")
    assert "apps/v1" in (await kubectl("api-versions")).split()
    assert "deployments" in await kubectl("api-resources")
    assert "Active" in await kubectl("get", "namespaces")
    assert "rollingUpdate" in await kubectl("explain", "deployment.spec.strategy")
    assert await kubectl("auth", "can-i", "delete", "pods") == "yes\n"
    assert "system:masters" in await kubectl("auth", "whoami")
    assert await kubectl("get", "--raw", "/readyz") == "ok"


async def test_creating_changing_and_deleting(kubectl: Kubectl, tmp_path: Path) -> None:
    await kubectl("create", "configmap", "c", "--from-literal=key=one")
    await kubectl("label", "configmap", "c", "tier=front")
    await kubectl("annotate", "configmap", "c", "note=x")
    assert "c" in await kubectl("get", "configmap", "-l", "tier=front", "-o", "name")
    await kubectl("patch", "configmap", "c", "-p", '{"data":{"two":"2"}}')
    await kubectl("patch", "configmap", "c", "--type=merge", "-p", '{"data":{"two":null}}')
    operation = '[{"op":"add","path":"/data/three","value":"3"}]'
    await kubectl("patch", "configmap", "c", "--type=json", "-p", operation)
    shown = await kubectl("get", "configmap", "c", "-o", "jsonpath={.data}")
    assert shown == '{"key":"one","three":"3"}'
    editor = tmp_path / "edit.sh"
    editor.write_text('#!/bin/sh\nsed -i "s/three: .*/three: edited/" "$1"\n')
    editor.chmod(0o700)
    await kubectl("edit", "configmap", "c", EDITOR=str(editor))
    assert "edited" in await kubectl("get", "configmap", "c", "-o", "yaml")
    assert "three:" in await kubectl("describe", "configmap", "c")
    await kubectl("delete", "configmap", "c")
    assert "NotFound" in (await kubectl.run("get", "configmap", "c"))[1]


async def test_applying_from_the_client_and_from_the_server(kubectl: Kubectl) -> None:
    assert "created" in await kubectl("apply", "-f", "-", text=SETTINGS)
    assert "unchanged" in await kubectl("apply", "-f", "-", text=SETTINGS)
    changed = SETTINGS.replace("one", "two")
    code, difference = await kubectl.run("diff", "-f", "-", text=changed)
    assert (code, "+  key: two" in difference) == (1, True)
    assert "configured" in await kubectl("apply", "-f", "-", text=changed)
    server = ("apply", "--server-side", "-f", "-")
    await kubectl("patch", "configmap", "app", "-p", '{"data":{"key":"mine"}}')
    code, conflict = await kubectl.run(*server, text=changed)
    assert code == 1
    assert "conflict" in conflict
    assert "serverside-applied" in await kubectl(*server, "--force-conflicts", text=changed)
    assert "replaced" in await kubectl("replace", "-f", "-", text=SETTINGS)


async def test_workloads(kubectl: Kubectl) -> None:
    await kubectl("create", "deployment", "web", "--image=nginx:1", "--replicas=2")
    table = await kubectl("get", "deployment", "web", "-o", "wide")
    assert "0/2" in table
    assert "nginx:1" in table
    await kubectl("scale", "deployment", "web", "--replicas=5")
    await kubectl("set", "image", "deployment/web", "nginx=nginx:2")
    described = await kubectl("describe", "deployment", "web")
    assert "5 desired" in described
    assert "nginx:2" in described
    await kubectl("delete", "deployment", "web", "--cascade=orphan")
    await kubectl("create", "deployment", "web", "--image=nginx:1")
    await kubectl("delete", "deployment", "web", "--cascade=foreground")


async def test_custom_kinds(cluster: SimCluster, kubectl: Kubectl) -> None:
    await kubectl("create", "-f", "-", text=CRD)
    await kubectl("wait", "--for=condition=Established", "crd/widgets.example.com")
    await kubectl("apply", "-f", "-", text=WIDGET)
    assert (await kubectl("get", "wd")).split() == ["NAME", "SIZE", "a", "1"]
    assert "How many there should be." in await kubectl("explain", "widget.spec.replicas")
    assert "replicas" in await kubectl("explain", "widget", "--recursive")
    code, refused = await kubectl.run("apply", "-f", "-", text=WIDGET.replace("blue", "green"))
    assert code == 1
    assert 'supported values: "red", "blue"' in refused
    code, refused = await kubectl.run("apply", "-f", "-", text=WIDGET.replace("color", "colour"))
    assert code == 1
    assert 'unknown field "spec.colour"' in refused
    ready = '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'
    await kubectl("patch", "wd", "a", "--subresource=status", "--type=merge", "-p", ready)
    await kubectl("wait", "--for=condition=Ready", "wd/a", "--timeout=20s")
    await kubectl("wait", "--for=jsonpath={.spec.color}=blue", "wd/a", "--timeout=20s")
    assert "Color:" in await kubectl("describe", "wd", "a")
    waiting = await kubectl.start("wait", "--for=delete", "wd/a", "--timeout=20s")
    await kubectl("delete", "wd", "a", "--wait")
    await waiting.communicate()
    assert waiting.returncode == 0


async def test_watching(kubectl: Kubectl) -> None:
    watching = await kubectl.start("get", "configmaps", "--watch-only", "-o", "name")
    assert watching.stdout is not None
    try:
        # kubectl gives no sign when its watch has begun, so changes are made until one is seen.
        line = asyncio.create_task(watching.stdout.readline())
        for number in range(100):
            await kubectl("create", "configmap", f"c{number}")
            done, _ = await asyncio.wait([line], timeout=0.1)
            if done:
                break
        assert (await line).startswith(b"configmap/c")
    finally:
        watching.kill()
        await watching.communicate()


async def test_namespaces_and_rights(cluster: SimCluster, kubectl: Kubectl, tmp_path: Path) -> None:
    await kubectl("create", "namespace", "work")
    await kubectl("create", "role", "reader", "--verb=list", "--resource=pods", "-n", "work")
    await kubectl("create", "rolebinding", "jane", "--role=reader", "--user=jane", "-n", "work")
    mine = tmp_path / "jane"
    cluster.write_kubeconfig(mine, cluster.add_token("jane"))
    jane = Kubectl(mine, tmp_path / "home")
    assert "No resources found" in await jane("get", "pods", "-n", "work")
    code, refused = await jane.run("get", "pods")
    assert code == 1
    assert 'User "jane" cannot list resource "pods"' in refused
    assert "no" in (await jane.run("auth", "can-i", "delete", "pods", "-n", "work"))[1]
    assert "deleted" in await kubectl("delete", "namespace", "work")
