"""Kubernetes strategic merge patch, which built-in kinds accept: lists merge by the merge keys
of their type, and directives in the patch delete, replace, order or retain. `kubectl apply`,
`edit` and `set` send it. Knows nothing of custom kinds, which do not accept it."""

from __future__ import annotations

from typing import Any

from fairlead_sim.patch.errors import PatchError
from fairlead_sim.patch.json_values import copied, go_print, same
from fairlead_sim.patch.list_types import ListTypes
from fairlead_sim.patch.shapes import Shape

DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
ORDER = "$setElementOrder/"
DELETE_PRIMITIVES = "$deleteFromPrimitiveList/"

Fields = dict[str, Any]


def apply_strategic_patch(obj: Fields, patch: Fields, lists: ListTypes) -> Fields:
    """The patched copy of `obj`; raises PatchError."""
    if not isinstance(patch, dict):
        raise PatchError("a strategic merge patch must be an object", 400)
    return _merge_map(copied(obj), copied(patch), lists.root)


def _merge_map(original: Fields, patch: Fields, shape: Shape) -> Fields:
    """Both arguments are ours to change."""
    if DIRECTIVE in patch:
        return _directed(patch)
    _retain_keys(original, patch)
    _merge_ordered_lists(original, patch, shape)
    for key, value in patch.items():
        if key.startswith(DELETE_PRIMITIVES):
            name = key.removeprefix(DELETE_PRIMITIVES)
            if isinstance(original.get(name), list) and isinstance(value, list):
                original[name] = [i for i in original[name] if not _in(i, value)]
        elif value is None:
            original.pop(key, None)
        else:
            _merge_field(original, key, value, shape.child(key)[0])
    return original


def _merge_field(original: Fields, key: str, value: Any, shape: Shape) -> None:
    before = original.get(key)
    if isinstance(before, dict) and isinstance(value, dict):
        original[key] = _merge_map(before, value, shape)
    elif isinstance(before, list) and isinstance(value, list):
        original[key] = _merge_list(before, value, shape)
    else:
        plain = _without_directives(_without_nulls(value))
        if plain is _DROPPED:
            original.pop(key, None)
        else:
            original[key] = plain


def _directed(patch: Fields) -> Fields:
    directive = patch.pop(DIRECTIVE)
    if directive == "replace":
        return patch
    if directive == "delete":
        return {}
    raise _unknown_directive({DIRECTIVE: directive, **patch})


def _unknown_directive(patch: Fields) -> PatchError:
    return PatchError(f"unknown patch type: {patch[DIRECTIVE]} in map: {go_print(patch)}", 500)


def _retain_keys(original: Fields, patch: Fields) -> None:
    if RETAIN_KEYS not in patch:
        return
    retained = patch.pop(RETAIN_KEYS)
    if not isinstance(retained, list) or any(
        key not in retained
        for key, value in patch.items()
        if value is not None and not key.startswith((ORDER, DELETE_PRIMITIVES))
    ):
        raise PatchError("invalid patch format of retainKeys", 400)
    for key in [k for k in original if k not in retained]:
        del original[key]


# --- lists


def _merge_ordered_lists(original: Fields, patch: Fields, shape: Shape) -> None:
    """Merge the lists whose order the patch gives, and take them out of the patch."""
    for key in [k for k in patch if k.startswith(ORDER)]:
        order = patch.pop(key)
        name = key.removeprefix(ORDER)
        sub = shape.child(name)[0]
        before, change = original.get(name), patch.pop(name, None)
        if not isinstance(order, list):
            raise PatchError("invalid patch format of setElementOrder list", 400)
        if before is None and change is None:
            continue
        _check_order(change or [], order, sub)
        if before is None:
            merged = _without_directives(change)
        elif change is None:
            merged = before
        else:
            merged = _merge_list(before, change, sub)
        original[name] = _ordered(merged, order, before or [], sub)


def _check_order(change: list[Any], order: list[Any], shape: Shape) -> None:
    wanted = [_key(i, shape) for i in change if not (isinstance(i, dict) and DIRECTIVE in i)]
    given = iter([_key(i, shape) for i in order])
    if wanted and order and not all(any(same(w, g) for g in given) for w in wanted):
        raise PatchError(
            f"The order in patch list:\n{go_print(change)}\n doesn't match $setElementOrder list:\n"
            f"{go_print(order)}\n",
            500,
        )


def _merge_list(original: list[Any], patch: list[Any], shape: Shape) -> list[Any]:
    if shape.merge_key is None:
        return patch
    if not original and not patch:
        return original
    if not shape.merge_key:
        merged = [*original, *(i for i in patch if not _in(i, original))]
        return _ordered(merged, patch, original, shape)
    original, patch = _special_items(original, patch, shape)
    merged = list(original)
    for item in patch:
        key = _key(item, shape)
        at = _find(merged, key, shape)
        if at is None:
            merged.append(item)
        else:
            merged[at] = _merge_map(merged[at], item, shape.items())
    return _ordered(merged, patch, original, shape)


def _special_items(
    original: list[Any], patch: list[Any], shape: Shape
) -> tuple[list[Any], list[Any]]:
    """Obey the items that only carry a directive; what is left of both lists."""
    plain, replace = [], False
    for item in patch:
        directive = item.get(DIRECTIVE) if isinstance(item, dict) else None
        if directive is None:
            plain.append(item)
        elif directive == "delete":
            key = _key(item, shape)
            original = [i for i in original if not same(_key(i, shape), key)]
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise PatchError("merging lists cannot yet be specified in the patch", 500)
        else:
            raise _unknown_directive(item)
    return (plain, []) if replace else (original, plain)


def _ordered(merged: list[Any], order: list[Any], before: list[Any], shape: Shape) -> list[Any]:
    """Items in `order` follow it, the others keep the place that they had before among them."""
    ranks = [_key(i, shape) for i in order]
    live = [_key(i, shape) for i in before]
    mine = sorted(
        (i for i in merged if _in(_key(i, shape), ranks)),
        key=lambda i: _position(ranks, _key(i, shape)),
    )
    others = [i for i in merged if not _in(_key(i, shape), ranks)]
    out: list[Any] = []
    while mine and others:
        left, right = (_position(live, _key(i[0], shape)) for i in (others, mine))
        out.append((others if 0 <= left < right else mine).pop(0))
    return out + mine + others


def _key(item: Any, shape: Shape) -> Any:
    if not shape.merge_key:
        return item
    if not isinstance(item, dict):
        raise PatchError(f"expected a map in a list that merges by {shape.merge_key}", 500)
    if shape.merge_key not in item:
        raise PatchError(
            f"map: {go_print(item)} does not contain declared merge key: {shape.merge_key}", 500
        )
    return item[shape.merge_key]


def _find(items: list[Any], key: Any, shape: Shape) -> int | None:
    position = _position([_key(i, shape) for i in items], key)
    return None if position < 0 else position


def _position(keys: list[Any], key: Any) -> int:
    return next((at for at, candidate in enumerate(keys) if same(candidate, key)), -1)


def _in(value: Any, values: list[Any]) -> bool:
    return _position(values, value) >= 0


# --- values that are new


class _Dropped:
    pass


_DROPPED = _Dropped()


def _without_directives(value: Any) -> Any:
    if isinstance(value, dict):
        if DIRECTIVE in value:
            return _DROPPED
        fields = {k: _without_directives(v) for k, v in value.items()}
        return {k: v for k, v in fields.items() if v is not _DROPPED}
    if isinstance(value, list):
        return [v for v in map(_without_directives, value) if v is not _DROPPED]
    return value


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(v) for v in value]
    return value
