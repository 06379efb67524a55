"""The four walks over typed values that server-side apply is made of: field set, comparison,
merge and removal. They follow sigs.k8s.io/structured-merge-diff step by step, because its
corner cases (empty maps, nulls, duplicates) are visible in managedFields. Knows nothing of
managers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from fairlead_sim.patch.errors import PatchError
from fairlead_sim.patch.fields import FieldSet, Path, field_element, item_element, print_path
from fairlead_sim.patch.json_values import same
from fairlead_sim.patch.shapes import Shape


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()


@dataclass(slots=True)
class Comparison:
    """What changed from left to right; no path is in two of the sets."""

    removed: FieldSet = field(default_factory=FieldSet)
    modified: FieldSet = field(default_factory=FieldSet)
    added: FieldSet = field(default_factory=FieldSet)

    def written(self) -> FieldSet:
        """Everything that the right side set."""
        return self.modified | self.added


def _is_leaf(value: Any, shape: Shape) -> bool:
    """Owned as a whole: scalars, atomic maps and lists, and empty ones (to keep {} from null)."""
    if isinstance(value, dict):
        return shape.map_atomic or not value
    if isinstance(value, list):
        return shape.list_kind == "atomic" or not value
    return True


# --- field set


def field_set(value: Any, shape: Shape) -> FieldSet:
    """Every leaf and list item that `value` mentions; raises PatchError on items without a key."""
    out = FieldSet()
    _collect(value, shape, out, ())
    return out


def _collect(value: Any, shape: Shape, out: FieldSet, path: Path) -> None:
    if isinstance(value, dict) and not shape.map_atomic:
        for name, child in value.items():
            below = (*path, field_element(name))
            sub, named = shape.child(name)
            _collect(child, sub, out, below)
            if not named or child is None or child == {}:
                out.insert(below)
    elif isinstance(value, list) and shape.list_kind != "atomic":
        elements = elements_of(value, shape, path)
        times = Counter(elements)
        for element, item in zip(elements, value, strict=True):
            if times[element] == 1:
                _collect(item, shape.items(), out, (*path, element))
            out.insert((*path, element))
    else:
        out.insert(path)


def elements_of(items: list[Any], shape: Shape, path: Path = ()) -> list[str]:
    """The path elements of the items of a list that merges."""
    try:
        return [item_element(item, shape, index) for index, item in enumerate(items)]
    except PatchError as cause:
        raise PatchError(f"{print_path(path)}: {cause}", cause.code) from None


def check_applied(value: Any, shape: Shape, path: Path = ()) -> None:
    """Raise PatchError when an applied object has duplicate items or fields nobody declared."""
    if isinstance(value, dict):
        for name, child in value.items():
            sub, named = shape.child(name)
            below = (*path, field_element(name))
            if shape.closed and not named:
                raise PatchError(f"{print_path(below)}: field not declared in schema", 500)
            if isinstance(child, dict | list):
                check_applied(child, sub, below)
    elif isinstance(value, list) and shape.list_kind != "atomic":
        seen = set()
        elements = elements_of(value, shape, path)
        for element, item in zip(elements, value, strict=True):
            if element in seen:
                key = print_path((element,))
                raise PatchError(f"{print_path(path)}: duplicate entries for key {key}", 500)
            seen.add(element)
            check_applied(item, shape.items(), (*path, element))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            check_applied(item, shape.items(), (*path, f"i:{index}"))


# --- comparison


def compare(left: Any, right: Any, shape: Shape) -> Comparison:
    """What `right` removed, modified and added."""
    out = Comparison()
    _compare(left, right, shape, (), out)
    return out


def _compare(left: Any, right: Any, shape: Shape, path: Path, out: Comparison) -> None:
    if left is right:
        return
    if _mixed(left, right):
        # The type itself changed (only possible where it is deduced): each side is walked alone.
        for side in (left, right):
            if _is_leaf(side, shape):
                out.modified.insert(path)
        _compare_children(left, ABSENT, shape, path, out)
        _compare_children(ABSENT, right, shape, path, out)
        return
    if _is_leaf(left, shape) and _is_leaf(right, shape):
        _compare_leaf(left, right, path, out)
        return
    _compare_children(left, right, shape, path, out)
    if left is ABSENT:
        out.added.insert(path)
    elif right is ABSENT:
        out.removed.insert(path)


def _mixed(left: Any, right: Any) -> bool:
    return _kind(left) != _kind(right) and bool(_kind(left)) and bool(_kind(right))


def _kind(value: Any) -> str:
    if value is None or value is ABSENT:
        return ""
    return "map" if isinstance(value, dict) else "list" if isinstance(value, list) else "scalar"


def _compare_leaf(left: Any, right: Any, path: Path, out: Comparison) -> None:
    if left is ABSENT:
        out.added.insert(path)
    elif right is ABSENT:
        out.removed.insert(path)
    elif not same(left, right):
        out.modified.insert(path)


def _compare_children(left: Any, right: Any, shape: Shape, path: Path, out: Comparison) -> None:
    if isinstance(left, dict) or isinstance(right, dict):
        if shape.map_atomic:
            return
        mine = left if isinstance(left, dict) else {}
        theirs = right if isinstance(right, dict) else {}
        for name in mine.keys() | theirs.keys():
            sub, _ = shape.child(name)
            below = (*path, field_element(name))
            _compare(mine.get(name, ABSENT), theirs.get(name, ABSENT), sub, below, out)
    elif (isinstance(left, list) or isinstance(right, list)) and shape.list_kind != "atomic":
        _compare_items(
            left if isinstance(left, list) else [],
            right if isinstance(right, list) else [],
            shape,
            path,
            out,
        )


def _compare_items(
    left: list[Any], right: list[Any], shape: Shape, path: Path, out: Comparison
) -> None:
    mine, theirs = _by_element(left, shape, path), _by_element(right, shape, path)
    for element in mine.keys() | theirs.keys():
        olds, news = mine.get(element, []), theirs.get(element, [])
        below = (*path, element)
        if len(olds) <= 1 and len(news) <= 1:
            old = olds[0] if olds else ABSENT
            _compare(old, news[0] if news else ABSENT, shape.items(), below, out)
        elif len(olds) >= 2 and len(news) >= 2:
            if not same(olds, news):
                out.modified.insert(below)
        elif len(olds) >= 2:
            if news:
                _compare(ABSENT, news[0], shape.items(), below, out)
            out.removed.insert(below)
        else:
            if olds:
                _compare(olds[0], ABSENT, shape.items(), below, out)
            out.added.insert(below)


def _by_element(items: list[Any], shape: Shape, path: Path) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for element, item in zip(elements_of(items, shape, path), items, strict=True):
        found.setdefault(element, []).append(item)
    return found


# --- merge


def merge(left: Any, right: Any, shape: Shape) -> Any:
    """`left` with everything that `right` says; nothing is removed. ABSENT when nothing is left."""
    if right is ABSENT:
        return left
    if left is ABSENT:
        return right
    kind = _kind(right) or _kind(left)
    if kind == "map" and not shape.map_atomic:
        mine = left if isinstance(left, dict) else {}
        theirs = right if isinstance(right, dict) else {}
        if mine or theirs:
            return _merge_maps(mine, theirs, shape)
    if kind == "list" and shape.list_kind != "atomic":
        mine_items = left if isinstance(left, list) else []
        their_items = right if isinstance(right, list) else []
        if mine_items or their_items:
            return _merge_lists(mine_items, their_items, shape)
    return right


def _merge_maps(left: dict[str, Any], right: dict[str, Any], shape: Shape) -> Any:
    out = {}
    for name in [*left, *(n for n in right if n not in left)]:
        sub, _ = shape.child(name)
        value = merge(left.get(name, ABSENT), right.get(name, ABSENT), sub)
        if value is not ABSENT:
            out[name] = value
    return out or ABSENT


def _merge_lists(left: list[Any], right: list[Any], shape: Shape) -> list[Any]:
    """Items of the left alone keep their place; shared ones follow the order of the right."""
    mine, theirs = elements_of(left, shape), elements_of(right, shape)
    times = Counter(mine)
    lefts = {e: ABSENT if times[e] > 1 else i for e, i in zip(mine, left, strict=True)}
    rights = dict(zip(theirs, right, strict=True))
    shared = [e for e in theirs if e in lefts]
    out: list[Any] = []
    merged = set()
    at, to = 0, 0
    while at < len(mine) or to < len(theirs):
        if at < len(mine):
            element = mine[at]
            if element not in rights:
                out.append(left[at])
                at += 1
                continue
            taken = to < len(theirs) and element == theirs[to]
            if not taken and to < len(theirs) and shared and shared[0] != element:
                at += 1  # shared, but not the one whose turn it is
                continue
            if taken or element in merged:
                at += 1
        if to < len(theirs):
            element = theirs[to]
            merged.add(element)
            out.append(merge(lefts.get(element, ABSENT), rights[element], shape.items()))
            if shared and shared[0] == element:
                shared.pop(0)
            to += 1
    return out


# --- removal


def remove(value: Any, gone: FieldSet, shape: Shape) -> Any:
    """`value` without the fields and items in `gone`; None when nothing is left."""
    if isinstance(value, dict):
        return None if shape.map_atomic else _remove_fields(value, gone, shape) or None
    if isinstance(value, list):
        if shape.list_kind == "atomic":
            return None
        return _remove_items(value, gone, shape) or None
    return value


def _remove_fields(value: dict[str, Any], gone: FieldSet, shape: Shape) -> dict[str, Any]:
    out = {}
    for name, child in value.items():
        element = field_element(name)
        if element in gone.members:
            continue
        below = gone.below(element)
        out[name] = remove(child, below, shape.child(name)[0]) if below else child
    return out


def _remove_items(items: list[Any], gone: FieldSet, shape: Shape) -> list[Any]:
    out = []
    for element, item in zip(elements_of(items, shape), items, strict=True):
        if element in gone.members:
            continue
        below = gone.below(element)
        out.append(remove(item, below, shape.items()) if below else item)
    return out
