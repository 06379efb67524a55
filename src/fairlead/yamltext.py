"""YAML (and so JSON) text to plain data that remembers the line of every field, so that a
complaint can point at the place. Owns parsing and its bounds; knows nothing of what the data
means."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from fairlead.errors import InvalidInput

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 64
MAX_NODES = 200_000

FieldPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed document: its data, and where each part of it stands."""

    source: str
    data: Any
    lines: dict[FieldPath, int] = field(repr=False)

    def place(self, *path: str | int) -> str:
        """`file:line: field` of the nearest place to `path` that exists."""
        for length in range(len(path), -1, -1):
            line = self.lines.get(path[:length])
            if line is not None:
                dotted = format_path(path)
                return f"{self.source}:{line}" + (f": {dotted}" if dotted else "")
        return self.source

    def invalid(self, problem: str, *path: str | int, remedy: str = "") -> InvalidInput:
        return InvalidInput(self.place(*path), problem, remedy)


def format_path(path: FieldPath) -> str:
    """`clusters[0].name`, as people write it."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


def read(path: Path) -> Document:
    """The single document in a file; every failure names the file."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        problem = f"cannot be read ({error.strerror or error})"
        raise InvalidInput(str(path), problem, "check that it exists and is readable") from error
    return parse(raw, str(path))


def parse(raw: bytes | str, source: str) -> Document:
    """The single document in a text. An empty text is a document whose data is None."""
    documents = parse_all(raw, source)
    if len(documents) > 1:
        line = documents[1].lines.get((), 1)
        raise InvalidInput(f"{source}:{line}", "a second document starts here", "keep only one")
    return documents[0] if documents else Document(source, None, {(): 1})


def parse_all(raw: bytes | str, source: str) -> list[Document]:
    """Every document of a `---` separated text."""
    text = _decode(raw, source)
    builder = _Builder(source)
    try:
        loader = yaml.CSafeLoader(text)
        try:
            documents = []
            while loader.check_node() and (node := loader.get_node()) is not None:
                documents.append(builder.document(node))
            return documents
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{source}:{mark.line + 1}" if mark else source
        problem = error.problem or error.context or "cannot be parsed"
        raise InvalidInput(place, f"not valid YAML: {problem}", "correct the syntax") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = f"not valid YAML: {str(error).splitlines()[0] if str(error) else 'too deep'}"
        raise InvalidInput(source, problem, "correct the syntax") from error


def _decode(raw: bytes | str, source: str) -> str:
    if len(raw) > MAX_BYTES:
        raise InvalidInput(source, f"is larger than {MAX_BYTES // 1024**2} MiB", "split it")
    if isinstance(raw, str):
        return raw
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        problem = f"not valid UTF-8 at byte {error.start}"
        raise InvalidInput(f"{source}:{line}", problem, "save it as UTF-8") from error


class _Builder:
    """Turns composed nodes into data, refusing duplicate keys and alias bombs."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._nodes = 0
        self._constructor = yaml.constructor.SafeConstructor()

    def document(self, node: yaml.Node) -> Document:
        lines: dict[FieldPath, int] = {}
        return Document(self._source, self._build(node, (), lines), lines)

    def _build(self, node: yaml.Node, path: FieldPath, lines: dict[FieldPath, int]) -> Any:
        line = node.start_mark.line + 1
        lines[path] = line
        self._nodes += 1
        if len(path) > MAX_DEPTH or self._nodes > MAX_NODES:
            problem = "nests too deep or repeats too much through aliases"
            raise InvalidInput(f"{self._source}:{line}", problem, "flatten it")
        if not node.tag.startswith("tag:yaml.org,2002:") or "/" in node.tag:
            # Not quoted: what looks like a tag may be the beginning of an unquoted secret.
            problem = "a tag (!...) is not supported"
            remedy = "write plain data, in quotes if it begins with !"
            raise InvalidInput(f"{self._source}:{line}", problem, remedy)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, lines)
        if isinstance(node, yaml.SequenceNode):
            return [self._build(item, (*path, i), lines) for i, item in enumerate(node.value)]
        return self._scalar(node)

    def _mapping(
        self, node: yaml.MappingNode, path: FieldPath, lines: dict[FieldPath, int]
    ) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise InvalidInput(f"{self._source}:{line}", "a key must be plain text")
            key = str(key_node.value)
            if key_node.tag == "tag:yaml.org,2002:merge":
                problem = "merge keys (<<) are not supported"
                raise InvalidInput(f"{self._source}:{line}", problem, "write the fields out")
            if key in mapping:
                problem = f"the key {key!r} is given twice"
                raise InvalidInput(f"{self._source}:{line}", problem, "keep one of them")
            mapping[key] = self._build(value_node, (*path, key), lines)
            lines[(*path, key)] = line
        return mapping

    def _scalar(self, node: yaml.Node) -> Any:
        value = self._constructor.construct_object(node)
        # A date would not survive JSON; Kubernetes reads such text as text.
        return value if isinstance(value, str | int | float | bool | None) else node.value
