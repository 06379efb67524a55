"""From the stanzas of one context to Access. Owns what combinations mean and which are refused,
by kubectl's rules; knows nothing of merging or of YAML."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fairlead.errors import InvalidInput
from fairlead.kube.access import (
    Access,
    CertificatePair,
    Credentials,
    Presented,
    TlsSettings,
    checked_proxy,
    checked_server,
)
from fairlead.kube.credentials import (
    CredentialFiles,
    FileCredentials,
    StaticCredentials,
    basic,
    bearer,
    read_file,
)
from fairlead.kube.exec_plugin import API_VERSIONS, ExecCredentials, ExecPlugin, InteractiveMode
from fairlead.kube.kubeconfig.fields import Fields
from fairlead.kube.kubeconfig.schema import (
    ClusterStanza,
    ContextStanza,
    ExecStanza,
    UserStanza,
)
from fairlead.kube.tls import check_authorities, check_certificate

# What a header key may hold unescaped (RFC 9110 tokens, less the percent sign): as in client-go.
_HEADER_KEY = "!#$&'*+-.^_`|~"

# What took the place of each auth-provider.
_SUCCESSORS = {
    "gcp": "gke-gcloud-auth-plugin",
    "azure": "kubelogin (github.com/Azure/kubelogin)",
    "oidc": "kubectl oidc-login (github.com/int128/kubelogin)",
}


def access_of(context: ContextStanza, cluster: ClusterStanza, user: UserStanza | None) -> Access:
    """Everything is checked here, so that a broken context is refused before its first use."""
    server = _server(cluster)
    tls = _tls(cluster)
    return Access(
        server=server,
        tls=tls,
        credentials=_credentials(user, cluster, server, tls) if user else StaticCredentials(),
        proxy_url=_proxy(cluster),
        namespace=context.namespace or None,
        description=f"context {context.name} of {context.fields.document.source}",
    )


def _server(cluster: ClusterStanza) -> str:
    if not cluster.server:
        problem = f"the cluster {cluster.name!r} has no server"
        raise cluster.fields.invalid(problem, remedy="add `server: https://host:6443`")
    try:
        return checked_server(cluster.server)
    except InvalidInput as error:
        raise _placed(error, cluster.fields, "server") from error


def _proxy(cluster: ClusterStanza) -> str | None:
    try:
        return checked_proxy(cluster.proxy_url) if cluster.proxy_url else None
    except InvalidInput as error:
        raise _placed(error, cluster.fields, "proxy-url") from error


def _tls(cluster: ClusterStanza) -> TlsSettings:
    data, file = "certificate-authority-data", "certificate-authority"
    ca_pem, field = _content(cluster.fields, data, cluster.ca_data, file, cluster.ca_file)
    if ca_pem is not None and cluster.insecure:
        problem = "insecure-skip-tls-verify and a certificate authority exclude each other"
        raise cluster.fields.invalid(problem, field, remedy="remove one of them")
    if ca_pem is not None:
        try:
            check_authorities(ca_pem)
        except InvalidInput as error:
            raise _placed(error, cluster.fields, field) from error
    return TlsSettings(ca_pem, cluster.server_name or None, cluster.insecure)


def _content(
    fields: Fields, data_name: str, data: bytes, file_name: str, file: Path | None
) -> tuple[bytes | None, str]:
    """Inline or file content, and the field it came from."""
    if data and file is not None:
        problem = f"{data_name} and {file_name} are both given"
        raise fields.invalid(problem, file_name, remedy="remove one of them")
    if data:
        return data, data_name
    if file is None:
        return None, data_name
    try:
        return read_file(file, file_name.replace("-", " ")), file_name
    except InvalidInput as error:
        problem = f"{file}: {error.problem}"
        raise fields.invalid(problem, file_name, remedy=error.remedy) from error


def _credentials(
    user: UserStanza, cluster: ClusterStanza, server: str, tls: TlsSettings
) -> Credentials:
    if user.auth_provider is not None:
        problem = f"the auth-provider {user.auth_provider!r} is not supported"
        plugin = _SUCCESSORS.get(user.auth_provider, "of your platform")
        remedy = f"write `exec` with the plugin {plugin} instead"
        raise user.fields.invalid(problem, "auth-provider", remedy=remedy)
    fixed = Presented(_authorization(user), headers=_impersonation(user))
    base = _with_files(user, fixed)
    # As kubectl: a token or password that stands there makes the plugin superfluous.
    if user.exec is None or fixed.authorization is not None or user.token_file is not None:
        return base
    info = _cluster_info(cluster, server, tls) if user.exec.provide_cluster_info else None
    return ExecCredentials(_plugin(user.exec, user, info), base)


def _authorization(user: UserStanza) -> str | None:
    if (user.token or user.token_file) and (user.username or user.password):
        problem = f"the user {user.name!r} has both a token and a password"
        raise user.fields.invalid(problem, "username", remedy="keep one of them")
    if user.password and not user.username:
        problem = f"the user {user.name!r} has a password but no username"
        raise user.fields.invalid(problem, "password", remedy="add `username`")
    try:
        if user.token:
            return bearer(user.token)
        return basic(user.username, user.password) if user.username else None
    except InvalidInput as error:
        raise _placed(error, user.fields, "token" if user.token else "username") from error


def _with_files(user: UserStanza, fixed: Presented) -> Credentials:
    fields = user.fields
    certificate, cert_field = _content(
        fields,
        "client-certificate-data",
        user.certificate_data,
        "client-certificate",
        user.certificate_file,
    )
    key, key_field = _content(fields, "client-key-data", user.key_data, "client-key", user.key_file)
    if (certificate is None) != (key is None):
        has, lacks, field = ("certificate", "key", cert_field)
        if certificate is None:
            has, lacks, field = ("key", "certificate", key_field)
        problem = f"the user {user.name!r} has a client {has} but no client {lacks}"
        raise fields.invalid(problem, field, remedy=f"add `client-{lacks}-data`")
    if certificate is not None and key is not None:
        pair = CertificatePair(certificate, key)
        try:
            check_certificate(pair)
        except InvalidInput as error:
            raise _placed(error, fields, cert_field) from error
        fixed = Presented(fixed.authorization, pair, fixed.headers)
    return _rotating(user, fixed)


def _rotating(user: UserStanza, fixed: Presented) -> Credentials:
    both_files = user.certificate_file is not None and user.key_file is not None
    if user.token_file is None and not both_files:
        return StaticCredentials(fixed)
    files = CredentialFiles(
        token=user.token_file,
        certificate=user.certificate_file if both_files else None,
        key=user.key_file if both_files else None,
    )
    try:
        return FileCredentials(files, fixed)
    except InvalidInput as error:
        field = "tokenFile" if error.place == str(user.token_file) else "client-certificate"
        problem = f"{error.place}: {error.problem}"
        raise user.fields.invalid(problem, field, remedy=error.remedy) from error


def _impersonation(user: UserStanza) -> tuple[tuple[str, str], ...]:
    others = (user.impersonate_uid, user.impersonate_groups, user.impersonate_extra)
    if not user.impersonate:
        if any(others):
            problem = "as-uid, as-groups and as-user-extra need `as`"
            raise user.fields.invalid(problem, remedy="name the user to impersonate in `as`")
        return ()
    headers = [("Impersonate-User", user.impersonate)]
    if user.impersonate_uid:
        headers.append(("Impersonate-Uid", user.impersonate_uid))
    headers += [("Impersonate-Group", group) for group in user.impersonate_groups]
    for key, value in user.impersonate_extra:
        headers.append((f"Impersonate-Extra-{quote(key, safe=_HEADER_KEY)}", value))
    if any(not letter.isprintable() for _, value in headers for letter in value):
        problem = "the identity to impersonate holds a line break or control character"
        raise user.fields.invalid(problem, "as", remedy="remove it")
    return tuple(headers)


def _plugin(program: ExecStanza, user: UserStanza, info: dict[str, Any] | None) -> ExecPlugin:
    fields = program.fields
    if program.api_version not in API_VERSIONS:
        version = program.api_version.rpartition("/")[2]
        problem = (
            "the exec protocol v1alpha1 is gone from Kubernetes since 1.24"
            if version == "v1alpha1"
            else "the exec protocol version is not one Fairlead knows"
            if version
            else "the exec plugin has no apiVersion"
        )
        remedy = f"update the plugin and write apiVersion: {API_VERSIONS[0]}"
        raise fields.invalid(problem, "apiVersion", remedy=remedy)
    if not program.command:
        raise fields.invalid("the exec plugin has no command", remedy="add `command`")
    if any(not name or "=" in name for name, _ in program.env):
        problem = "an environment variable has no name or an equals sign in it"
        raise fields.invalid(problem, "env", remedy="give it a `name` and a `value`")
    return ExecPlugin(
        command=program.command,
        api_version=program.api_version,
        origin=f"{fields.place()} (user {user.name!r})",
        args=program.args,
        env=program.env,
        install_hint=program.install_hint,
        interactive_mode=_interactive_mode(program),
        cluster=info,
    )


def _interactive_mode(program: ExecStanza) -> InteractiveMode:
    text = program.interactive_mode
    if not text and program.api_version.endswith("/v1beta1"):
        return InteractiveMode.IF_AVAILABLE
    try:
        return InteractiveMode(text)
    except ValueError as error:
        problem = "interactiveMode must be Never, IfAvailable or Always"
        remedy = "write one of them (v1 has no default)"
        raise program.fields.invalid(problem, "interactiveMode", remedy=remedy) from error


def _cluster_info(cluster: ClusterStanza, server: str, tls: TlsSettings) -> dict[str, Any]:
    info: dict[str, Any] = {"server": server}
    if tls.server_name:
        info["tls-server-name"] = tls.server_name
    if tls.insecure:
        info["insecure-skip-tls-verify"] = True
    if tls.ca_pem is not None:
        info["certificate-authority-data"] = base64.b64encode(tls.ca_pem).decode("ascii")
    if cluster.proxy_url:
        info["proxy-url"] = cluster.proxy_url
    if cluster.disable_compression:
        info["disable-compression"] = True
    if cluster.exec_config is not None:
        info["config"] = cluster.exec_config
    return info


def _placed(error: InvalidInput, fields: Fields, *names: str) -> InvalidInput:
    return fields.invalid(error.problem, *names, remedy=error.remedy)
