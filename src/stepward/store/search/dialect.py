"""What of a search differs between the engines: tables, indexes that are named, expressions, and the sample."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class SearchDialect(Struct, frozen=True, kw_only=True):
    """An engine's words; every text is ours, and values of callers are parameters alone."""

    mark: str
    """What a parameter's number stands behind: ``?`` or ``$``."""
    task: str
    step: str
    search: str
    """The table of labels and attributes."""
    unindexed: str
    """What stands before a column that no index may be looked up by; empty where the planner knows what is rare."""
    columns: str
    """The select list of a listing, of the task ``t``."""
    joined: str
    """From candidates ``c`` and their tasks ``t``: a text with ``keys`` and ``rest`` in braces."""
    page_order: str
    """The order of a page, with ``down`` in braces; empty where joining keeps the order of the candidates."""
    error_type: str
    """The type of the error of the task ``t``, as its index has it."""
    listed: str
    """From tasks ``t`` whose state is none of processing, processed, undone, cancelled."""
    ended: str
    """From tasks ``t`` that have ended, but not in error."""
    held: str
    """From tasks ``t`` that have an owner."""
    with_error: str
    """From tasks ``t`` that have an error."""
    by_workflow: str
    """From tasks ``t``, to be found by their workflow."""
    by_created: str
    """From tasks ``t``, to be found by the time of their submission."""
    by_id: str
    """From tasks ``t``, to be found by their id."""
    text_of: str
    """From rows ``f`` of labels and attributes that are texts."""
    number_of: str
    """From rows ``f`` of attributes that are numbers, booleans or times."""
    sample: str
    """How many of some tasks, spread over the table, fulfil ``rest``, and how many there are for each of them."""


class SqlValues:
    """The values of a statement, in the order of their parameters."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self.values: list[Any] = []

    def given(self, value: Any) -> str:
        """A parameter of that value."""
        self.values.append(value)
        return f"{self._mark}{len(self.values)}"
