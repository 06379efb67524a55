"""RFC 6902 JSON Patch, as lenient and as taciturn as kube-apiserver. Knows nothing of Kubernetes
objects."""

from __future__ import annotations

import re
from typing import Any

from fairlead_sim.patch.errors import PatchError
from fairlead_sim.patch.json_values import copied, same

# The API server refuses longer patches.
MAX_OPERATIONS = 10_000
_INDEX = re.compile(r"0|[1-9][0-9]*")


def apply_json_patch(obj: Any, ops: Any) -> Any:
    """The patched copy of `obj`; raises PatchError (400 for a malformed patch, else 422)."""
    if not isinstance(ops, list) or not all(isinstance(op, dict) for op in ops):
        raise PatchError(
            "error decoding patch: json: cannot unmarshal object into Go value of type "
            "[]handlers.jsonPatchOp",
            400,
        )
    if len(ops) > MAX_OPERATIONS:
        raise PatchError(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(ops)}",
            413,
        )
    document = {"": copied(obj)}  # one level up, so that the whole document can be replaced
    for op in ops:
        _apply(document, op)
    return document[""]


def _refused(detail: str) -> PatchError:
    # The real server keeps the reason to itself.
    message = "the server rejected our request due to an error in our request"
    return PatchError(message, 422, detail)


def _apply(document: dict[str, Any], op: dict[str, Any]) -> None:
    name = op.get("op")
    path = _pointer(op, "path")
    if name == "add":
        _add(document, path, copied(op.get("value")))
    elif name == "remove":
        _remove(document, path)
    elif name == "replace":
        _replace(document, path, copied(op.get("value")))
    elif name == "move":
        _add(document, path, _remove(document, _pointer(op, "from")))
    elif name == "copy":
        _add(document, path, copied(_get(document, _pointer(op, "from"))))
    elif name == "test":
        _test(document, path, op.get("value"))
    else:
        raise _refused(f"unexpected kind of operation: {name}")


def _pointer(op: dict[str, Any], key: str) -> list[str]:
    text = op.get(key)
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise _refused(f'the "{key}" of an operation must be a JSON pointer')
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")]


def _parent(document: dict[str, Any], path: list[str]) -> Any:
    node: Any = document
    for part in path[:-1]:
        try:
            node = node[_index(node, part)] if isinstance(node, list) else node[part]
        except (KeyError, TypeError):
            node = None
    if not isinstance(node, dict | list):
        raise _refused(f"missing path: {'/'.join(path)}")
    return node


def _index(items: list[Any], part: str) -> int:
    if not _INDEX.fullmatch(part) or int(part) >= len(items):
        raise _refused(f"invalid index: {part}")
    return int(part)


def _get(document: dict[str, Any], path: list[str]) -> Any:
    node = _parent(document, path)
    if isinstance(node, list):
        return node[_index(node, path[-1])]
    if path[-1] not in node:
        raise _refused(f"missing key: {'/'.join(path)}")
    return node[path[-1]]


def _replace(document: dict[str, Any], path: list[str], value: Any) -> None:
    """The real server, too, replaces a field of an object that is not there."""
    node = _parent(document, path)
    node[_index(node, path[-1]) if isinstance(node, list) else path[-1]] = value


def _add(document: dict[str, Any], path: list[str], value: Any) -> None:
    node = _parent(document, path)
    part = path[-1]
    if isinstance(node, dict):
        node[part] = value
    elif part == "-":
        node.append(value)
    elif _INDEX.fullmatch(part) and int(part) <= len(node):
        node.insert(int(part), value)
    else:
        raise _refused(f"invalid index: {part}")


def _remove(document: dict[str, Any], path: list[str]) -> Any:
    value = _get(document, path)
    node = _parent(document, path)
    del node[_index(node, path[-1]) if isinstance(node, list) else path[-1]]
    return value


def _test(document: dict[str, Any], path: list[str], expected: Any) -> None:
    try:
        found = _get(document, path)
    except PatchError:
        found = None  # a missing value equals null
    if not same(found, expected):
        raise _refused(f"test failed: {'/'.join(path)}")
