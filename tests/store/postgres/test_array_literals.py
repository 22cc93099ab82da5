"""Columns that are sent as array literals arrive as they are."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from stepward.model.states import StepKind
from stepward.store.postgres.engine.array_literals import column_literals, numbers, texts, with_literals
from tests.store.postgres.worlds import Database

COLUMNS: list[list[str | None]] = [
    [],
    ["a"],
    [""],
    [None],
    ["null", None, "NULL"],
    ["a", "b c", "{}", ",", " d "],
    ['"', '","', "\\", '\\"', 'a","b'],
    ["é", "\U0001f600", "\n\t", "'"],
    [StepKind.LOCAL, "x"],
]


@pytest.mark.servers
async def test_texts_and_numbers_arrive_as_they_are(database: Database) -> None:
    connection = await database.connect()
    for column in COLUMNS:
        assert await connection.fetchval("select $1::text::text[]", texts(column)) == column
    for given in ([], [1], [None], [-1, 2**62, None]):
        assert await connection.fetchval("select $1::text::bigint[]", numbers(given)) == given
    assert await connection.fetchval("select $1::text::boolean[]", numbers([True, None, False])) == [True, None, False]


def test_unnested_columns_alone_are_sent_as_texts() -> None:
    sql = with_literals("select * from unnest($1::text[], $2::float8[], $3::integer[]) where $1::text[] <> $4::text[]")
    assert sql == (
        "select * from unnest($1::text::text[], $2::float8[], $3::text::integer[]) where $1::text::text[] <> $4::text[]"
    )
    assert column_literals(sql) == [(0, texts), (2, numbers)]


@pytest.mark.parametrize("column", [("a", "b"), ["a", "b"]])
def test_a_column_is_any_sequence(column: Sequence[str]) -> None:
    assert texts(column) == '{"a","b"}'
    assert numbers([1, 2]) == numbers((1, 2)) == "{1, 2}"
