"""Schemas and objects on which a real kube-apiserver gave its opinion, recorded in
`schema_golden.json`. Run this module with the URL of a server, a CA file and a token to record
them again."""

from __future__ import annotations

import copy
import json
import sys
import time
from pathlib import Path
from typing import Any

from tests.sim.patch.wire import Send, connect

Object = dict[str, Any]
GOLDEN = Path(__file__).with_name("schema_golden.json")
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "gadgets.example.com"


def _objects(**properties: Any) -> Object:
    return {"type": "object", "properties": properties}


SPEC: Object = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 10},
        "ratio": {"type": "number", "exclusiveMinimum": True, "minimum": 0.5, "multipleOf": 0.25},
        "small": {"type": "integer", "format": "int32"},
        "name": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]+$"},
        "color": {"type": "string", "enum": ["red", "green"]},
        "level": {"type": "integer", "enum": [1, 2]},
        "flag": {"type": "boolean", "default": True},
        "maybe": {"type": "string", "nullable": True},
        "when": {"type": "string", "format": "date-time"},
        "lasts": {"type": "string", "format": "duration"},
        "address": {"type": "string", "format": "ipv4"},
        "net": {"type": "string", "format": "cidr"},
        "link": {"type": "string", "format": "uri"},
        "mail": {"type": "string", "format": "email"},
        "host": {"type": "string", "format": "hostname"},
        "id": {"type": "string", "format": "uuid"},
        "blob": {"type": "string", "format": "byte"},
        "odd": {"type": "string", "format": "no-such-format"},
        "port": {"x-kubernetes-int-or-string": True},
        "list": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "map": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string"},
                    "weight": {"type": "integer", "default": 5, "maximum": 9},
                },
            },
        },
        "labels": {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 2,
            "additionalProperties": {"type": "string", "maxLength": 3},
        },
        "nested": {
            "type": "object",
            "default": {},
            "properties": {
                "mode": {"type": "string", "default": "auto"},
                "deep": {"type": "object", "properties": {"x": {"type": "integer", "default": 1}}},
            },
        },
        "free": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"known": _objects(a={"type": "integer"})},
        },
        "template": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        "either": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        "any": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "anyOf": [
                {"properties": {"a": {"minimum": 5}}, "required": ["a"]},
                {"required": ["b"]},
            ],
        },
        "all": {"type": "integer", "allOf": [{"minimum": 3}, {"maximum": 5}]},
        "never": {"type": "string", "not": {"enum": ["bad"]}},
    },
}
RULES: Object = {
    "type": "object",
    "x-kubernetes-validations": [
        {"rule": "!has(self.low) || !has(self.high) || self.low <= self.high"},
        {
            "rule": "!has(self.mode) || self.mode != 'forbidden'",
            "message": "mode may not be forbidden",
            "fieldPath": ".mode",
            "reason": "FieldValueForbidden",
        },
        {
            "rule": "!has(self.high) || self.high < 100",
            "messageExpression": "self.high > 1000 ? 'much too high' : 'too high'",
        },
        {"rule": "!has(oldSelf.name) || has(self.name)", "message": "name may not be removed"},
        {"rule": "!has(self.boom) || self.map['missing'] == 'x'"},
        {"rule": "!has(self.namespace) || self.__namespace__ != 'x'", "message": "not x"},
    ],
    "properties": {
        "low": {"type": "integer"},
        "high": {"type": "integer"},
        "mode": {"type": "string"},
        "namespace": {"type": "string"},
        "boom": {"type": "boolean"},
        "name": {
            "type": "string",
            "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is immutable"}],
        },
        "items": {
            "type": "array",
            "maxItems": 5,
            "items": {
                "type": "object",
                "x-kubernetes-validations": [{"rule": "self.a != self.b", "message": "a equals b"}],
                "properties": {
                    "a": {"type": "string", "maxLength": 9},
                    "b": {"type": "string", "maxLength": 9},
                },
            },
        },
        "map": {
            "type": "object",
            "maxProperties": 5,
            "additionalProperties": {
                "type": "string",
                "maxLength": 9,
                "x-kubernetes-validations": [{"rule": "self.startsWith('v')"}],
            },
        },
        "level": {
            "type": "integer",
            "x-kubernetes-validations": [
                {
                    "rule": "oldSelf.hasValue() ? self >= oldSelf.value() : self == 0",
                    "optionalOldSelf": True,
                    "message": "starts at 0 and only grows",
                }
            ],
        },
    },
}
SCHEMA: Object = _objects(spec=SPEC, rules=RULES, status=_objects(phase={"type": "string"}))


