"""The search of tasks; the cost of a read is bounded, however many tasks the store has.

A source of candidates is chosen by probing the size of each. A search that finds too few among the candidates of one
read makes further reads, up to a bound, and returns what it has found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stepward.store import rows
from stepward.store.contract import FoundTasks, TaskCount, TaskSearch
from stepward.store.search.conditions import Condition
from stepward.store.search.dialect import SearchDialect
from stepward.store.search.index_sources import sources
from stepward.store.search.statements import (
    SearchScope,
    SourceSearch,
    SqlStatement,
    TaskKey,
    sample,
    source_search,
)
from stepward.store.verbs.connection import VerbConnection, VerbRow

CANDIDATES = 5_000
"""Most candidates that one read examines."""
LOOKS = 3
COUNT_LOOKS = 1
"""Reads of candidates before a count becomes an estimate."""
SMALL = 2_000
"""A source with fewer candidates is read whole."""


class SearchLook(NamedTuple):
    """The result of one read."""

    found: Sequence[VerbRow]
    last: TaskKey | None
    """The last candidate, if there are more after it."""


async def found_tasks(connection: VerbConnection, dialect: SearchDialect, search: TaskSearch) -> FoundTasks:
    """Implements ``OperatorStore.tasks``."""
    scope = SearchScope(after=search.after, newest_first=search.newest_first)
    source = await _chosen(connection, dialect, search.condition, scope)
    tasks: list[VerbRow] = []
    for _ in range(LOOKS):
        look = await _look(connection, source, search.limit + 1 - len(tasks))
        tasks += look.found
        if len(tasks) > search.limit or look.last is None:
            break
        source = source.beginning_after(look.last)
    listed = [rows.task(row) for row in connection.opened("found tasks", tasks[: search.limit])]
    if len(tasks) > search.limit:
        return FoundTasks(listed, TaskKey(listed[-1].created_at, listed[-1].uid))
    return FoundTasks(listed, look.last)


async def counted_tasks(connection: VerbConnection, dialect: SearchDialect, condition: Condition) -> TaskCount:
    """Implements ``OperatorStore.count``."""
    source = await _chosen(connection, dialect, condition, SearchScope())
    number, remaining = 0, source
    for _ in range(COUNT_LOOKS):
        ((found,),) = await _rows(connection, remaining.counted(CANDIDATES))
        number += found
        last = await _last(connection, remaining)
        if last is None:
            return TaskCount(number, is_exact=True)
        remaining = remaining.beginning_after(last)
    ((matched, represented),) = await _rows(connection, sample(dialect, condition))
    return TaskCount(max(number, _rounded(matched * represented)), is_exact=False)


async def _look(connection: VerbConnection, source: SourceSearch, limit: int) -> SearchLook:
    found = await _rows(connection, source.page(CANDIDATES, limit))
    if len(found) >= limit:
        return SearchLook(found, None)
    return SearchLook(found, await _last(connection, source))


async def _last(connection: VerbConnection, source: SourceSearch) -> TaskKey | None:
    """The last of the candidates of a read; None if the source has ended."""
    found = await _rows(connection, source.last(CANDIDATES))
    return TaskKey(*found[0]) if found else None


async def _chosen(
    connection: VerbConnection, dialect: SearchDialect, condition: Condition, scope: SearchScope
) -> SourceSearch:
    """The search by a small source, or else by the narrowest one that is in order."""
    choice = [source_search(dialect, source, condition, scope) for source in sources(condition, dialect)]
    if choice[0].source.in_order and (len(choice) == 1 or choice[0].is_whole):
        return choice[0]
    sizes = [await _size(connection, search) for search in choice[:-1]]
    least = min(sizes)
    if least < SMALL:
        return choice[sizes.index(least)]
    return next(search for search in choice if search.source.in_order)


async def _size(connection: VerbConnection, search: SourceSearch) -> int:
    ((size,),) = await _rows(connection, search.probe(SMALL))
    return int(size)


async def _rows(connection: VerbConnection, statement: SqlStatement) -> Sequence[VerbRow]:
    return await connection.fetched(statement.sql, *statement.values)


def _rounded(estimate: float) -> int:
    """An estimate rounded to two digits, its precision."""
    return int(float(f"{estimate:.2g}"))
