"""Filters as text: what is read, and the one line that says where one cannot be."""

from __future__ import annotations

import json
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from stepward.errors import InvalidFilter
from stepward.store.search.condition_sql import after, rendered
from stepward.store.search.conditions import EVERY_TASK, AllOf, AnyOf, Comparison, Negation, Operator, Presence
from stepward.store.search.dialect import SqlValues
from stepward.store.search.fields import SearchField
from stepward.store.search.index_sources import every_task
from stepward.store.search.parser import parsed
from stepward.store.search.statements import SearchScope, sample, source_search
from stepward.store.sqlite.engine.search_dialect import DIALECT
from stepward.store.sqlite.schema.migration import migrations
from tests.store.search.filters import FILTERS, Filter

NOW = 1_700_000_000.0
ERROR = Comparison(SearchField.STATE, Operator.EQUAL, "error")
FIVE = Comparison(SearchField.PRIORITY, Operator.AT_LEAST, 5.0)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("", EVERY_TASK),
        ("  ", EVERY_TASK),
        ("state = 'error'", ERROR),
        ("state=='error'AND(priority>=5)", AllOf((ERROR, FIVE))),
        ("state='error' or not priority >= 5", AnyOf((ERROR, Negation(FIVE)))),
        ("state <> 'error'", Negation(ERROR)),
        ("error.type is null", Negation(Presence(SearchField.ERROR_TYPE))),
        ("label.a-b:c = 'O''Hare'", Comparison(SearchField.LABEL, Operator.EQUAL, "O'Hare", "a-b:c")),
        ("attr.x = now", None),
        ("created > '1h 30m ago'", Comparison(SearchField.CREATED, Operator.MORE, NOW - 5400)),
        ("deadline < 'in 2d'", Comparison(SearchField.DEADLINE, Operator.LESS, NOW + 172_800)),
        ("ended >= '2023-11-14 22:13:20+00:00'", Comparison(SearchField.ENDED, Operator.AT_LEAST, NOW)),
        ("ended >= 1700000000", Comparison(SearchField.ENDED, Operator.AT_LEAST, NOW)),
    ],
)
def test_a_filter_is_read_as_its_condition(text: str, condition: object) -> None:
    if condition is None:
        with pytest.raises(InvalidFilter):
            parsed(text, NOW)
    else:
        assert parsed(text, NOW) == condition


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stat = 'error'", "character 1: expected a field, found 'stat'; did you mean 'state'?"),
        ("state = 'eror'", "character 9: expected a state, found 'eror'; did you mean 'error'?"),
        ("state = error", "character 9: expected a state for state, found error; write 'error'"),
        ("state = 'error' ad id = 'x'", "character 17: expected and, or, or the end, found 'ad'; did you mean 'and'?"),
        ("(state = 'error'", "character 17: expected '\\)', found the end; close the parenthesis"),
        ("id = 'x", "character 6: expected a text that ends"),
        ('id = "x"', 'character 6: expected a word, found the sign "; put texts into single quotes'),
        ("created > 'soon'", "character 11: expected a time"),
        ("created > '9999-99-99'", "character 11: expected a time"),
        ("priority = '5'", "character 12: expected a number for priority, found '5'; write digits without quotes"),
        ("workflow < 'a'", "character 10: expected = != in or is null for workflow, found '<'; use starts_with"),
        ("priority starts_with 5", "character 10: expected = != in, or an order for priority"),
        ("attr = 1", "character 1: expected a field, found 'attr'; did you mean 'attr.NAME'?"),
        ("id = '\x00'", "character 6: expected no control characters"),
        ("id = 'a' and", "character 13: expected a field, found the end"),
        ("id", "character 3: expected a comparison of id, found the end"),
        ("id in ()", "character 8: expected a text in quotes for id"),
        ("priority = 99999999999999999999", "expected a number of at most 2"),
        ("priority = 5x", "character 12: expected a word, found '5x'"),
        ("not " * 30 + "id = 'a'", "expected at most 20 levels"),
        ("(" * 30 + "id = 'a'" + ")" * 30, "expected at most 20 levels"),
        (" or ".join(["id = 'a'"] * 101), "expected at most 100 comparisons"),
        ("x" * 4_001, "expected at most 4,000 characters, found 4,001"),
        (f"id = '{'x' * 201}'", "expected at most 200 characters, found 201"),
    ],
)
def test_a_filter_that_cannot_be_read_says_where_and_what_instead(text: str, message: str) -> None:
    with pytest.raises(InvalidFilter, match=message) as refused:
        parsed(text, NOW)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


WORDS = [
    "state",
    "=",
    "'error'",
    "(",
    ")",
    "and",
    "or",
    "not",
    "in",
    ",",
    "attr.x",
    "1",
    "is",
    "null",
    "'",
    '"',
    ";--",
    "\x00",
    "id",
]


@settings(max_examples=500)
@given(some.one_of(some.text(max_size=60), some.lists(some.sampled_from(WORDS), max_size=12).map(" ".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parsed(text, NOW)
    except InvalidFilter as refused:
        assert "\n" not in str(refused)


@given(FILTERS)
def test_the_sql_of_a_filter_has_no_value_of_the_caller(wanted: Filter) -> None:
    values = SqlValues("?")
    sql = rendered(parsed(wanted.text, NOW), DIALECT, values)
    for value in ("Ulm", "Hare", "alice", "refund", "Declined"):
        assert value not in sql
    assert sql.count("?") == len(values.values)


@given(some.text(min_size=1), some.text())
def test_the_end_of_a_prefix_is_behind_all_that_begin_with_it(prefix: str, rest: str) -> None:
    end = after(prefix)
    assert end is None or prefix + rest < end


@pytest.mark.parametrize("text", ["attr.x > 5", "attr.x = 'a'", "label.x = 'a'", "attr.x is not null"])
def test_what_is_left_of_a_filter_is_looked_up_by_the_task_on_sqlite(text: str) -> None:
    connection = apsw.Connection(":memory:")
    for _, script in migrations():
        connection.execute(script)
    condition = parsed(text, NOW)
    search = source_search(DIALECT, every_task(DIALECT), condition, SearchScope())
    for statement in (search.counted(10_000), search.page(10_000, 50), sample(DIALECT, condition)):
        plan = [row[3] for row in connection.execute(f"explain query plan {statement.sql}", _bound(statement.values))]
        assert "SEARCH f EXISTS USING PRIMARY KEY (task=? AND name=?)" in plan
    connection.close()


def _bound(values: list[Any]) -> list[Any]:
    return [json.dumps(value) if isinstance(value, list) else value for value in values]
