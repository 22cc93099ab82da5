"""Pages of tasks that a search found, and what is asked for by keywords as a condition."""

from __future__ import annotations

from collections.abc import Iterable

from stepward.client.submitting import act_arguments
from stepward.client.task_status import TaskStatus
from stepward.errors import Refused
from stepward.model.states import TaskState
from stepward.store.contract import TaskSearch
from stepward.store.search.conditions import EVERY_TASK, AllOf, Comparison, Condition, Operator, conjuncts
from stepward.store.search.cursors import key_of
from stepward.store.search.fields import SearchField
from stepward.store.search.parser import parsed

NEWEST, OLDEST = "newest", "oldest"
ORDERS = (NEWEST, OLDEST)


class Page(list[TaskStatus]):
    """Tasks in the order that was asked for, and where the search goes on.

    A page may be short of its limit, or empty, and yet have a cursor: one look goes through a bounded number of tasks.
    """

    def __init__(self, tasks: Iterable[TaskStatus], cursor: str | None) -> None:
        super().__init__(tasks)
        self.cursor = cursor
        """For the next page; None where nothing is left."""


def condition_of(
    where: str | None, state: TaskState | str | None, workflow: str | None, label: tuple[str, str] | None, now: float
) -> Condition:
    """The condition that a filter and the keywords make together. Raises Refused."""
    parts: list[Condition] = [] if where is None else conjuncts(parsed(where, now))
    if state is not None:
        parts.append(Comparison(SearchField.STATE, Operator.EQUAL, _state(state).value))
    if workflow is not None:
        wanted = act_arguments.wanted_workflow(workflow) or ""
        parts.append(Comparison(SearchField.WORKFLOW, Operator.EQUAL, wanted))
    if label is not None:
        name, value = act_arguments.wanted_label(label) or label
        parts.append(Comparison(SearchField.LABEL, Operator.EQUAL, value, name))
    return AllOf(tuple(parts)) if parts else EVERY_TASK


def search_of(condition: Condition, order: str, cursor: str | None, limit: int) -> TaskSearch:
    """The search for a page. Raises Refused."""
    if order not in ORDERS:
        raise Refused(f"order: expected one of {', '.join(ORDERS)}, found {order!r:.60}; the order is of submission")
    newest_first = order == NEWEST
    after = None if cursor is None else key_of(cursor, newest_first=newest_first)
    return TaskSearch(condition=condition, newest_first=newest_first, limit=act_arguments.listed(limit), after=after)


def _state(state: TaskState | str) -> TaskState:
    try:
        return TaskState(state)
    except ValueError:
        raise Refused(f"state: expected one of {', '.join(TaskState)}, found {state!r}") from None
