"""The statements of a search: candidates from one source in the order of their keys, filtered by the rest of the
condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from stepward.store.search.condition_sql import rendered
from stepward.store.search.conditions import AllOf, Comparison, Condition, conjuncts
from stepward.store.search.dialect import SearchDialect, SqlValues
from stepward.store.search.fields import SearchField
from stepward.store.search.index_sources import CandidateSource, SourceBranch

SAMPLED = 2_000
GOLDEN = 0.618033988749895
POINTS = [place * GOLDEN % 1.0 for place in range(1, SAMPLED + 1)]
"""Numbers between 0 and 1 that are spread evenly and do not correlate with an order of the rows."""


class TaskKey(NamedTuple):
    """The position of a task in a listing."""

    created_at: float
    uid: str


class SqlStatement(NamedTuple):
    """A statement with its values."""

    sql: str
    values: list[Any]


def alerts_statement(
    dialect: SearchDialect, condition: Condition, limit: int, *, open_only: bool, number: int | None
) -> SqlStatement:
    """The statement for the numbers of alerts of tasks that fulfil the condition, newest first; of one alert by its
    number."""
    values = SqlValues(dialect.mark)
    tests = [rendered(condition, dialect, values)]
    tests += ["a.acknowledged_at is null"] if open_only else []
    tests += [] if number is None else [f"a.number = {values.parameter(number)}"]
    joined = f"from {dialect.alert} as a join {dialect.task} as t on t.uid = a.task where {' and '.join(tests)}"
    return SqlStatement(
        f"select a.number {joined} order by a.number desc limit {values.parameter(limit)}", values.values
    )


class SearchScope(NamedTuple):
    """The keys that a search covers: bounds of the creation, a position to begin after, an order."""

    bounds: tuple[Comparison, ...] = ()
    after: TaskKey | None = None
    newest_first: bool = True


class SourceSearch(NamedTuple):
    """A search by one source, with its statements."""

    dialect: SearchDialect
    source: CandidateSource
    scope: SearchScope
    rest: Condition
    """The part of the condition that the source and the scope do not cover."""

    @property
    def is_whole(self) -> bool:
        """Whether every candidate fulfils the condition."""
        return self.rest == AllOf(())

    def beginning_after(self, key: TaskKey) -> SourceSearch:
        """The same search, beginning after a key."""
        return self._replace(scope=self.scope._replace(after=key))

    def page(self, most_candidates: int, limit: int) -> SqlStatement:
        """The statement for up to ``limit`` tasks that fulfil the condition, among the next candidates."""
        values = SqlValues(self.dialect.mark)
        joined = self._joined(values, most_candidates)
        ordered = self.dialect.page_order.replace("{down}", self._down)
        text = f"select {self.dialect.columns} {joined}{ordered} limit {values.parameter(limit)}"
        return SqlStatement(text, values.values)

    def counted(self, most_candidates: int) -> SqlStatement:
        """The statement for the number of the next candidates that fulfil the condition."""
        values = SqlValues(self.dialect.mark)
        if self.is_whole:
            return SqlStatement(f"select count(*) from ({self._keys(values, most_candidates)}) as c", values.values)
        return SqlStatement(f"select count(*) {self._joined(values, most_candidates)}", values.values)

    def probe(self, most: int) -> SqlStatement:
        """The statement for the number of candidates, up to ``most``, in any order."""
        values = SqlValues(self.dialect.mark)
        branches = " union all ".join(
            f"select 1 from (select 1 {self._where(branch, values)} limit {values.parameter(most)}) as b"
            for branch in self.source.branches
        )
        text = f"select count(*) from (select 1 from ({branches}) as u limit {values.parameter(most)}) as p"
        return SqlStatement(text, values.values)

    def last(self, most_candidates: int) -> SqlStatement:
        """The statement for the key of the last of the next candidates; no row if there are fewer."""
        values = SqlValues(self.dialect.mark)
        keys = self._keys(values, most_candidates)
        text = f"select created_at, uid from ({keys}) as c limit 1 offset {values.parameter(most_candidates - 1)}"
        return SqlStatement(text, values.values)

    def _joined(self, values: SqlValues, most_candidates: int) -> str:
        keys = self._keys(values, most_candidates)
        rest = rendered(self.rest, self.dialect, values)
        return self.dialect.joined.replace("{keys}", keys).replace("{rest}", rest)

    def _keys(self, values: SqlValues, most: int) -> str:
        branches = [self._branch(branch, values, most) for branch in self.source.branches]
        if len(branches) == 1:
            return branches[0]
        united = " union all ".join(f"select created_at, uid from ({branch}) as b" for branch in branches)
        return f"{united} order by created_at {self._down}, uid {self._down} limit {values.parameter(most)}"

    def _branch(self, branch: SourceBranch, values: SqlValues, most: int) -> str:
        created, uid = branch.key
        keys = f"select {created} as created_at, {uid} as uid {self._where(branch, values)}"
        if self.dialect.fence and not branch.in_order:
            # Else the server may walk along the index of creation until it has found that many.
            keys, created, uid = f"select * from ({keys}{self.dialect.fence}) as k", "created_at", "uid"
        return f"{keys} order by {created} {self._down}, {uid} {self._down} limit {values.parameter(most)}"

    def _where(self, branch: SourceBranch, values: SqlValues) -> str:
        created, uid = branch.key
        text = branch.source(values)
        for bound in self.scope.bounds:
            text += f" and {created} {bound.operator} {values.parameter(bound.value)}"
        if self.scope.after is not None:
            sign = "<" if self.scope.newest_first else ">"
            places = ", ".join(values.parameter(part) for part in self.scope.after)
            text += f" and ({created}, {uid}) {sign} ({places})"
        return text

    @property
    def _down(self) -> str:
        return "desc" if self.scope.newest_first else "asc"


def source_search(
    dialect: SearchDialect, source: CandidateSource, condition: Condition, scope: SearchScope
) -> SourceSearch:
    """The search for a condition by one of its sources."""
    parts = [part for part in conjuncts(condition) if part != source.part]
    bounds = tuple(part for part in parts if isinstance(part, Comparison) and part.field is SearchField.CREATED)
    rest = AllOf(tuple(part for part in parts if part not in bounds))
    return SourceSearch(dialect, source, scope._replace(bounds=bounds), rest)


def still_fulfilling(dialect: SearchDialect, condition: Condition, uids: Sequence[str]) -> SqlStatement:
    """The uids of those of some tasks that fulfil the condition."""
    values = SqlValues(dialect.mark)
    wanted = ", ".join(values.parameter(uid) for uid in uids)
    rest = rendered(condition, dialect, values)
    return SqlStatement(f"select t.uid from {dialect.task} as t where t.uid in ({wanted}) and {rest}", values.values)


def sample(dialect: SearchDialect, condition: Condition) -> SqlStatement:
    """The statement for the number of sampled tasks that fulfil the condition, and of tasks that each stands for."""
    values = SqlValues(dialect.mark)
    points = values.parameter(POINTS) if "{points}" in dialect.sample else ""
    text = dialect.sample.replace("{points}", points).replace("{rest}", rendered(condition, dialect, values))
    return SqlStatement(text, values.values)
