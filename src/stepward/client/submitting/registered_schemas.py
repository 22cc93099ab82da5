"""Arguments checked against the JSON Schema that a Scheduler registered: for clients without the application's code."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import jsonschema
import msgspec

from stepward.errors import InvalidArguments
from stepward.model.records import WorkflowRecord
from stepward.payload import decode, encode
from stepward.payload.secret_values import SCHEMA_MARK, marked

FORMATS: dict[str, type] = {
    "date": date,
    "date-time": datetime,
    "decimal": Decimal,
    "duration": timedelta,
    "time": time,
    "uuid": UUID,
}
"""The formats that registered schemas use, and the types whose arguments they stand for."""

SCHEMAS_KEPT = 256


def by_schema(record: WorkflowRecord, args: tuple[Any, ...], kwargs: Mapping[str, Any], limit: int) -> bytes:
    """The argument array, checked against the JSON Schema that a Scheduler registered."""
    if kwargs:
        raise InvalidArguments(
            f"arguments of {record.name}: expected positional ones, found {', '.join(kwargs)}; "
            "a client without the application's code knows no parameter names"
        )
    schema, validator = _read(record.schema, record.name)
    data = encode([*args, *_defaults(schema, len(args))], f"arguments of {record.name}", limit=limit)
    if SCHEMA_MARK.encode() in record.schema:
        given = marked(msgspec.json.decode(data), schema, schema.get("$defs", {}))
        data = encode(given, f"arguments of {record.name}", limit=limit)
    error = jsonschema.exceptions.best_match(validator.iter_errors(msgspec.json.decode(data)))
    if error is not None:
        where = "".join(f"[{part!r}]" for part in error.absolute_path)
        raise InvalidArguments(
            f"arguments of {record.name}: expected what its registered schema allows, found {error.message[:200]}"
            + (f" at {where}" if where else "")
        )
    return data


@functools.lru_cache(SCHEMAS_KEPT)
def _read(data: bytes, name: str) -> tuple[dict[str, Any], jsonschema.Validator]:
    """The schema and its validator: to check that it is a schema takes much longer than to check arguments."""
    schema = decode(data, f"schema of {name}")
    _Validator.check_schema(schema)
    return schema, _Validator(schema, format_checker=_formats)


def _defaults(schema: dict[str, Any], given: int) -> list[Any]:
    """What the parameters that are left out stand at: a client with the code would send the same array."""
    array = schema.get("$defs", {}).get(schema.get("$ref", "").rpartition("/")[2], schema)
    left = itertools.takewhile(lambda place: "default" in place, array.get("prefixItems", [])[given:])
    return [place["default"] for place in left]


def _is_integer(_checker: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _checked_formats() -> jsonschema.FormatChecker:
    checker = jsonschema.FormatChecker(formats=())
    for name, kind in FORMATS.items():
        checker.checks(name, raises=msgspec.ValidationError)(lambda value, kind=kind: _fits(value, kind))
    return checker


def _fits(value: object, kind: type) -> bool:
    if isinstance(value, str):
        msgspec.convert(value, kind)
    return True


_formats = _checked_formats()
# JSON Schema takes 1.0 for an integer, the workflow's own signature does not.
_Validator = jsonschema.validators.extend(  # type: ignore[no-untyped-call]  # its stubs leave it untyped
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)
