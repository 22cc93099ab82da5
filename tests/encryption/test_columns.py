"""The table of payload columns is compared with the SQL of both engines: a query with a payload is in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from stepward import store
from stepward.encryption import codec_of
from stepward.store.postgres.engine import query_catalogue as postgres
from stepward.store.sealing.columns import GIVEN, SHOWN
from stepward.store.sqlite.engine import query_catalogue as sqlite
from tests.encryption.shop import KEYS

assert store.__file__ is not None
FOLDER = Path(store.__file__).parent
RECORDS = re.compile(r"\{(?:[a-z]_)?(?:task|step|inbox|alert|audit|dead_letter|schedule)(?:_\w+)?\}")
"""Fragments that stand for the columns of a record with payloads."""
WRITTEN = re.compile(
    r"\b(?:input|output|error|progress|details|message|body)\s*=\s*(?:coalesce\()?(?:[?$]\d|v\.)"
    r"|insert into \S+ \([^)]*\b(?:details|body|reason)\b"
)
AS_STORED = re.compile(
    r"keys\.|retention\.|erasure\.|pruning\.|messages\.(?:put|answer)|turn\.(?:put_request|trim)|alerts_and_audit\.insert_audit|alerts_and_audit\.resolve|host\.end_warning"
    r"|webhooks\.fare"
)
"""What archives take as it is stored, messages and requests that are sealed before they are put, acts that are sealed
before they are hashed, comparisons with the details of alerts that are never sealed, and answers of the receivers of
webhooks."""


def named(engine: str) -> set[str]:
    found = set()
    for file in (FOLDER / engine).rglob("*.sql"):
        if file.parent.name == "external":
            continue  # What it inserts is sealed record by record.
        parts = re.split(r"^-- name: *(\w+) *$", file.read_text("utf-8"), flags=re.MULTILINE)
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            text = "\n".join(line for line in body.splitlines() if not line.startswith("--"))
            if RECORDS.search(text) or WRITTEN.search(text):
                found.add(f"{file.stem}.{name}")
    return found


@pytest.mark.parametrize(
    ("engine", "listed"),
    [
        ("sqlite", GIVEN.keys() | SHOWN.keys() | sqlite.SHOWN_HERE.keys()),
        ("postgres", GIVEN.keys() | postgres.GIVEN_HERE.keys() | SHOWN.keys() | postgres.SHOWN_HERE.keys()),
    ],
)
def test_every_query_with_a_payload_is_in_the_table(engine: str, listed: set[str]) -> None:
    missing = {name for name in named(engine) - listed if not AS_STORED.match(name)}
    assert missing == set()


@pytest.mark.parametrize(
    ("catalogue", "listed"),
    [
        (sqlite.load_catalogue, GIVEN.keys() | SHOWN.keys() | sqlite.SHOWN_HERE.keys()),
        (
            lambda: postgres.load_catalogue("stepward_shop"),
            GIVEN.keys() | postgres.GIVEN_HERE.keys() | SHOWN.keys() | postgres.SHOWN_HERE.keys(),
        ),
    ],
    ids=["sqlite", "postgres"],
)
def test_every_query_in_the_table_exists(catalogue: Callable[[], dict[str, str]], listed: set[str]) -> None:
    assert listed - catalogue().keys() == {"found tasks"}


def test_a_store_without_keys_has_no_codec() -> None:
    """Statements are not examined then: encryption that is off costs nothing."""
    assert (sqlite.row_codec(None), postgres.row_codec(None)) == (None, None)
    assert sqlite.row_codec(codec_of("shop", KEYS)) is not None
