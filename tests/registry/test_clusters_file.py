"""What a registry file may say, and what is said back when it is wrong."""

from __future__ import annotations

import base64
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.registry.entry import ClusterEntry, HealthCheck
from fairlead.registry.last_good import ProviderSnapshot
from fairlead.registry.problem import Severity
from fairlead.registry.providers.file import FileProvider
from tests.registry.pki import authority, client_pair

SEED = """\
clusters:
- name: prod-cluster
  endpoint: https://prod.k8s.example.com
  token: secret-1
  namespace: production
  weight: 100
- name: staging-cluster
  endpoint: https://staging.k8s.example.com
  token: secret-2
  weight: 50
"""


def load(path: Path, text: str) -> ProviderSnapshot:
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return FileProvider(path).load()


def one(path: Path, **fields: Any) -> ProviderSnapshot:
    entry = {"name": "a", "endpoint": "https://a.example.com", "token": "t"} | fields
    entry = {key: value for key, value in entry.items() if value is not None}
    return load(path, yaml.safe_dump({"clusters": [entry]}))


def only(snapshot: ProviderSnapshot) -> ClusterEntry:
    assert [str(problem) for problem in snapshot.problems] == []
    (entry,) = snapshot.entries
    return entry


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "clusters.yaml"


async def test_the_file_of_the_seed_is_read(file: Path) -> None:
    snapshot = load(file, SEED)

    prod, staging = snapshot.entries
    assert snapshot.problems == ()
    assert (prod.name, prod.endpoint, prod.namespace, prod.weight) == (
        "prod-cluster",
        "https://prod.k8s.example.com",
        "production",
        100,
    )
    assert staging.weight == 50
    assert prod.source == f"{file}:2: clusters[0]"
    assert (await prod.access.credentials.current()).authorization == "Bearer secret-1"


def test_every_field_has_its_place_in_the_entry(file: Path) -> None:
    entry = only(
        one(
            file,
            region="eu-1",
            labels={"tier": "gold"},
            identity="6d3a",
            status="Unavailable",
            weight=0,
            certificateData=authority(),
            healthCheck={
                "path": "/livez",
                "interval": "1m",
                "timeout": 20,
                "failureThreshold": 5,
                "successThreshold": 1,
                "slow": "2s",
            },
        )
    )

    assert entry.region == "eu-1"
    assert dict(entry.labels) == {"tier": "gold"}
    assert entry.identity == "6d3a"
    assert not entry.available
    assert entry.weight == 0
    assert entry.access.tls.ca_pem == authority().encode()
    assert entry.health_check == HealthCheck(
        path="/livez",
        interval=60.0,
        timeout=20.0,
        slow=2.0,
        failure_threshold=5,
        success_threshold=1,
    )


def test_a_shorter_interval_shortens_the_timeout_nobody_asked_for(file: Path) -> None:
    check = only(one(file, healthCheck={"interval": "5s"})).health_check

    assert (check.interval, check.timeout) == (5.0, 5.0)


def test_certificate_data_may_be_base64_as_in_a_kubeconfig(file: Path) -> None:
    encoded = base64.b64encode(authority().encode()).decode()

    assert only(one(file, certificateData=encoded)).access.tls.ca_pem == authority().encode()


async def test_certificate_data_beside_key_data_is_the_clients(file: Path) -> None:
    certificate, key = client_pair()

    entry = only(one(file, token=None, certificateData=certificate, keyData=key))

    presented = await entry.access.credentials.current()
    assert presented.certificate is not None
    assert presented.certificate.cert_pem == certificate.encode()
    assert entry.access.tls.ca_pem is None


async def test_files_are_found_beside_the_registry_file(file: Path) -> None:
    (file.parent / "token").write_text("from-file\n")
    (file.parent / "ca.crt").write_text(authority())

    entry = only(one(file, token=None, tokenFile="token", caFile="ca.crt"))

    assert (await entry.access.credentials.current()).authorization == "Bearer from-file"
    assert entry.access.tls.ca_pem == authority().encode()


KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: one
clusters:
- name: c
  cluster: {{server: "https://kube.example.com:6443"{ca}}}
users:
- name: u
  user: {{token: kube-token}}
contexts:
- name: one
  context: {{cluster: c, user: u}}
- name: two
  context: {{cluster: c, user: u, namespace: second}}
