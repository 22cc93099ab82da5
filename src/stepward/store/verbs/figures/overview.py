"""Counts over all tasks, each of which reads a bounded part of an index."""

from __future__ import annotations

from stepward.clock import MILLISECONDS, uuid7
from stepward.model.agent_stats import StepAttempts
from stepward.model.states import StepState, TaskState
from stepward.store.contract.by_subject.overview import (
    MOST_COUNTED,
    MOST_IN_ERROR,
    MOST_IN_FLOW,
    MOST_STEPS_TIMED,
    MOST_TASKS_TIMED,
    FlowCount,
    Overview,
    QueueLength,
    StateCount,
)
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.figures.gauges import LONGEST_HEAD, posted_at

COUNTED = (TaskState.PENDING, TaskState.WAITING, TaskState.SUSPENDED, TaskState.UNDOING, TaskState.ERROR)
MOST_ACTS = 5_000
STAMP = 12
"""Hexadecimal digits of a uid that hold its time in milliseconds."""


async def overview(connection: VerbConnection, late_from: float, now: float) -> Overview:
    """Tasks by state, open alerts, dead letters, and the leader."""
    most = MOST_COUNTED + 1
    states = [_counted(TaskState.PROCESSING, await connection.row("overview.processing", most))]
    states += [_counted(state, await connection.row("overview.listed", state.value, most)) for state in COUNTED]
    late = await connection.row("overview.late", now, late_from, most)
    alerts = await connection.row("overview.open_alerts", most)
    letters = await connection.row("overview.dead_letters", most)
    leader = await connection.row("overview.leader")
    return Overview(
        states=states,
        late=0 if late is None else late[0],
        open_alerts=0 if alerts is None else alerts[0],
        dead_letters=0 if letters is None else letters[0],
        leader=leader[0] if leader is not None and leader[1] > now else None,
    )


async def queues(connection: VerbConnection) -> list[QueueLength]:
    """The queues of the store that have messages."""
    heads = {queue: posted_at(body) for queue, body in await connection.rows("gauges.heads", LONGEST_HEAD)}
    counts = await connection.rows("overview.queues", MOST_COUNTED + 1)
    return [QueueLength(queue, count, heads.get(queue)) for queue, count in counts]


async def flow(connection: VerbConnection, since: float, seconds: float) -> list[FlowCount]:
    """Tasks submitted and ended, in buckets of time."""
    rows = await connection.rows("overview.submitted", since, seconds, MOST_IN_FLOW)
    rows += await connection.rows("overview.ended", since, seconds, MOST_IN_FLOW)
    rows += await connection.rows("overview.failed", since, seconds, MOST_IN_ERROR)
    rows += await connection.rows("overview.decided", since, seconds, MOST_ACTS)
    return [FlowCount(int(bucket), str(what), int(count)) for bucket, what, count in rows]


async def attempts(connection: VerbConnection, since: float) -> list[StepAttempts]:
    """The attempts at Agents of the newest tasks submitted since an instant."""
    first = uuid7(int(since * MILLISECONDS), 0)
    found = await connection.rows("overview.attempts", first, MOST_TASKS_TIMED, MOST_STEPS_TIMED)
    return [StepAttempts(agent, StepState(state), *more) for agent, state, *more in found]


def _counted(state: TaskState, row: tuple[int, str | None] | None) -> StateCount:
    count, oldest = (0, None) if row is None else (row[0], row[1])
    return StateCount(state, count, None if oldest is None else _made_at(oldest))


def _made_at(uid: str) -> float:
    """The instant at which a uid was made: it begins with the milliseconds since 1970."""
    return int(uid.replace("-", "")[:STAMP], 16) / MILLISECONDS
