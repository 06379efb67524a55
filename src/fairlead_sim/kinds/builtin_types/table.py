"""Makes `types.json` from the Go sources of the Kubernetes API: for every built-in type its fields,
their protobuf numbers and their types. Run it with the source files as arguments when the pinned
Kubernetes release changes. Knows nothing of decoding."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"^type (\w+) ([\w.\[\]*]+)$", re.MULTILINE)
_FIELD = re.compile(r"^\t(?:(\w+)\s+)?([\w.\[\]*]+)\s+`([^`]*)`", re.MULTILINE)
_IMPORT = re.compile(
    r'^(?:\t|import )(?:(\w+) )?"k8s\.io/(?:api|apimachinery)/([\w./-]+)"$', re.MULTILINE
)
# Types with an encoding of their own; the letters are explained in `shapes.py`.
_SPECIAL = {
    "meta.v1.Time": "time", "meta.v1.MicroTime": "micro", "meta.v1.Duration": "duration",
    "meta.v1.FieldsV1": "raw", "runtime.RawExtension": "raw", "resource.Quantity": "quantity",
    "intstr.IntOrString": "intstr", "types.UID": "s", "apiextensions.v1.JSON": "any",
    "apiextensions.v1.JSONSchemaProps": "any", "authentication.v1.ExtraValue": "strings",
    "authorization.v1.ExtraValue": "strings",
}  # fmt: skip
_BASIC = {
    "string": "s", "bool": "b", "int32": "i", "int64": "i", "int": "i", "int16": "i", "uint32": "i",
    "float64": "f", "[]byte": "y", "byte": "i",
}  # fmt: skip
_ROOTS = (
    "meta.v1.DeleteOptions", "policy.v1.Eviction", "autoscaling.v1.Scale", "core.v1.Binding",
    "authentication.v1.TokenRequest",
)  # fmt: skip


def _package(path: Path) -> str:
    """`core.v1` for .../api/core/v1/types.go, `runtime` for .../pkg/runtime/types.go."""
    folder = path.parent
    if re.fullmatch(r"v\d+\w*", folder.name):
        return f"{folder.parent.name}.{folder.name}"
    return folder.name


class _Source:
    """All structs and named types of the given files, by qualified name."""

    def __init__(self, files: Iterable[Path]) -> None:
        self.structs: dict[str, tuple[str, dict[str, str], str]] = {}
        self.named: dict[str, tuple[str, dict[str, str], str]] = {}
        for file in files:
            text, package = file.read_text(), _package(file)
            imports = {}
            for alias, path in _IMPORT.findall(text):
                target = _package(Path(path) / "x.go")
                imports[alias or path.rsplit("/", 1)[-1]] = target
            for name, body in _STRUCT.findall(text):
                self.structs[f"{package}.{name}"] = (package, imports, body)
            for name, target in _NAMED.findall(text):
                self.named[f"{package}.{name}"] = (package, imports, target)

    def code(self, go_type: str, package: str, imports: dict[str, str]) -> str:
        """How a value of this Go type is encoded; a capital `M:` names a message."""
        if go_type in _BASIC:
            return _BASIC[go_type]
        if go_type.startswith("*"):
            return "*" + self.code(go_type[1:], package, imports).lstrip("*")
        if go_type.startswith("[]"):
            return "[]" + self.code(go_type[2:], package, imports)
        if found := re.fullmatch(r"map\[[\w.]+\](.+)", go_type):
            return "{}" + self.code(found[1], package, imports)
        alias, dot, bare = go_type.rpartition(".")
        name = f"{imports.get(alias, alias)}.{bare}" if dot else f"{package}.{bare}"
        if name in _SPECIAL:
            return _SPECIAL[name]
        if name in self.named:
            inner_package, inner_imports, target = self.named[name]
            return self.code(target, inner_package, inner_imports)
        return f"M:{name}" if name in self.structs else "any"

    def fields(self, name: str) -> dict[str, list[Any]]:
        package, imports, body = self.structs[name]
        made: dict[str, list[Any]] = {}
        for _, go_type, tags in _FIELD.findall(body):
            values = dict(re.findall(r'(\w+):"([^"]*)"', tags))
            json_name, *options = values.get("json", "").split(",")
            number = values.get("protobuf", "").split(",")[1:2]
            if "TypeMeta" in go_type or not number:
                continue
            code = self.code(go_type, package, imports)
            if not json_name and "inline" in options:
                made[f"+{go_type.rsplit('.', 1)[-1]}"] = [int(number[0]), code]
            elif json_name and json_name != "-":
                keeps_zero = "omitempty" not in options and "omitzero" not in options
                made[json_name] = [int(number[0]), ("!" if keeps_zero else "") + code]
        return made


def build_table(files: Iterable[Path], kinds: dict[str, str]) -> dict[str, Any]:
    """{"kinds": {"apps/v1/Deployment": type}, "types": {type: {field: [number, code]}}}."""
    source = _Source(files)
    types: dict[str, Any] = {}
    waiting = [*kinds.values(), *_ROOTS]
    while waiting:
        name = waiting.pop()
        if name in types or name not in source.structs:
            continue
        types[name] = source.fields(name)
        for _, code in types[name].values():
            waiting += re.findall(r"M:([\w.]+)", code)
    missing = sorted(name for name in kinds.values() if name not in types)
    if missing:
        raise SystemExit(f"no Go struct for {', '.join(missing)}; give more source files")
    extra = {
        "meta.k8s.io/v1/DeleteOptions": "meta.v1.DeleteOptions",
        "policy/v1/Eviction": "policy.v1.Eviction",
        "autoscaling/v1/Scale": "autoscaling.v1.Scale",
        "v1/Binding": "core.v1.Binding",
        "authentication.k8s.io/v1/TokenRequest": "authentication.v1.TokenRequest",
    }
    return {"kinds": dict(sorted({**kinds, **extra}.items())), "types": types}


def write_table(table: dict[str, Any]) -> str:
    """One line for each type, so that a new release gives a readable difference."""
    lines = (
        f"  {json.dumps(name)}: {json.dumps(table['types'][name], separators=(',', ':'))}"
        for name in sorted(table["types"])
    )
    kinds = json.dumps(table["kinds"], indent=1).replace("\n", "\n ")
    return f'{{\n "kinds": {kinds},\n "types": {{\n' + ",\n".join(lines) + "\n }\n}\n"


def _served() -> dict[str, str]:
    from fairlead_sim.kinds.builtin_kinds import builtin_kinds

    served = {}
    for kind in builtin_kinds():
        folder = kind.group.split(".")[0] or "core"
        served[f"{kind.api_version}/{kind.kind}"] = f"{folder}.{kind.version}.{kind.kind}"
    return served


if __name__ == "__main__":
    sys.stdout.write(write_table(build_table(map(Path, sys.argv[1:]), _served())))
