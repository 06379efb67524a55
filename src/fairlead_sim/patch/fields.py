"""FieldsV1: the sets of field paths that managedFields hold. A path element is kept in its
serialised form (`f:name`, `k:{"name":"x"}`, `v:"a"`), which is canonical, so sets are sets of
strings. Knows nothing of managers or merging."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from fairlead_sim.patch.errors import PatchError
from fairlead_sim.patch.json_values import go_json, go_quoted
from fairlead_sim.patch.shapes import Shape

Path = tuple[str, ...]


class FieldSet:
    """A tree of path elements. `members` belong to the set, `children` hold deeper ones."""

    __slots__ = ("children", "members")

    def __init__(
        self, members: set[str] | None = None, children: dict[str, FieldSet] | None = None
    ) -> None:
        self.members = members if members is not None else set()
        self.children = children if children is not None else {}

    @staticmethod
    def of(*paths: Path) -> FieldSet:
        """The set of these paths."""
        out = FieldSet()
        for path in paths:
            out.insert(path)
        return out

    def insert(self, path: Path) -> None:
        """Add one path; the whole object (an empty path) is not tracked."""
        if not path:
            return
        node = self
        for element in path[:-1]:
            node = node.children.setdefault(element, FieldSet())
        node.members.add(path[-1])

    def __bool__(self) -> bool:
        return bool(self.members) or any(self.children.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSet) and self.to_fields() == other.to_fields()

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, path: Path) -> bool:
        node: FieldSet | None = self
        for element in path[:-1]:
            node = node.children.get(element) if node is not None else None
        return node is not None and path[-1] in node.members

    def __or__(self, other: FieldSet) -> FieldSet:
        children = dict(self.children)
        for element, child in other.children.items():
            mine = children.get(element)
            children[element] = child if mine is None else mine | child
        return FieldSet(self.members | other.members, children)

    def __and__(self, other: FieldSet) -> FieldSet:
        children = {}
        for element, child in self.children.items():
            theirs = other.children.get(element)
            if theirs is not None and (both := child & theirs):
                children[element] = both
        return FieldSet(self.members & other.members, children)

    def __sub__(self, other: FieldSet) -> FieldSet:
        children = {}
        for element, child in self.children.items():
            theirs = other.children.get(element)
            rest = child if theirs is None else child - theirs
            if rest:
                children[element] = rest
        return FieldSet(self.members - other.members, children)

    def without_trees(self, other: FieldSet) -> FieldSet:
        """Without the members of `other` and everything below them."""
        children = {}
        for element, child in self.children.items():
            if element in other.members:
                continue
            theirs = other.children.get(element)
            rest = child if theirs is None else child.without_trees(theirs)
            if rest:
                children[element] = rest
        return FieldSet(self.members - other.members, children)

    def below(self, element: str) -> FieldSet:
        """What the set holds below one element."""
        return self.children.get(element) or FieldSet()

    def with_named(self, shape: Shape) -> FieldSet:
        """With every named field that has members below it; elements of maps are not named."""
        members = set(self.members)
        children = {}
        for element, child in self.children.items():
            if element.startswith("f:"):
                sub, named = shape.child(element[2:])
                if named:
                    members.add(element)
            else:
                sub = shape.items()
            children[element] = child.with_named(sub)
        return FieldSet(members, children)

    def paths(self, prefix: Path = ()) -> Iterator[Path]:
        """All paths, in the order in which the API server lists them."""
        for element in sorted(self.members, key=_order):
            yield (*prefix, element)
        for element in sorted(self.children, key=_order):
            yield from self.children[element].paths((*prefix, element))

    def to_fields(self) -> dict[str, Any]:
        """The FieldsV1 value, in canonical order."""
        out: dict[str, Any] = {}
        for element in sorted(self.members | self.children.keys(), key=_order):
            child = self.children.get(element)
            inner = child.to_fields() if child is not None else {}
            out[element] = {".": {}, **inner} if inner and element in self.members else inner
        return {k: v for k, v in out.items() if v or k in self.members}

    @staticmethod
    def from_fields(fields: Any) -> FieldSet:
        """Read a FieldsV1 value; raises PatchError when it is not one."""
        if not isinstance(fields, dict):
            raise PatchError("fieldsV1 must be an object", 400)
        out = FieldSet()
        for key, value in fields.items():
            if key == ".":
                continue
            element = _canonical(key)
            if element is None:
                continue
            if not value or (isinstance(value, dict) and "." in value):
                out.members.add(element)
            if child := FieldSet.from_fields(value):
                out.children[element] = child
        return out


def field_element(name: str) -> str:
    """The element of a field of a map."""
    return "f:" + name


def item_element(item: Any, shape: Shape, index: int) -> str:
    """The element of an item of a set or of a list with keys; raises PatchError if it has none."""
    if shape.list_kind == "set":
        if item is None or isinstance(item, dict | list):
            what = "an explicit null" if item is None else "a map or list"
            raise PatchError(
                f"element {index}: associative list without keys has an element that's {what}", 500
            )
        return "v:" + go_json(item)
    if not isinstance(item, dict):
        what = "a null element" if item is None else "non-map elements"
        raise PatchError(f"element {index}: associative list with keys may not have {what}", 500)
    keys = {}
    for key in shape.keys:
        value = item[key] if key in item else shape.key_default(key)
        if key in item or value is not None:
            keys[key] = value
    if not keys:
        names = " ".join(go_quoted(k) for k in shape.keys)
        raise PatchError(
            f"element {index}: associative list with keys has an element that omits all key fields "
            f"[{names}] (and doesn't have default values for any key fields)",
            500,
        )
    return "k:" + go_json(keys)


def print_path(path: Path) -> str:
    """As kubectl prints it: `.spec.containers[name="app"].image`."""
    return "".join(map(_print_element, path))


def _print_element(element: str) -> str:
    kind, text = element[0], element[2:]
    if kind == "f":
        return "." + text
    value = json.loads(text)
    if kind == "k":
        return "[" + ",".join(f"{k}={_print_value(v)}" for k, v in value.items()) + "]"
    return f"[={_print_value(value)}]" if kind == "v" else f"[{value}]"


def _print_value(value: Any) -> str:
    return go_quoted(value) if isinstance(value, str) else go_json(value)


def _canonical(key: str) -> str | None:
    kind, text = key[:2], key[2:]
    if kind == "f:":
        return key
    if kind not in ("k:", "v:", "i:"):
        return None
    try:
        return kind + go_json(json.loads(text))
    except ValueError as cause:
        raise PatchError(f"parsing key {go_quoted(key)} as path element failed", 400) from cause


@lru_cache(maxsize=4096)
def _order(element: str) -> tuple[Any, ...]:
    kind, text = element[0], element[2:]
    if kind == "f":
        return (0, text)
    value = json.loads(text)
    if kind == "k":
        return (1, tuple((k, _value_order(v)) for k, v in sorted(value.items())))
    return (2 if kind == "v" else 3, _value_order(value))


def _value_order(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    return (1, value) if isinstance(value, str) else (3, go_json(value))