def crd(schema: Any, name: str = "gadget") -> Object:
    """A definition with this schema."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{name}s.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": f"{name}s", "singular": name, "kind": name.capitalize()},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def _spec(**fields: Any) -> Object:
    return {"spec": {"size": 1, **fields}}


def _rules(**fields: Any) -> Object:
    return {"spec": {"size": 1}, "rules": fields}


CREATED: dict[str, Object] = {
    "minimal": {"spec": {"size": 1}},
    "nothing at all": {},
    "spec is a list": {"spec": []},
    "required": {"spec": {}},
    "too small": _spec(size=0),
    "too big": _spec(size=11),
    "not a number": _spec(size="3"),
    "a float for an integer": _spec(size=2.5),
    "a whole float for an integer": _spec(size=2.0),
    "null": {"spec": {"size": None}},
    "null spec": {"spec": None},
    "ratio at its limit": _spec(ratio=0.5),
    "ratio no multiple": _spec(ratio=0.6),
    "int32": _spec(small=4294967296),
    "name too short": _spec(name="a"),
    "name too long": _spec(name="abcde"),
    "name off pattern": _spec(name="aB"),
    "bad color": _spec(color="blue"),
    "bad level": _spec(level=3),
    "flag as text": _spec(flag="true"),
    "flag null": _spec(flag=None),
    "maybe null": _spec(maybe=None),
    "text as number": _spec(name=12),
    "text as map": _spec(name={"a": 1}),
    "dates": _spec(when="2020-01-02T03:04:05Z"),
    "bad date": _spec(when="yesterday"),
    "durations": _spec(lasts="1h30m"),
    "bad duration": _spec(lasts="soon"),
    "bad formats": _spec(address="1.2.3", net="10.0.0.0", host="a_b", blob="*"),
    "more bad formats": _spec(link="no uri", mail="nobody", id="1", odd="anything"),
    "good formats": _spec(
        address="1.2.3.4",
        net="10.0.0.0/8",
        host="a.b",
        blob="YQ==",
        link="https://x/y",
        mail="a@b.c",
    ),
    "port as text": _spec(port="http"),
    "port as number": _spec(port=80),
    "port as bool": _spec(port=True),
    "empty list": _spec(list=[]),
    "long list": _spec(list=["a", "b", "c"]),
    "list of the wrong type": _spec(list=["a", 1]),
    "list is a map": _spec(list={"a": 1}),
    "set with duplicates": _spec(set=["a", "b", "a", "a"]),
    "map with duplicates": _spec(map=[{"name": "a"}, {"name": "a", "weight": 1}]),
    "map without key": _spec(map=[{"weight": 10}]),
    "labels": _spec(labels={"a": "b"}),
    "no labels": _spec(labels={}),
    "too many labels": _spec(labels={"a": "1", "b": "2", "c": "3"}),
    "bad label": _spec(labels={"a": "long", "b": 1}),
    "null label": _spec(labels={"a": None, "b": "1"}),
    "defaults below": _spec(nested={"deep": {}}),
    "pruned": _spec(unknown=1, nested={"x": 1, "mode": "m"}, map=[{"name": "a", "y": 1}])
    | {"top": 1},
    "free": _spec(free={"x": {"y": 1}, "known": {"a": 1, "b": 2}}),
    "template": _spec(template={"apiVersion": "v1", "kind": "Pod", "spec": {"x": 1}}),
    "bad template": _spec(template={"kind": "", "spec": {"x": 1}}),
    "either a": _spec(either={"a": "x"}),
    "neither": _spec(either={}),
    "both": _spec(either={"a": "x", "b": "y"}),
    "any": _spec(any={"b": 1}),
    "none of any": _spec(any={"a": 1}),
    "all of": _spec(all=9),
    "never": _spec(never="bad"),
    "many errors": _spec(size="x", name="A", color="blue", list=[]),
    "rules hold": _rules(low=1, high=2, items=[{"a": "1", "b": "2"}], map={"k": "v1"}, level=0),
    "low above high": _rules(low=3, high=2),
    "forbidden by rule": _rules(mode="forbidden"),
    "high": _rules(high=100),
    "rule on items": _rules(items=[{"a": "1", "b": "2"}, {"a": "1", "b": "1"}]),
    "rule that fails to run": _rules(items=[{"a": "1"}]),
    "rule on a map": _rules(map={"k": "x"}),
    "rule without its key": _rules(boom=True, map={"k": "v"}),
    "escaped name": _rules(namespace="x"),
    "optional old": _rules(level=1),
    "rules are not run on a bad object": {"spec": {}, "rules": {"low": 3, "high": 2}},
}
UPDATED: dict[str, tuple[Object, Object]] = {
    "immutable": (_rules(name="a"), _rules(name="b")),
    "removed": (_rules(name="a"), _rules()),
    "added": (_rules(), _rules(name="b")),
    "unchanged": (_rules(name="a"), _rules(name="a", low=1)),
    "level grows": (_rules(level=0), _rules(level=2)),
    "level shrinks": (_rules(level=0), _rules(level=-1)),
}
BAD_SCHEMAS: dict[str, Any] = {
    "no type": {"type": "object", "properties": {"spec": {"properties": {}}}},
    "root is no object": {"type": "string"},
    "array without items": _objects(spec={"type": "array"}),
    "items without type": _objects(spec={"type": "array", "items": {}}),
    "unknown type": _objects(spec={"type": "int"}),
    "reference": _objects(spec={"type": "object", "$ref": "#/definitions/x"}),
    "metadata": _objects(
        metadata={"type": "object", "properties": {"labels": {"type": "object"}}},
    ),
    "properties and additional": _objects(
        spec={
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "additionalProperties": {"type": "string"},
        }
    ),
    "type inside of logic": _objects(spec={"type": "string", "anyOf": [{"type": "string"}]}),
    "not specified outside": _objects(
        spec={"type": "object", "anyOf": [{"properties": {"a": {"minimum": 1}}}]}
    ),
    "unique items": _objects(
        spec={"type": "array", "uniqueItems": True, "items": {"type": "string"}}
    ),
    "map without keys": _objects(
        spec={"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}}
    ),
    "keys that do not exist": _objects(
        spec={
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"a": {"type": "string"}}},
        }
    ),
    "key neither required nor defaulted": _objects(
        spec={
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": {"type": "string"}}},
        }
    ),
    "list type on an object": _objects(spec={"type": "object", "x-kubernetes-list-type": "set"}),
    "unknown list type": _objects(
        spec={"type": "array", "x-kubernetes-list-type": "bag", "items": {"type": "string"}}
    ),
    "unknown map type": _objects(spec={"type": "object", "x-kubernetes-map-type": "frozen"}),
    "bad pattern": _objects(spec={"type": "string", "pattern": "("}),
    "bad default": _objects(spec={"type": "integer", "default": "x"}),
    "default at the root": {"type": "object", "default": {}},
    "int or string preserving": _objects(
        spec={"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True}
    ),
    "preserve false": _objects(
        spec={"type": "object", "x-kubernetes-preserve-unknown-fields": False}
    ),
    "embedded without properties": _objects(
        spec={"type": "object", "x-kubernetes-embedded-resource": True}
    ),
    "rule with bad syntax": _objects(
        spec={"type": "object", "x-kubernetes-validations": [{"rule": "self.x >="}]}
    ),
    "rule with unknown variable": _objects(
        spec={"type": "object", "x-kubernetes-validations": [{"rule": "that == 1"}]}
    ),
    "empty rule": _objects(spec={"type": "object", "x-kubernetes-validations": [{"rule": ""}]}),
}


def gadget(fields: Object, name: str = "g") -> Object:
    """A whole object."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Gadget",
        "metadata": {"name": name, "namespace": "default"},
        **copy.deepcopy(fields),
    }


