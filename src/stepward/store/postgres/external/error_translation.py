"""Errors on a caller's connection in Stepward's terms: one clear line that says what to do."""

from __future__ import annotations

from typing import TypeVar

from stepward.errors import Refused, StepwardError, StoreUnavailable
from stepward.store.drivers import Dialogue, said, state_of
from stepward.store.postgres.engine.error_translation import BY_CLASS, BY_STATE
from stepward.store.postgres.external.submission import Elsewhere

T = TypeVar("T")

BY_CALLER = {
    "25P01": "expected an open transaction, found the connection in autocommit; begin one around it",
    "25P02": "expected an open transaction, found that an earlier statement failed in it; roll it back, begin again",
    "25006": "expected a transaction that may write, found one that only reads; use the primary, and one that writes",
}
"""What the caller's own transaction is not."""
AGAIN = {
    "40001": "expected rows as the transaction first saw them, found them changed since; begin it again",
    "40P01": "expected to get its locks, found another transaction waiting for this one; begin it again",
}
GONE = frozenset({"42P01", "3F000"})
"""There is no such table, or schema."""
OLDER = frozenset({"42703", "42883"})
"""There is no such column."""
DATA = ("22", "23")


def translating(dialogue: Dialogue[T], place: str, schema: str) -> Dialogue[T]:
    """The same dialogue; what it raises is in Stepward's words."""
    try:
        return (yield from dialogue)
    except (StepwardError, Elsewhere):
        raise
    except Exception as error:
        raise _translated(error, state_of(error), place, schema) from error


def _translated(error: Exception, state: str, place: str, schema: str) -> StepwardError:
    if state in BY_CALLER:
        return Refused(f"transaction: {BY_CALLER[state]}")
    if state in AGAIN:
        return StoreUnavailable(f"transaction: {AGAIN[state]}")
    if state in GONE:
        return Refused(
            f"transaction: expected a connection to the database of store {place}, found one without the schema "
            f"{schema}; connect to the store's, or use an outbox"
        )
    if state in OLDER:
        return Refused(
            f"transaction: expected the schema {schema} to be as new as this program, found it older; run "
            "`stepward migrate`"
        )
    if state == "42501":
        return Refused(
            f"transaction: expected the user's rights on {schema}, found {said(error)}; grant usage on the schema, and "
            "select and insert on its tables task, step and message"
        )
    return _other(error, state)


def _other(error: Exception, state: str) -> StepwardError:
    known = BY_STATE.get(state) or BY_CLASS.get(state[:2])
    if known is not None:
        return known[0](f"transaction: {known[1]}")
    if state[:2] in DATA:
        return Refused(f"transaction: expected data that the tables allow, found {said(error)}; correct the data")
    if state:
        return StoreUnavailable(f"transaction: expected PostgreSQL to do it, found {said(error)}; roll it back")
    return Refused(
        f"transaction: expected an open connection with nothing else under way, found {said(error)}; look at it"
    )
