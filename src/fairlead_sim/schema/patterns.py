"""Regular expressions of Go (RE2 syntax) as Python's `re` understands them. Knows nothing of
schemas."""

from __future__ import annotations

import re
from functools import lru_cache

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_TOKEN = re.compile(r"\\.|\[:[a-z]+:\]|\(\?.?.?|.", re.DOTALL)


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The expression for `re`; raises re.error when it is none that Go knows.

    The differences that matter: `$` and `\\z` mean the very end, `\\d` and its kin are ASCII, POSIX
    classes exist, look-around and back references do not.
    """
    out: list[str] = []
    in_class = False
    for match in _TOKEN.finditer(pattern):
        token = match[0]
        if in_class:
            if token == "]" and out[-1] not in ("[", "^"):
                in_class = False
            elif token == "[":
                token = r"\["
            elif token.startswith("[:"):
                token = _POSIX.get(token[2:-2], token)
        elif token == "[":
            in_class = True
        else:
            token = _outside_class(token, pattern)
        out.append(token)
    return re.compile("".join(out), re.ASCII)


def _outside_class(token: str, pattern: str) -> str:
    if token in ("$", r"\z"):
        return r"\Z"
    if token.startswith(("(?=", "(?!", "(?<=", "(?<!")) or re.fullmatch(r"\\[1-9]", token):
        raise re.error(f"invalid or unsupported Perl syntax: `{token}`", pattern)
    return token.replace("(?<", "(?P<", 1) if token.startswith("(?<") else token
