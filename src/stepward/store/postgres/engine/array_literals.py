"""Columns of rows as array literals, PostgreSQL's own notation: a text is joined at once.

The driver encodes an array element by element, and asks of each one twice whether it is a sequence itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

UNNESTED = re.compile(r"unnest\(([^()]+)\)")
ARRAY = re.compile(r"\$(\d+)::(text|integer|bigint|boolean)\[\]")
LITERAL = re.compile(r"\$(\d+)::text::(\w+)\[\]")
QUERIES_KEPT = 1_000

ColumnLiterals = Sequence[tuple[int, Callable[[Sequence[Any]], str]]]
"""Places of parameters, from 0, and how the column of each becomes a text."""


def with_literals(sql: str) -> str:
    """A query whose unnested arrays of texts, integers and booleans are sent as texts; floats and bytes stay arrays."""
    places = {place for columns in UNNESTED.findall(sql) for place, _ in ARRAY.findall(columns)}
    return ARRAY.sub(lambda found: f"${found[1]}::text::{found[2]}[]" if found[1] in places else found[0], sql)


@lru_cache(maxsize=QUERIES_KEPT)
def column_literals(sql: str) -> ColumnLiterals:
    """What of the parameters of such a query is sent as texts."""
    kinds = {int(place) - 1: texts if kind == "text" else numbers for place, kind in LITERAL.findall(sql)}
    return sorted(kinds.items())


def texts(column: Sequence[str | None]) -> str:
    """An array of texts."""
    if None not in column:
        joined = '","'.join(column)  # type: ignore[arg-type]
        if "\\" not in joined and joined.count('"') == 2 * (len(column) - 1):
            return f'{{"{joined}"}}'
    return f"{{{','.join(map(_quoted, column))}}}"


def numbers(column: Sequence[int | None]) -> str:
    """An array of integers or booleans."""
    return f"{{{str(list(column))[1:-1].replace('None', 'null')}}}"


def _quoted(text: str | None) -> str:
    if text is None:
        return "null"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
