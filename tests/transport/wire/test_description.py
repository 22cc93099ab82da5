"""docs/asyncapi.json is what the structs say, and what the AsyncAPI initiative calls a document."""

from __future__ import annotations

import copy
import functools
import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from stepward.transport.asyncapi import document
from stepward.transport.asyncapi.document import text
from tests.transport.wire.described import PAGE

NODE_MODULES = Path(__file__).parents[3] / "build" / "npm" / "node_modules"
SPECS = NODE_MODULES / "@asyncapi" / "specs" / "schemas" / "3.0.0-without-$id.json"
AGAIN = "write it again: .venv/bin/python -m stepward.transport.asyncapi > docs/asyncapi.json"


def official() -> dict[str, Any]:
    """The initiative's own schema, as npm has it."""
    if not SPECS.exists():
        missing = "expected npm's @asyncapi/specs, found none: run tests/install-programs"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return _read()


@functools.cache
def _read() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(SPECS.read_text(encoding="utf-8"))
    return schema


def test_the_page_is_what_the_structs_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == text(), AGAIN


def test_it_is_a_document_of_asyncapi() -> None:
    jsonschema.Draft7Validator(official()).validate(document())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("asyncapi",), "2.0.0"),
        (("info", "version"), None),
        (("channels", "nats.requests", "adress"), "stepward"),
        (("operations", "nats.reply", "action"), "publish"),
        (("operations", "rabbitmq.reply", "bindings", "amqp", "deliveryMode"), 7),
        (("channels", "rabbitmq.requests", "bindings", "amqp", "is"), "topic"),
        (("channels", "amqp10.requests", "servers"), "amqp1"),
    ],
)
def test_an_invalid_document_is_found(path: tuple[str, ...], value: object) -> None:
    worse = copy.deepcopy(document())
    functools.reduce(lambda inner, name: inner[name], path[:-1], worse)[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(official()).validate(worse)


def test_every_reference_leads_somewhere() -> None:
    whole = document()
    for reference in references(whole):
        assert functools.reduce(lambda inner, name: inner[name], reference.removeprefix("#/").split("/"), whole)


def test_every_attribute_is_described() -> None:
    schemas = document()["components"]["schemas"]
    silent = [
        f"{kind}.{name}"
        for kind, schema in schemas.items()
        for name, property_ in schema.get("properties", {}).items()
        if not property_.get("description")
    ]
    assert silent == []


def references(node: object) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [found for value in node.values() for found in references(value)]
    return [found for value in node for found in references(value)] if isinstance(node, list) else []
