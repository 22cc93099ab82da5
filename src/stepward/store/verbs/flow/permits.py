"""Permits of tasks under the limit of their workflow: taken with the claim, and passed on when a task ends.

A task that is claimed and gets no permit waits without an owner. A trigger passes the permit of a task that ends on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stepward.model.limits.flow_limit import FlowLimit, workflow_limit
from stepward.model.records import Task
from stepward.model.states import TaskState
from stepward.store import rows
from stepward.store.verbs.connection import VerbConnection

Bucket = tuple[str, str]
"""The name of a limit and a key: what has the limit for itself."""


async def admit(connection: VerbConnection, tasks: Sequence[Task], now: float) -> list[Task]:
    """Those of the tasks, claimed at ``now`` in this transaction, that may go on; the others wait for a permit.

    Tasks that are undoing, or whose inbox has an act of an operator or the Supervisor, need none.
    """
    asked = sorted({workflow_limit(task.workflow) for task in tasks})
    if not asked or not await _limits(connection, asked):
        return list(tasks)
    await connection.rows("permits.lock")
    limits = await _limits(connection, asked)
    free = await _free(connection, tasks)
    wanting = [task for task in tasks if workflow_limit(task.workflow) in limits and task.uid not in free]
    held = await _granted(connection, wanting, limits)
    parked = [task for task in wanting if task.uid not in held]
    await connection.change_each("permits.put", [(*_row(t, limits), t.uid in held, t.priority) for t in wanting])
    await connection.change_each("permits.park", [(task.uid, task.started_at == now) for task in parked])
    gone = {task.uid for task in parked}
    return [task for task in tasks if task.uid not in gone]


async def _limits(connection: VerbConnection, names: list[str]) -> dict[str, FlowLimit]:
    found = [rows.flow_limit(row) for row in await connection.rows("permits.limits", names)]
    return {limit.name: limit for limit in found if limit.cap is not None}


async def _free(connection: VerbConnection, tasks: Sequence[Task]) -> set[str]:
    """The tasks that need no permit, or have one."""
    undoing = {task.uid for task in tasks if task.state is TaskState.UNDOING}
    held = {row[0] for row in await connection.rows("permits.held", [task.uid for task in tasks])}
    told = [task.uid for task in tasks if task.inbox]
    directed = {row[0] for row in await connection.rows("permits.directed", told)} if told else set()
    return undoing | held | directed


async def _granted(connection: VerbConnection, wanting: Sequence[Task], limits: Mapping[str, FlowLimit]) -> set[str]:
    """The tasks that get a permit, in their order."""
    buckets = sorted({_bucket(task, limits) for task in wanting})
    used = {(name, key): count for name, key, count in await connection.rows_of_each("permits.used", buckets)}
    granted = set[str]()
    for task in wanting:
        bucket = _bucket(task, limits)
        if used[bucket] < (limits[bucket[0]].cap or 0):
            used[bucket] += 1
            granted.add(task.uid)
    return granted


def _bucket(task: Task, limits: Mapping[str, FlowLimit]) -> Bucket:
    name = workflow_limit(task.workflow)
    return name, (task.fairness_key or "") if limits[name].per_key else ""


def _row(task: Task, limits: Mapping[str, FlowLimit]) -> tuple[str, str, str]:
    return task.uid, *_bucket(task, limits)
