"""Permits of tasks under the limit of their workflow: taken with the claim, and passed on when a task ends.

A task that is claimed and gets no permit waits without an owner. A trigger passes the permit of a task that ends on.
Under a rate a task that starts takes a token as well, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from stepward.model.limits.flow_limit import FlowLimit, workflow_limit
from stepward.model.records import Task
from stepward.model.states import TaskState
from stepward.model.tasks.key_rules import PREDECESSOR
from stepward.store import rows
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.flow_control import keyed_submissions, rate_buckets
from stepward.store.verbs.flow_control.rate_buckets import Bucket

DUE_BUCKETS = 1_000
"""Most buckets from which one claim lets waiting tasks go."""
NEVER = 1 << 30
"""More tasks than any limit lets run."""


async def admit(connection: VerbConnection, tasks: Sequence[Task], now: float) -> list[Task]:
    """Those of the tasks, claimed at ``now`` in this transaction, that may go on; the others wait for a permit.

    Tasks that are undoing, or whose inbox has an act of an operator or the Supervisor, need none.
    """
    if any(task.waits_for == PREDECESSOR for task in tasks):
        tasks = await keyed_submissions.park_followers(connection, tasks)
    asked = sorted({workflow_limit(task.workflow) for task in tasks})
    if not asked or not await _limits(connection, asked):
        return list(tasks)
    await connection.rows("permits.lock")
    limits = await _limits(connection, asked)
    free = await _free(connection, tasks)
    wanting = [task for task in tasks if workflow_limit(task.workflow) in limits and task.uid not in free]
    granted = await _grant(connection, wanting, limits, now)
    gone = {task.uid for task in wanting} - granted
    return [task for task in tasks if task.uid not in gone]


async def let_go(connection: VerbConnection, now: float) -> None:
    """Makes tasks claimable that wait in buckets which are due: as many as may start now."""
    await connection.rows("permits.lock")
    due: list[Bucket] = [(name, key) for name, key in await connection.rows("permits.due", now, DUE_BUCKETS)]
    limits = await _limits(connection, sorted({name for name, _ in due}))
    rated = {bucket: limits[bucket[0]] for bucket in due if bucket[0] in limits and limits[bucket[0]].rate is not None}
    buckets = await rate_buckets.buckets(connection, rated, now)
    used = await _used(connection, [bucket for bucket, limit in rated.items() if limit.cap is not None])
    free = {bucket: _cap(limit) - used.get(bucket, 0) for bucket, limit in rated.items()}
    counts = [(*bucket, min(buckets.tokens(bucket), count)) for bucket, count in sorted(free.items()) if count > 0]
    await connection.change_each("permits.let_go", counts)
    await connection.change_each("permits.disarm", [bucket for bucket in due if bucket not in rated])
    await buckets.write(
        connection, now + rate_buckets.LOOK_AGAIN, [bucket for bucket, count in free.items() if count <= 0]
    )


def is_new(task: Task, now: float) -> bool:
    """Whether the claim at ``now`` starts the task."""
    return task.started_at == now


async def _limits(connection: VerbConnection, names: list[str]) -> dict[str, FlowLimit]:
    found = [rows.flow_limit(row) for row in await connection.rows("permits.limits", names)]
    return {limit.name: limit for limit in found if limit.is_bounding}


async def _free(connection: VerbConnection, tasks: Sequence[Task]) -> set[str]:
    """The tasks that need no permit, or have one."""
    undoing = {task.uid for task in tasks if task.state is TaskState.UNDOING}
    held = {row[0] for row in await connection.rows("permits.held", [task.uid for task in tasks])}
    uids = [task.uid for task in tasks if task.inbox]
    directed = {row[0] for row in await connection.rows("permits.directed", uids)} if uids else set()
    return undoing | held | directed


async def _grant(
    connection: VerbConnection, wanting: Sequence[Task], limits: Mapping[str, FlowLimit], now: float
) -> set[str]:
    """Gives permits in the order of the tasks, and lets the others wait; returns those that got one.

    Tasks that start take their tokens.
    """
    known = {_bucket(task, limits): limits[workflow_limit(task.workflow)] for task in wanting}
    used = await _used(connection, [bucket for bucket, limit in known.items() if limit.cap is not None])
    buckets = await rate_buckets.buckets(connection, known, now)
    granted = set[str]()
    for task in wanting:
        bucket = _bucket(task, limits)
        is_free = used.get(bucket, 0) < _cap(known[bucket])
        if is_free and (not is_new(task, now) or buckets.take(bucket)):
            used[bucket] = used.get(bucket, 0) + 1
            granted.add(task.uid)
    values = [(task.uid, *_bucket(task, limits), task.uid in granted, task.priority) for task in wanting]
    await connection.change_each("permits.put", values)
    parked = [(task.uid, is_new(task, now)) for task in wanting if task.uid not in granted]
    await connection.change_each("permits.park", parked)
    await buckets.write(connection, now, [bucket for bucket, count in used.items() if count >= _cap(known[bucket])])
    return granted


async def _used(connection: VerbConnection, buckets: Iterable[Bucket]) -> dict[Bucket, int]:
    """How many permits there are of each bucket."""
    return {(name, key): count for name, key, count in await connection.rows_of_each("permits.used", sorted(buckets))}


def _cap(limit: FlowLimit) -> int:
    return NEVER if limit.cap is None else limit.cap


def _bucket(task: Task, limits: Mapping[str, FlowLimit]) -> Bucket:
    name = workflow_limit(task.workflow)
    return name, (task.fairness_key or "") if limits[name].per_key else ""
