"""The string formats that kube-apiserver checks in custom resources. Unknown formats are not
checked. Knows nothing of schemas."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from datetime import date
from email.utils import parseaddr

_LABEL = r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
# One label, or several of which the last has letters only, at least two.
_HOSTNAME = re.compile(rf"[a-zA-Z0-9](-?[a-zA-Z0-9]{{0,62}})?|({_LABEL}\.)+[a-zA-Z]{{2,63}}")
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_DATE_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[tT]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?"
    r"([zZ]|[+-]([01]\d|2[0-3]):?[0-5]\d)"
)
_GO_DURATION = re.compile(r"[+-]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)")
_SCALA_DURATION = re.compile(
    r"-?\d+(\.\d+)?\s*(ns|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?"
    r"|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)",
    re.IGNORECASE,
)
_URI = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*:|/)[^\s\x00-\x1f]*")
_HEX = "[0-9a-f]"
_UUID_TAIL = rf"-?{_HEX}{{12}}"


def _matches(pattern: str, flags: int = 0) -> Callable[[str], bool]:
    compiled = re.compile(pattern, flags)
    return lambda text: compiled.fullmatch(text) is not None


def _uuid(version: str, variant: str) -> Callable[[str], bool]:
    return _matches(rf"{_HEX}{{8}}-?{_HEX}{{4}}-?{version}-?{variant}{_UUID_TAIL}", re.IGNORECASE)


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except (ValueError, binascii.Error):
            return False
        return True

    return check


def _cidr(text: str) -> object:
    if "/" not in text:
        raise ValueError(text)
    return ipaddress.ip_interface(text)


def _date_time(text: str) -> object:
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return date.fromisoformat(match[1])


def _date(text: str) -> object:
    if len(text) != len("2006-01-02"):
        raise ValueError(text)
    return date.fromisoformat(text)


def is_duration(text: str) -> bool:
    """As Go's time.ParseDuration, or Scala's spelling."""
    return bool(_GO_DURATION.fullmatch(text) or _SCALA_DURATION.fullmatch(text))


_CHECKS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _matches(rf"{_HEX}{{24}}", re.IGNORECASE),
    "uri": lambda text: _URI.fullmatch(text) is not None,
    "email": lambda text: "@" in parseaddr(text)[1].strip("@"),
    "hostname": lambda text: len(text) <= 255 and _HOSTNAME.fullmatch(text) is not None,
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "cidr": _parses(_cidr),
    "mac": _matches(r"([0-9a-fA-F]{2}([:-])[0-9a-fA-F]{2}(\2[0-9a-fA-F]{2}){4})"),
    "uuid": _uuid(rf"{_HEX}{{4}}", rf"{_HEX}{{4}}"),
    "uuid3": _uuid(rf"3{_HEX}{{3}}", rf"{_HEX}{{4}}"),
    "uuid4": _uuid(rf"4{_HEX}{{3}}", rf"[89ab]{_HEX}{{3}}"),
    "uuid5": _uuid(rf"5{_HEX}{{3}}", rf"[89ab]{_HEX}{{3}}"),
    "hexcolor": _matches(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "byte": _parses(lambda text: base64.b64decode(text, validate=True)),
    "date": _parses(_date),
    "datetime": _parses(_date_time),
    "duration": is_duration,
    "k8sshortname": lambda text: len(text) <= 63 and _DNS_LABEL.fullmatch(text) is not None,
    "k8slongname": lambda text: (
        len(text) <= 253 and all(_DNS_LABEL.fullmatch(part) for part in text.split("."))
    ),
}


def format_check(name: str) -> Callable[[str], bool] | None:
    """The check of a format, or None when the API server does not check it."""
    return _CHECKS.get(name.replace("-", ""))
