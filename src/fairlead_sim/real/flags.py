"""The command lines of kube-apiserver and kube-controller-manager for a cluster that has no
machines: everything a client can see behaves as shipped, and only what waits for nodes, a cloud
or a disk is left out. Pure: knows the names of files, never opens one."""

from __future__ import annotations

from fairlead_sim.real.files import Files

# Controllers that act on machines, clouds or volumes. Without any of those they would only watch.
_NEEDS_MACHINES = (
    "cloud-node-lifecycle-controller",
    "device-taint-eviction-controller",
    "node-ipam-controller",
    "node-lifecycle-controller",
    "node-route-controller",
    "persistentvolume-attach-detach-controller",
    "persistentvolume-expander-controller",
    "resourceclaim-controller",
    "service-lb-controller",
    "taint-eviction-controller",
    "ttl-controller",
)


def apiserver_flags(
    files: Files, port: int, etcd_endpoint: str, etcd_prefix: str, *, controllers: bool
) -> list[str]:
    flags = [
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        # The port is held by ReservedPort, which shares it in this way only.
        "--permit-port-sharing=true",
        f"--etcd-servers={etcd_endpoint}",
        f"--etcd-prefix={etcd_prefix}",
        f"--tls-cert-file={files.serving_certificate}",
        f"--tls-private-key-file={files.serving_key}",
        f"--client-ca-file={files.authority}",
        f"--token-auth-file={files.tokens}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={files.service_account_key}",
        f"--service-account-signing-key-file={files.service_account_key}",
        f"--requestheader-client-ca-file={files.authority}",
        "--requestheader-allowed-names=front-proxy",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={files.proxy_certificate}",
        f"--proxy-client-key-file={files.proxy_key}",
        "--service-cluster-ip-range=10.0.0.0/24",
        # A loopback address may not stand in Endpoints, and nothing routes to the service anyway.
        "--endpoint-reconciler-type=none",
        "--profiling=false",
    ]
    if not controllers:
        # It waits for the `default` service account that a controller would make.
        flags.append("--disable-admission-plugins=ServiceAccount")
    return flags


def controller_manager_flags(files: Files) -> list[str]:
    return [
        f"--kubeconfig={files.controllers_kubeconfig}",
        f"--root-ca-file={files.authority}",
        f"--service-account-private-key-file={files.service_account_key}",
        f"--controllers=*,{','.join(f'-{name}' for name in _NEEDS_MACHINES)}",
        "--leader-elect=false",
        # No listener: it is ready when its work shows, and a port would only be one more to lose.
        "--secure-port=0",
        "--allocate-node-cidrs=false",
        "--configure-cloud-routes=false",
        "--profiling=false",
    ]
