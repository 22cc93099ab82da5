"""The queries that verbs name: each engine has every one of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from stepward.store import verbs
from stepward.store.postgres.engine import query_catalogue as postgres
from stepward.store.sqlite.engine import query_catalogue as sqlite

QUERY = re.compile(r'"([a-z_]+\.[a-z_]+)"')
AFTER_JUMPS = {"grace.restart_deadlines"}
"""Asked for only after the store's clock was set, and SQLite's is the host's boot clock."""


def named() -> set[str]:
    assert verbs.__file__ is not None
    return {
        name for file in Path(verbs.__file__).parent.rglob("*.py") for name in QUERY.findall(file.read_text("utf-8"))
    }


@pytest.mark.parametrize(
    ("book", "without"),
    [(sqlite.load_catalogue(), AFTER_JUMPS), (postgres.load_catalogue("stepward_shop"), set[str]())],
    ids=["sqlite", "postgres"],
)
def test_every_query_that_a_verb_names_is_there(book: Mapping[str, str], without: set[str]) -> None:
    assert len(named()) > 50
    assert named() - book.keys() == without