"""


def kubeconfig(*, with_authority: bool) -> str:
    encoded = base64.b64encode(authority().encode()).decode()
    return KUBECONFIG.format(
        ca=f", certificate-authority-data: {encoded}" if with_authority else ""
    )


def test_a_kubeconfig_can_be_named_with_a_context(file: Path) -> None:
    (file.parent / "kube.config").write_text(kubeconfig(with_authority=True))

    entry = only(one(file, endpoint=None, token=None, kubeconfig="kube.config", context="two"))

    assert entry.endpoint == "https://kube.example.com:6443"
    assert entry.access.namespace == "second"


def test_another_endpoint_than_the_kubeconfigs_needs_the_kubeconfigs_own_authority(
    file: Path,
) -> None:
    there = "https://elsewhere.example.com"
    path = file.parent / "kube.config"
    path.write_text(kubeconfig(with_authority=True))
    trusted = one(file, endpoint=there, token=None, kubeconfig="kube.config")
    path.write_text(kubeconfig(with_authority=False))
    refused = one(file, endpoint=there, token=None, kubeconfig="kube.config")

    assert only(trusted).endpoint == there
    assert refused.entries == ()
    assert "no certificate authority of its own" in str(refused.problems[0])


@pytest.mark.parametrize(
    "fields, place, words",
    [
        ({"name": None}, "clusters[0].name", "is missing"),
        ({"name": "Prod_1"}, "clusters[0].name", "cannot be a cluster's name"),
        ({"name": 7}, "clusters[0].name", "must be text"),
        ({"endpoint": None}, "clusters[0].endpoint", "is missing"),
        ({"endpoint": "https://"}, "clusters[0]", "no valid host"),
        ({"endpoint": "http://a.example.com"}, "clusters[0]", "show the credential"),
        ({"token": None}, "clusters[0]", "has no credential"),
        ({"token": "two words"}, "clusters[0]", "the token holds a space"),
        ({"tokne": "t"}, "clusters[0].tokne", "did you mean 'token'?"),
        ({"weight": -1}, "clusters[0].weight", "from 0 to 1000"),
        ({"weight": "9"}, "clusters[0].weight", "from 0 to 1000"),
        ({"weight": True}, "clusters[0].weight", "from 0 to 1000"),
        ({"labels": ["a"]}, "clusters[0].labels", "must be a mapping"),
        ({"labels": {"a": 1}}, "clusters[0].labels.a", "must be text"),
        ({"status": "Maybe"}, "clusters[0].status", "Available, Unavailable"),
        ({"certificateData": "!"}, "clusters[0].certificateData", "neither PEM nor base64"),
        ({"certificateData": "QUJD"}, "clusters[0].certificateData", "not of PEM"),
        ({"clientKeyData": "-----BEGIN X"}, "clusters[0]", "the certificate is missing"),
        ({"kubeconfig": "gone"}, "clusters[0].token", "cannot stand beside a kubeconfig"),
        ({"kubeconfig": "gone", "token": None}, "clusters[0]", "kubeconfig cannot be read"),
        ({"context": "x"}, "clusters[0].context", "without a kubeconfig"),
        ({"tokenFile": "gone", "token": None}, "clusters[0]", "token cannot be read"),
        ({"caFile": "gone"}, "clusters[0]", "authority cannot be read"),
        ({"proxyUrl": "socks5://p:1"}, "clusters[0]", "SOCKS"),
        ({"insecureSkipTlsVerify": "yes please"}, "insecureSkipTlsVerify", "true or false"),
        ({"healthCheck": 5}, "clusters[0].healthCheck", "must be a mapping"),
        ({"healthCheck": {"interval": "x"}}, "healthCheck.interval", "write it like 30s"),
        ({"healthCheck": {"interval": 0}}, "healthCheck.interval", "out of range"),
        ({"healthCheck": {"timeout": "2m"}}, "healthCheck.timeout", "is longer than interval"),
        ({"healthCheck": {"path": "readyz"}}, "healthCheck.path", "must begin with /"),
        ({"healthCheck": {"pth": "/"}}, "healthCheck.pth", "did you mean 'path'?"),
    ],
)
def test_a_bad_entry_is_one_sentence_with_its_line_and_field(
    file: Path, fields: dict[str, Any], place: str, words: str
) -> None:
    snapshot = one(file, **fields)

    assert snapshot.entries == ()
    sentences = [str(problem) for problem in snapshot.problems]
    matching = [s for s in sentences if place in s and words in s]
    assert matching, sentences
    assert matching[0].startswith(f"{file}:")
    if "did you mean" not in words:
        assert not [s for s in sentences if "unknown field" in s], "one cause, one complaint"
    assert "\n" not in matching[0]


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "has no list `clusters`"),
        ("rules: []", "has no list `clusters`"),
        ("clusters: 5", "must be a list"),
        ("clusters: {}", "must be a list"),
        ("- a", "has no list `clusters`"),
        ("clusters: [", "not valid YAML"),
        ("kind: Config\nclusters: []", "is a kubeconfig"),
        ("clusters: []\nclusters: []", "given twice"),
        ("clusters: []\n---\nclusters: []", "keep only one"),
    ],
)
def test_a_bad_file_is_one_sentence(file: Path, text: str, words: str) -> None:
    snapshot = load(file, text)

    (problem,) = snapshot.problems
    assert words in str(problem)
    assert str(problem).startswith(str(file))


def test_an_entry_that_is_no_mapping_does_not_hurt_the_others(file: Path) -> None:
    snapshot = load(file, SEED + "- just text\n")

    assert [entry.name for entry in snapshot.entries] == ["prod-cluster", "staging-cluster"]
    assert str(snapshot.problems[0]).startswith(f"{file}:11: clusters[2]: must be a mapping")


def test_every_fault_of_an_entry_is_reported(file: Path) -> None:
    snapshot = one(file, weight=-1, region=7, healthCheck={"interval": "x"})

    assert len(snapshot.problems) == 3


def test_of_two_entries_with_one_name_the_first_counts_and_both_places_are_named(
    file: Path,
) -> None:
    snapshot = load(file, SEED.replace("staging-cluster", "prod-cluster"))

    assert [entry.endpoint for entry in snapshot.entries] == ["https://prod.k8s.example.com"]
    (problem,) = snapshot.problems
    assert f"{file}:7" in str(problem)
    assert f"{file}:2" in str(problem)
    assert problem.cluster == "prod-cluster"


def test_more_entries_than_allowed_are_refused_as_a_whole(file: Path) -> None:
    snapshot = load(file, "clusters:\n" + "- name: a\n" * 1001)

    assert snapshot.entries == ()
    assert "more than 1000" in str(snapshot.problems[0])


@pytest.mark.parametrize(
    "fields, words",
    [
        ({"endpoint": "http://127.0.0.1:8001", "token": None}, "http://"),
        ({"insecureSkipTlsVerify": True}, "insecureSkipTlsVerify"),
    ],
)
def test_what_works_but_is_unwise_is_a_warning(
    file: Path, fields: dict[str, Any], words: str
) -> None:
    snapshot = one(file, **fields)

    (problem,) = snapshot.problems
    assert len(snapshot.entries) == 1
    assert problem.severity is Severity.WARNING
    assert words in str(problem)


def test_no_complaint_and_no_repr_shows_a_secret(file: Path) -> None:
    secret = "hunter2secret"
    texts = [
        f"clusters:\n- name: a\n  endpoint: https://a\n  token: [{secret}\n",
        f"clusters:\n- name: a\n  endpoint: https://a\n  token: *{secret}\n",
        f"clusters:\n- name: a\n  endpoint: https://a\n  token: !{secret}\n",
        f"clusters:\n- name: a\n  endpoint: https://a\n  token: !!int {secret}\n",
        f"clusters:\n- name: a\n  endpoint: https://a\n  token: '{secret} {secret}'\n",
        f"clusters:\n- name: a\n  endpoint: https://u:{secret}@a\n  token: t\n",
        f"clusters:\n- name: a\n  endpoint: https://a\n  clientKeyData: {secret}\n",
        f"clusters:\n- name: a\n  endpoint: https://a\n  token: {secret}\n",
    ]
    for text in texts:
        snapshot = load(file, text)

        assert secret not in repr(snapshot), text


def test_the_fingerprint_changes_with_everything_but_the_place(file: Path) -> None:
    entry = only(one(file))
    moved = only(load(file, "# a comment\n" + file.read_text()))
    changed = [
        only(one(file, **fields))
        for fields in (
            {"token": "other"},
            {"endpoint": "https://b.example.com"},
            {"certificateData": authority()},
            {"tlsServerName": "b"},
            {"proxyUrl": "http://p:1"},
            {"weight": 7},
            {"labels": {"a": "b"}},
            {"region": "r"},
            {"namespace": "n"},
            {"identity": "i"},
            {"status": "Unavailable"},
            {"healthCheck": {"interval": "31s"}},
        )
    ]

    assert moved.source != entry.source
    assert moved.fingerprint == entry.fingerprint
    assert len({e.fingerprint for e in [entry, *changed]}) == len(changed) + 1
    new_client = [e.connection != entry.connection for e in changed]
    assert new_client == [True] * 5 + [False] * 7
