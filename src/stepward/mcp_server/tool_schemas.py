"""Operations of the OpenAPI document as tools: one flat object of arguments, and the request that they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from msgspec import Struct

ToolSchema = dict[str, Any]
DEFINITIONS = "#/components/schemas/"
NAMES = {"If-Match": "if_match", "Idempotency-Key": "idempotency_key", "Prefer": "prefer"}
"""Arguments for headers."""
PLACES = ("path", "query", "header")
LONGEST_ARGUMENT = 4_000
"""Most characters of an argument in the address of a request."""


class ApiRequest(Struct, frozen=True, kw_only=True):
    """A request to the API."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: dict[str, Any] | None


class ApiOperation(Struct, frozen=True, kw_only=True):
    """An operation of the API."""

    id: str
    method: str
    path: str
    description: str
    places: dict[str, tuple[str, str]]
    """By the name of an argument its place (path, query or header) and its name there."""
    body: frozenset[str]
    """The arguments that are fields of the body."""
    has_body: bool
    schema: ToolSchema
    """The JSON Schema of the arguments."""

    def request(self, arguments: Mapping[str, Any]) -> ApiRequest:
        """The request for arguments that fit the schema."""
        path, query, headers = self.path, dict[str, str](), dict[str, str]()
        for argument, value in arguments.items():
            place, name = self.places.get(argument, ("", ""))
            if place == "path":
                path = path.replace(f"{{{name}}}", _part(value))
            elif place == "query" and value is not None:
                query[name] = _text(value)
            elif place == "header" and value is not None:
                headers[name] = _text(value)
        fields = {name: value for name, value in arguments.items() if name in self.body}
        return ApiRequest(
            method=self.method.upper(),
            path=path,
            query=query,
            headers=headers,
            body=fields if self.has_body else None,
        )


def operations(document: Mapping[str, Any]) -> dict[str, ApiOperation]:
    """The operations of an OpenAPI document by their ids."""
    known = document["components"]["schemas"]
    found = [
        _operation(method, path, described, known)
        for path, methods in document["paths"].items()
        for method, described in methods.items()
        if isinstance(described, dict) and "operationId" in described
    ]
    return {each.id: each for each in found}


def required(operation: ApiOperation, argument: str) -> ToolSchema:
    """The schema of the operation's arguments, with one that may not be left out."""
    given = operation.schema["properties"][argument]
    kinds = [kind for kind in given.get("oneOf", given.get("anyOf", [given])) if kind.get("type") != "null"]
    properties = operation.schema["properties"] | {argument: _described(kinds[0] | {"minLength": 1}, given)}
    names = sorted({*operation.schema.get("required", []), argument})
    return operation.schema | {"properties": properties, "required": names}


def _operation(method: str, path: str, described: Mapping[str, Any], known: Mapping[str, ToolSchema]) -> ApiOperation:
    parameters = [each for each in described.get("parameters", []) if each["in"] in PLACES]
    places = {NAMES.get(each["name"], each["name"]): (each["in"], each["name"]) for each in parameters}
    properties = {
        NAMES.get(each["name"], each["name"]): _described(_inlined(each["schema"], known), each) for each in parameters
    }
    needed = [NAMES.get(each["name"], each["name"]) for each in parameters if each.get("required")]
    body = _body_schema(described, known)
    fields = body.get("properties", {})
    return ApiOperation(
        id=str(described["operationId"]),
        method=method,
        path=path,
        description=str(described.get("description") or described.get("summary") or ""),
        places={name: place for name, place in places.items() if name not in fields},
        body=frozenset(fields),
        has_body="requestBody" in described,
        schema={
            "type": "object",
            "properties": properties | fields,
            "required": sorted({*needed, *body.get("required", [])}),
            "additionalProperties": False,
        },
    )


def _body_schema(described: Mapping[str, Any], known: Mapping[str, ToolSchema]) -> ToolSchema:
    content = described.get("requestBody", {}).get("content", {})
    schema: ToolSchema = _inlined(content.get("application/json", {}).get("schema", {}), known)
    return schema


def _inlined(schema: Any, known: Mapping[str, ToolSchema], above: tuple[str, ...] = ()) -> Any:
    """The schema with its references replaced by what they name; one within itself accepts anything."""
    if isinstance(schema, list):
        return [_inlined(each, known, above) for each in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if reference is None:
        return {name: _inlined(each, known, above) for name, each in schema.items()}
    name = str(reference).removeprefix(DEFINITIONS)
    return {} if name in above else _inlined(known[name], known, (*above, name))


def _described(schema: ToolSchema, given: Mapping[str, Any]) -> ToolSchema:
    return schema | ({"description": given["description"]} if given.get("description") else {})


def _part(value: Any) -> str:
    """An argument as a part of a path, in which the API reads ``~`` for the ``/`` of a task's id."""
    return quote(_text(value).replace("/", "~"), safe="~")


def _text(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text[:LONGEST_ARGUMENT]


def unknown(wanted: Iterable[str], found: Mapping[str, ApiOperation]) -> list[str]:
    """The operations that a document lacks: a console of another version."""
    return [name for name in wanted if name not in found]
