from __future__ import annotations

from typing import Any

import pytest

from fairlead.errors import InvalidInput
from fairlead.runtime.leader import LeaseTerms
from fairlead.runtime.request import Request
from fairlead.runtime.settings import RuntimeSettings


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        ({"renew_deadline": 15.0}, "two replicas could work at once"),
        ({"retry_period": 9.0}, "no second attempt"),
        ({"probe_port": 70000}, "70000 is no port; choose 0 to 65535"),
        ({"log_format": "xml"}, "'xml' is unknown; choose json, console or auto"),
        ({"log_level": "loud"}, "'loud' is unknown"),
        ({"reconcile_timeout": 0}, "0 is not above zero"),
        ({"backoff_base": float("nan")}, "nan is not above zero"),
        ({"shutdown_grace": -1}, "-1 is below zero"),
        ({"backoff_cap": 0.01}, "below runtime.backoff_base"),
    ],
)
def test_settings_that_cannot_work_are_refused_with_their_name(
    wrong: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=sentence) as refused:
        RuntimeSettings(**wrong)
    assert refused.value.place == f"runtime.{next(iter(wrong))}"


def test_every_process_has_an_identity_of_its_own_unless_one_is_given() -> None:
    one, other = (LeaseTerms.from_settings(RuntimeSettings()) for _ in range(2))
    assert one.identity != other.identity
    assert LeaseTerms.from_settings(RuntimeSettings(identity="me")).identity == "me"


def test_a_request_is_written_as_cluster_namespace_name() -> None:
    assert str(Request("east", "shop", "cart")) == "east/shop/cart"
    assert str(Request("east", None, "node-1")) == "east//node-1"
    assert Request("east", None, "node-1").object == "node-1"
    assert Request.of("east", {"metadata": {"namespace": "shop", "name": "cart"}}) == Request(
        "east", "shop", "cart"
    )