def record(send: Send) -> dict[str, Any]:
    """The opinion of a real server."""
    path = f"/apis/{GROUP}/v1/namespaces/default/gadgets"
    code, answer = send("POST", CRDS, crd(SCHEMA))
    if code >= 300 and answer.get("reason") != "AlreadyExists":
        raise RuntimeError(answer["message"])
    for _ in range(100):
        if send("GET", path, None)[0] == 200:
            break
        time.sleep(0.1)
    created = {
        name: _opinion(*send("POST", f"{path}?dryRun=All", gadget(fields)))
        for name, fields in CREATED.items()
    }
    strict = {
        name: _opinion(
            *send("POST", f"{path}?dryRun=All&fieldValidation=Strict", gadget(CREATED[name]))
        )
        for name in ("pruned", "free")
    }
    updated = {}
    for number, (name, (before, after)) in enumerate(UPDATED.items()):
        item = f"u{number}"
        _, live = send("POST", path, gadget(before, item))
        new = gadget(after, item)
        new["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
        updated[name] = _opinion(*send("PUT", f"{path}/{item}", new))
        send("DELETE", f"{path}/{item}", None)
    schemas = {
        name: _opinion(*send("POST", f"{CRDS}?dryRun=All", crd(schema, "bad")))
        for name, schema in BAD_SCHEMAS.items()
    }
    return {"created": created, "strict": strict, "updated": updated, "schemas": schemas}


def _opinion(code: int, answer: Any) -> Object:
    if code < 300:
        kept = {k: v for k, v in answer.items() if k in ("spec", "rules", "status", "top")}
        return {"code": code, "object": kept}
    causes = answer.get("details", {}).get("causes", [])
    return {"code": code, "message": answer["message"], "causes": causes}


if __name__ == "__main__":
    answers = record(connect(*sys.argv[1:4]))
    GOLDEN.write_text(json.dumps(answers, indent=1, sort_keys=True) + "\n")
