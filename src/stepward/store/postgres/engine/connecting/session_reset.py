"""The reset of a session: the state that an application may leave in it, and the statements that remove it."""

from __future__ import annotations

from enum import IntEnum


class Use(IntEnum):
    """How far an application has had a session since it was last clean."""

    NONE = 0
    STATEMENTS = 1
    """It ran statements through Stepward, which refuses to prepare any by name."""
    CONNECTION = 2
    """It had the driver's connection itself."""
    DRIVER = 3
    """It changed what the driver keeps on its side, such as codecs: no statement resets that."""


CLEANING = (
    # What DISCARD ALL does, without the plans and the prepared statements, which are the driver's. Within a message of
    # several statements DISCARD ALL itself is refused.
    "reset session authorization",
    "reset role",
    "reset all",
    "select pg_advisory_unlock_all()",
    "close all",
    "unlisten *",
    "discard temp",
    "discard sequences",
)
FORGETTING = """do $$ declare one text; begin
    for one in select name from pg_prepared_statements where from_sql loop
        execute format('deallocate %I', one);
    end loop;
end $$"""
"""Statements that were prepared by name in SQL: the driver's own are not among them."""


AFTER_STATEMENTS = "; ".join(CLEANING)
AFTER_THE_CONNECTION = "; ".join((*CLEANING, FORGETTING))

MARK = "stepward.committing"
"""A setting that a transaction which commits leaves in its session, and one that rolls back does not."""


def cleaning(use: Use) -> str:
    """Statements, in one message, after which the session is as it was when it was made."""
    return AFTER_THE_CONNECTION if use >= Use.CONNECTION else AFTER_STATEMENTS
