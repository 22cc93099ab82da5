"""The differences of search between the engines: tables, named indexes, expressions, and the sample."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class SearchDialect(Struct, frozen=True, kw_only=True):
    """The SQL of an engine; its texts are constants, and values of callers are parameters."""

    mark: str
    """The sign before a parameter's number: ``?`` or ``$``."""
    task: str
    step: str
    alert: str
    search: str
    """The table of labels and attributes."""
    unindexed: str
    """A prefix that keeps a column from being looked up by an index; empty where the planner knows which values are
    rare."""
    columns: str
    """The select list of a listing, of the task ``t``."""
    joined: str
    """The join of candidates ``c`` with their tasks ``t``: a template with ``keys`` and ``rest``."""
    page_order: str
    """The order of a page: a template with ``down``; empty where the join keeps the order of the candidates."""
    error_type: str
    """The type of the error of the task ``t``, as in its index."""
    listed: str
    """``from`` tasks ``t`` whose state is none of processing, processed, undone, cancelled."""
    ended: str
    """``from`` tasks ``t`` that have ended, but not in error."""
    held: str
    """``from`` tasks ``t`` that have an owner."""
    with_error: str
    """``from`` tasks ``t`` that have an error."""
    by_workflow: str
    """``from`` tasks ``t`` by the index of workflows."""
    by_created: str
    """``from`` tasks ``t`` by the index of creation."""
    by_id: str
    """``from`` tasks ``t`` by the index of ids."""
    text_of: str
    """``from`` rows ``f`` of labels and attributes that are texts."""
    number_of: str
    """``from`` rows ``f`` of attributes that are numbers, booleans or times."""
    fence: str
    """What ends a subquery that the planner must not take apart; empty where each source names its index."""
    sample: str
    """The number of sampled tasks that fulfil ``rest``, and the number of tasks that each of them stands for."""


class SqlValues:
    """The values of a statement in the order of their parameters."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self.values: list[Any] = []

    def parameter(self, value: Any) -> str:
        """The parameter for a value."""
        self.values.append(value)
        return f"{self._mark}{len(self.values)}"
