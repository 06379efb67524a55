"""The functions that Kubernetes adds to CEL, as far as schemas use them: lists, regular
expressions, quantities and URLs. Knows nothing of expressions."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

from cel_expr_python import cel  # type: ignore[import-untyped]

from fairlead_sim.schema.patterns import compile_pattern

_T = cel.Type
_ANY_LIST = _T.List(_T.DYN)
_QUANTITY = re.compile(r"([+-]?[0-9.]+)([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i|)")
_SUFFIXES = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def functions() -> list[Any]:
    """The declarations for the environment."""
    return [
        *_list_functions(),
        _function("find", _method("find", [_T.STRING, _T.STRING], _T.STRING, _find)),
        _function("findAll", _method("findAll", [_T.STRING, _T.STRING], _ANY_LIST, _find_all)),
        _function("isURL", _plain("isURL", [_T.STRING], _T.BOOL, _is_url)),
        *_quantity_functions(),
    ]


def _list_functions() -> list[Any]:
    ordered: dict[str, tuple[Any, Callable[[list[Any]], Any]]] = {
        "isSorted": (
            _T.BOOL,
            lambda items: all(a <= b for a, b in pairwise(items)),
        ),
        "sum": (_T.DYN, sum),
        "min": (_T.DYN, min),
        "max": (_T.DYN, max),
    }
    sets: dict[str, Callable[[list[Any], list[Any]], bool]] = {
        "sets.contains": lambda a, b: all(item in a for item in b),
        "sets.intersects": lambda a, b: any(item in a for item in b),
        "sets.equivalent": lambda a, b: all(i in a for i in b) and all(i in b for i in a),
    }
    return [
        *(_function(n, _method(n, [_ANY_LIST], kind, run)) for n, (kind, run) in ordered.items()),
        *(_function(n, _plain(n, [_ANY_LIST, _ANY_LIST], _T.BOOL, run)) for n, run in sets.items()),
    ]


def _quantity_functions() -> list[Any]:
    # A quantity is a number here; that keeps comparison, which is what rules do with them, exact
    # enough, and spares an opaque type.
    number = _T.DOUBLE
    compare: dict[str, tuple[Any, Callable[[float, float], Any]]] = {
        "isGreaterThan": (_T.BOOL, lambda a, b: a > b),
        "isLessThan": (_T.BOOL, lambda a, b: a < b),
        "compareTo": (_T.INT, lambda a, b: (a > b) - (a < b)),
        "add": (number, lambda a, b: a + b),
        "sub": (number, lambda a, b: a - b),
    }
    single: dict[str, tuple[Any, Callable[[float], Any]]] = {
        "asInteger": (_T.INT, int),
        "isInteger": (_T.BOOL, float.is_integer),
        "asApproximateFloat": (_T.DOUBLE, float),
        "sign": (_T.INT, lambda a: (a > 0) - (a < 0)),
    }
    return [
        _function("quantity", _plain("quantity", [_T.STRING], number, parse_quantity)),
        _function("isQuantity", _plain("isQuantity", [_T.STRING], _T.BOOL, _is_quantity)),
        *(
            _function(n, _method(n, [number, number], kind, run))
            for n, (kind, run) in compare.items()
        ),
        *(_function(n, _method(n, [number], kind, run)) for n, (kind, run) in single.items()),
    ]


def _function(name: str, overload: Any) -> Any:
    return cel.FunctionDecl(name, [overload])


def _method(name: str, parameters: list[Any], result: Any, run: Callable[..., Any]) -> Any:
    return cel.Overload(
        f"member_{name}", return_type=result, parameters=parameters, is_member=True, impl=run
    )


def _plain(name: str, parameters: list[Any], result: Any, run: Callable[..., Any]) -> Any:
    return cel.Overload(
        f"global_{name}", return_type=result, parameters=parameters, is_member=False, impl=run
    )


def _find(text: str, pattern: str) -> str:
    match = compile_pattern(pattern).search(text)
    return match[0] if match else ""


def _find_all(text: str, pattern: str) -> list[str]:
    return [match[0] for match in compile_pattern(pattern).finditer(text)]


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc) or text.startswith("/")


def parse_quantity(text: str) -> float:
    """`1.5Gi` as a number; raises ValueError."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"quantity {text!r} must match the format of Kubernetes quantities")
    digits, suffix = match.groups()
    try:
        number = Decimal(digits)
    except InvalidOperation as cause:
        raise ValueError(f"quantity {text!r} has a malformed number") from cause
    if suffix in _BINARY:
        return float(number * 2 ** _BINARY[suffix])
    exponent = _SUFFIXES[suffix] if suffix in _SUFFIXES else int(suffix[1:])
    return float(number.scaleb(exponent))


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except ValueError:
        return False
    return True
