"""The sources of a search: the parts of a condition that an index finds, each as the keys of candidate tasks.

The key of a task is its creation and its uid. A source *in order* comes from an index by that key, so that a page reads
only what it shows; other sources are sorted, and used only while they are small.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from stepward.model.states import TaskState
from stepward.store.search.condition_sql import ValueTest, after, named, value_tests
from stepward.store.search.conditions import AnyOf, Comparison, Condition, Operator, conjuncts
from stepward.store.search.dialect import SearchDialect, SqlValues
from stepward.store.search.fields import SearchField

TASK_KEY = ("t.created_at", "t.uid")
ROW_KEY = ("f.created_at", "f.task")
STEP_FIELDS = (SearchField.AGENT, SearchField.STEP)
MOST_BRANCHES = 20
LISTED = (TaskState.PENDING, TaskState.WAITING, TaskState.SUSPENDED, TaskState.UNDOING, TaskState.ERROR)


class SourceBranch(NamedTuple):
    """A ``from … where`` with its conditions, and the columns of the key there."""

    source: Callable[[SqlValues], str]
    key: tuple[str, str] = TASK_KEY
    in_order: bool = True
    """Whether its index gives the tasks in the order of their keys."""


class CandidateSource(NamedTuple):
    """Branches that together hold every task of one part of the condition, each at least once."""

    branches: tuple[SourceBranch, ...]
    in_order: bool
    rank: int
    """Order among large sources, the narrowest by experience first."""
    part: Condition | None = None
    """The part that need not be checked again, because the source holds exactly the tasks that fulfil it."""


def sources(condition: Condition, dialect: SearchDialect) -> list[CandidateSource]:
    """The sources for a condition, the narrowest first; the last one holds all tasks."""
    found = [source for part in conjuncts(condition) for source in _of_part(part, dialect)]
    return [*sorted(found, key=lambda source: source.rank), every_task(dialect)]


def every_task(dialect: SearchDialect) -> CandidateSource:
    """The source of all tasks, in the order of their creation."""
    return CandidateSource((SourceBranch(lambda _: dialect.by_created),), in_order=True, rank=9)


def _of_part(part: Condition, dialect: SearchDialect) -> list[CandidateSource]:
    if isinstance(part, Comparison):
        return _of_comparison(part, dialect)
    return _of_alternatives(part, dialect) if isinstance(part, AnyOf) else []


def _of_alternatives(part: AnyOf, dialect: SearchDialect) -> list[CandidateSource]:
    """The source of a list of values of one field: a branch for each value, so that no task is in two."""
    equal = [
        comparison
        for comparison in part.parts
        if isinstance(comparison, Comparison) and comparison.operator is Operator.EQUAL
    ]
    if len(equal) != len(part.parts) or len({(comparison.field, comparison.name) for comparison in equal}) != 1:
        return []
    if equal[0].field in STEP_FIELDS:
        return [_open_tasks(dialect)]
    found = [source for comparison in dict.fromkeys(equal) for source in _of_comparison(comparison, dialect)]
    branches = tuple(branch for source in found for branch in source.branches)
    if not 0 < len(branches) <= MOST_BRANCHES:
        return []
    in_order = all(source.in_order for source in found)
    return [CandidateSource(branches, in_order, max(source.rank for source in found), part)]


def _of_comparison(part: Comparison, dialect: SearchDialect) -> list[CandidateSource]:
    find = FOUND_BY.get(part.field)
    return [] if find is None else find(part, dialect)


def _by_step(part: Comparison, dialect: SearchDialect) -> list[CandidateSource]:
    return [_open_tasks(dialect)]


def _by_error(part: Comparison, dialect: SearchDialect) -> list[CandidateSource]:
    equal = part.operator is Operator.EQUAL
    return [_equal(dialect.with_error, dialect.error_type, part, 2)] if equal else []


def _by_workflow(part: Comparison, dialect: SearchDialect) -> list[CandidateSource]:
    equal = part.operator is Operator.EQUAL
    return [_equal(dialect.by_workflow, "t.workflow", part, 5)] if equal else []


def _in_state(part: Comparison, dialect: SearchDialect) -> list[CandidateSource]:
    return [_by_state(TaskState(str(part.value)), dialect, part)]


def _by_id(part: Comparison, dialect: SearchDialect) -> list[CandidateSource]:
    prefix = str(part.value)
    if part.operator is Operator.EQUAL:
        return [_equal(dialect.by_id, "t.id", part, 0)]
    end = after(prefix)
    if not prefix or end is None:
        return []

    def source(values: SqlValues) -> str:
        return f"{dialect.by_id} and t.id >= {values.parameter(prefix)} and t.id < {values.parameter(end)}"

    return [CandidateSource((SourceBranch(source, in_order=False),), in_order=False, rank=1, part=part)]


def _by_value(part: Comparison, dialect: SearchDialect) -> list[CandidateSource]:
    in_order = part.operator is Operator.EQUAL
    branches = tuple(SourceBranch(_rows_of(part, test, dialect), ROW_KEY, in_order) for test in value_tests(part))
    return [CandidateSource(branches, in_order, 1, part)]


def _rows_of(part: Comparison, test: ValueTest, dialect: SearchDialect) -> Callable[[SqlValues], str]:
    rows = dialect.text_of if test.kind == "text" else dialect.number_of
    name = named(part.field, part.name)
    return lambda values: f"{rows} and f.name = {values.parameter(name)} and {test.indexed(values)}"


def _equal(where: str, column: str, part: Comparison, rank: int) -> CandidateSource:
    return CandidateSource(
        (SourceBranch(lambda values: f"{where} and {column} = {values.parameter(part.value)}"),),
        in_order=True,
        rank=rank,
        part=part,
    )


def _by_state(state: TaskState, dialect: SearchDialect, part: Condition | None = None) -> CandidateSource:
    if state in LISTED:
        return _of_state(dialect.listed, state, part, in_order=True, rank=3)
    if state is TaskState.PROCESSING:
        return _of_state(dialect.held, state, part, in_order=False, rank=4)
    return _of_state(dialect.ended, state, part, in_order=True, rank=6)


def _of_state(where: str, state: TaskState, part: Condition | None, *, in_order: bool, rank: int) -> CandidateSource:
    branch = SourceBranch(lambda values: f"{where} and t.state = {values.parameter(state.value)}", in_order=in_order)
    return CandidateSource((branch,), in_order, rank, part)


def _open_tasks(dialect: SearchDialect) -> CandidateSource:
    """Tasks that have not ended, or ended in error: only they have open steps."""
    sources_by_state = [_by_state(state, dialect) for state in (*LISTED, TaskState.PROCESSING)]
    return CandidateSource(
        tuple(branch for source in sources_by_state for branch in source.branches), in_order=False, rank=4
    )


FOUND_BY: dict[SearchField, Callable[[Comparison, SearchDialect], list[CandidateSource]]] = {
    SearchField.ID: _by_id,
    SearchField.LABEL: _by_value,
    SearchField.ATTRIBUTE: _by_value,
    SearchField.ERROR_TYPE: _by_error,
    SearchField.STATE: _in_state,
    SearchField.WORKFLOW: _by_workflow,
    SearchField.AGENT: _by_step,
    SearchField.STEP: _by_step,
}
"""Fields that an index finds."""
