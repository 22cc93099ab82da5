"""The columns of a listing, which reads no payloads."""

from __future__ import annotations

import msgspec


def listed_columns(record: type[msgspec.Struct], *, input: str) -> str:
    """The columns of the task ``t`` in the order of the record's fields, with constants for its arguments and its
    result.

    ``input`` is an empty array of arguments in the engine's SQL.
    """
    left_out = {"input": input, "output": "null"}
    return ", ".join(left_out.get(name, f"t.{name}") for name in record.__struct_fields__)
