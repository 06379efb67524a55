"""Adding and removing one item of the list `clusters` in YAML text, touching nothing else where
that can be done and proved by reading the result back. Owns the text surgery; knows nothing of
files or of what an entry means."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from fairlead import yamltext
from fairlead.errors import InvalidInput

LIST = "clusters"

_CONTROL = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def with_item(text: str, source: str, item: dict[str, Any]) -> str:
    """The text with one more item. Comments and layout stay, unless it is written in one line."""
    data = yamltext.parse(text, source).data or {}
    wanted = data | {LIST: [*(data.get(LIST) or []), item]}
    return _proved(_append(text, item), wanted, text, source)


def without_item(text: str, source: str, index: int) -> str:
    """The text without the item, and without the comment right above it."""
    data = yamltext.parse(text, source).data
    items = data[LIST]
    wanted = data | {LIST: items[:index] + items[index + 1 :]}
    return _proved(_cut(text, index), wanted, text, source)


def _proved(edited: str | None, wanted: dict[str, Any], text: str, source: str) -> str:
    """The edited text if it says exactly what is wanted, else the whole written anew."""
    if edited is not None and _says(edited, source, wanted):
        return edited
    if text.lstrip().startswith("{"):
        return _json(wanted)
    return _dump(wanted)


def _says(text: str, source: str, wanted: dict[str, Any]) -> bool:
    try:
        return bool(yamltext.parse(text, source).data == wanted)
    except InvalidInput:
        return False


def _append(text: str, item: dict[str, Any]) -> str | None:
    if text and not text.endswith("\n"):
        text += "\n"
    found = _list_node(text)
    if found is None:
        return f"{text}{LIST}:\n{_dump([item])}"
    lines = text.splitlines(keepends=True)
    key, node = found
    if isinstance(node, yaml.SequenceNode) and node.value:
        if node.flow_style:
            return None
        at, indent = _last_line(node) + 1, node.start_mark.column
    elif isinstance(node, yaml.SequenceNode) or node.value in ("", "null", "~"):
        at, indent = key.start_mark.line + 1, key.start_mark.column
        lines[at - 1] = " " * indent + f"{LIST}:\n"
    else:
        return None
    block = "".join(" " * indent + line for line in _dump([item]).splitlines(keepends=True))
    return "".join(lines[:at]) + block + "".join(lines[at:])


def _cut(text: str, index: int) -> str | None:
    found = _list_node(text)
    if found is None:
        return None
    key, node = found
    if not isinstance(node, yaml.SequenceNode) or node.flow_style:
        return None
    lines = text.splitlines(keepends=True)
    item = node.value[index]
    first, last = item.start_mark.line, _last_line(item)
    margin = " " * node.start_mark.column + "#"
    while first > 0 and lines[first - 1].startswith(margin):
        first -= 1
    if len(node.value) == 1:
        indent = " " * key.start_mark.column
        lines[key.start_mark.line] = f"{indent}{LIST}: []\n"
        first = max(first, key.start_mark.line + 1)
    return "".join(lines[:first]) + "".join(lines[last + 1 :])


def _list_node(text: str) -> tuple[yaml.Node, yaml.Node] | None:
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    if isinstance(root, yaml.MappingNode):
        for key, value in root.value:
            if key.value == LIST:
                return key, value
    return None


def _last_line(node: yaml.Node) -> int:
    """The last line with content. A block's own end lies behind the comments after it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _last_line(last[1] if isinstance(last, tuple) else last)
    mark = node.end_mark
    return mark.line - 1 if mark.column == 0 and mark.line > node.start_mark.line else mark.line


def _json(data: Any) -> str:
    """JSON that is YAML too: letters as they are, because YAML does not join the two escaped
    halves of a rare one, and control characters escaped, because YAML refuses them."""
    text = json.dumps(data, indent=2, ensure_ascii=False)
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def _dump(data: Any) -> str:
    """Readable, unless a strange letter would be read back as something else."""
    readable = yaml.safe_dump(data, sort_keys=False, width=100, allow_unicode=True)
    if yaml.load(readable, Loader=yaml.CSafeLoader) == data:
        return str(readable)
    return str(yaml.safe_dump(data, sort_keys=False, width=100))
