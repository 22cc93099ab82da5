"""The listing of tasks: which rows, and by which index each engine reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from stepward.model.states import TaskState
from stepward.store.contract import TaskFilter

LIVE = (TaskState.PENDING, TaskState.WAITING, TaskState.SUSPENDED, TaskState.UNDOING, TaskState.ERROR)
"""States of tasks that a listing by state finds through the index of live tasks; others are met among the newest."""


class ListingSql(NamedTuple):
    """What differs between the engines in a listing."""

    parameter: str
    """What stands before the number of a parameter."""
    every: str
    """The rest of the statement up to its conditions, where every task is read."""
    live: str
    """The same for tasks in one of ``LIVE``."""
    held: str
    """The same for tasks that a Scheduler holds."""
    label: str
    """The condition that the label ``{name}`` is ``{value}``."""
    order: Mapping[TaskState, str] = {}
    """By what a listing by that state is ordered, where it is not ``uid``."""


def listing(select: str, wanted: TaskFilter, sql: ListingSql) -> tuple[str, list[Any]]:
    """The statement that lists those tasks, newest first, and its values."""
    conditions, values = list[str](), list[Any]()

    def given(value: object) -> str:
        values.append(value)
        return f"{sql.parameter}{len(values)}"

    if wanted.state is not None:
        conditions.append(f"state = {given(wanted.state)}")
    if wanted.workflow is not None:
        conditions.append(f"workflow = {given(wanted.workflow)}")
    if wanted.label is not None:
        name, value = wanted.label
        conditions.append(sql.label.format(name=given(name), value=given(value)))
    if wanted.before is not None:
        conditions.append(f"uid < {given(wanted.before)}")
    source = " and ".join([f"{select} {_source(wanted.state, sql)}", *conditions])
    order = "uid" if wanted.state is None else sql.order.get(wanted.state, "uid")
    return f"{source} order by {order} desc limit {given(wanted.limit)}", values


def _source(state: TaskState | None, sql: ListingSql) -> str:
    if state is TaskState.PROCESSING:
        return sql.held
    return sql.live if state in LIVE else sql.every
