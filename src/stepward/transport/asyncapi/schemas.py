"""JSON Schemas of structs, with the description that stands beside each field."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import msgspec
from msgspec import Struct

Schema = dict[str, Any]

PLACE = "#/components/schemas/{name}"


def schemas(structs: Sequence[type[Struct]]) -> dict[str, Schema]:
    """A schema for each struct, by its name; the structs that they refer to are included."""
    _, found = msgspec.json.schema_components(structs, ref_template=PLACE)
    wanted: dict[str, Schema] = {}
    for struct in structs:
        schema = found[struct.__name__]
        described = dict(_described(struct))
        for name, property_ in schema["properties"].items():
            _inline(property_, found)
            if name in described:
                property_["description"] = described[name]
        schema["description"] = _plain(inspect.getdoc(struct) or "")
        wanted[struct.__name__] = schema
    return wanted


def refer(struct: type[Struct]) -> Schema:
    """A reference to the schema of a struct."""
    return {"$ref": PLACE.format(name=struct.__name__)}


def _inline(property_: Schema, found: dict[str, Schema]) -> None:
    """Drop a description beside a reference, which allows none."""
    if "$ref" in property_:
        name = property_.pop("$ref").rpartition("/")[2]
        property_.update({key: value for key, value in found[name].items() if key != "title"})


def _described(struct: type[Struct]) -> Iterator[tuple[str, str]]:
    """Each field's description in the source; a subclass overrides."""
    yield "type", "What kind of event this is."
    for owner in reversed(struct.__mro__):
        if owner is not Struct and issubclass(owner, Struct):
            yield from _documented(owner)


def _documented(owner: type[Struct]) -> Iterator[tuple[str, str]]:
    declared = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
    body = declared.body if isinstance(declared, ast.ClassDef) else []
    for field, text in pairwise(body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(said))):
                yield name, _plain(said)


def _plain(text: str) -> str:
    return " ".join(text.replace("``", "`").split())
