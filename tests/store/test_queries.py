from __future__ import annotations

import pytest

from stepward.store.named_queries import parse_queries


def test_queries_are_read_by_name_without_their_comments() -> None:
    text = "-- name: one\n-- The purpose.\nselect {columns}\n-- aside\nfrom t;\n\n-- name: two\n-- More.\nselect 2\n"
    assert parse_queries(text, "x.sql", {"columns": "a, b"}) == {"one": "select a, b\nfrom t", "two": "select 2"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("-- name: one\nselect 1", "comment line of purpose"),
        ("-- name: one\n-- Why.\n", "expected a statement"),
        ("-- name: one\n-- Why.\nselect 1\n-- name: one\n-- Why.\nselect 2", "found one twice"),
        ("-- name: one\n-- Why.\nselect {columns}", r"found \['columns'\]"),
    ],
)
def test_an_error_in_a_query_file_names_the_file(text: str, found: str) -> None:
    with pytest.raises(ValueError, match=found) as caught:
        parse_queries(text, "x.sql", {})
    assert str(caught.value).startswith("x.sql: ")
