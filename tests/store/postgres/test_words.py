"""What the driver raises, in Stepward's words: one line that says what to do."""

from __future__ import annotations

import asyncpg
import pytest

from stepward.errors import StepwardError, StoreUnavailable, StoreUnusable
from stepward.store.postgres.engine.error_translation import BY_CLASS, BY_STATE, translated

PLACE = "postgresql://host/shop"


def raised(state: str) -> Exception:
    """What the driver makes of the server's message."""
    error: Exception = asyncpg.PostgresError.new({"C": state, "M": "several\nlines"})
    return error


@pytest.mark.parametrize("state", [*BY_STATE, *(f"{first}999" for first in BY_CLASS)])
def test_what_is_known_comes_with_advice(state: str) -> None:
    told = str(translated(raised(state), PLACE))
    assert told.startswith(f"store {PLACE}: expected ")
    assert "found" in told
    assert ";" in told
    assert "\n" not in told


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (raised("28P01"), StoreUnusable, "correct user and password"),
        (raised("42501"), StoreUnusable, "grant the user what is missing"),
        (raised("42704"), StoreUnusable, "a server older than 15"),
        (raised("53100"), StoreUnavailable, "the disk is full"),
        (raised("57P03"), StoreUnavailable, "starting or stopping"),
        (raised("XX000"), StoreUnavailable, "several lines"),
        (ConnectionRefusedError("refused"), StoreUnavailable, "a server that answers"),
        (TimeoutError(), StoreUnavailable, "an answer in time"),
        (asyncpg.InterfaceError("connection is closed"), StoreUnavailable, "connection is closed"),
    ],
)
def test_permanent_errors_are_distinguished(error: Exception, kind: type[StepwardError], says: str) -> None:
    told = translated(error, PLACE)
    assert type(told) is kind
    assert says in str(told)
    assert "\n" not in str(told)
