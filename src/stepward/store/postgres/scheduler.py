"""The Scheduler's verbs: claim, load, commit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from stepward.errors import Refused
from stepward.model.messages import Reply
from stepward.model.records import History, InboxRow, Step, Task
from stepward.model.states import TASK_ENDS, TaskState
from stepward.model.status import Told
from stepward.store import rows
from stepward.store.contract import Change, Committed
from stepward.store.postgres import stray, telling, turn
from stepward.store.postgres.bell import Bell
from stepward.store.postgres.columns import columns_of
from stepward.store.postgres.connection import Connection
from stepward.store.postgres.database import Database
from stepward.store.postgres.parts import Missed, parts_of
from stepward.store.postgres.trail import Trail
from stepward.store.rulings import fenced

WAKE_LIMIT = 1_000
INBOX_LIMIT = 10_000


class PostgresScheduler:
    """What a Scheduler may do; see ``SchedulerStore``."""

    def __init__(self, database: Database, bell: Bell) -> None:
        self._lane = database.turns
        self._clock = database.clock
        self._bell = bell
        self._trail = Trail()

    async def claim(self, instance: str, workflows: Sequence[tuple[str, str]], limit: int) -> list[History]:
        """See ``SchedulerStore.claim``."""
        if not workflows or limit <= 0:
            return []
        return await self._lane.write(_claim, instance, workflows, limit, self._clock.now())

    async def load(self, instance: str, tasks: Sequence[str]) -> list[History]:
        """See ``SchedulerStore.load``."""
        return await self._lane.read(_load, instance, tasks)

    async def read_inbox(self, instance: str, after: int) -> list[InboxRow]:
        """See ``SchedulerStore.read_inbox``."""
        look = self._trail.look(instance, after)
        query = "scheduler.read_inbox" if look.since is None else "scheduler.read_inbox_since"
        since = () if look.since is None else (look.since,)
        found = await self._lane.read(Connection.rows, query, look.above, instance, INBOX_LIMIT, *since)
        news = [rows.inbox_row(row[1:]) for row in found if row[1] is not None]
        self._trail.saw(look, found[0][0], [row.number for row in news], INBOX_LIMIT)
        return news

    async def next_wake(self) -> float | None:
        """See ``SchedulerStore.next_wake``."""
        row = await self._lane.read(Connection.row, "scheduler.next_wake")
        wake: float | None = row[0] if row else None
        return wake

    async def commit(self, instance: str, changes: Sequence[Change], renew: float | None) -> Committed:
        """See ``SchedulerStore.commit``."""
        try:
            if turn.is_one_statement(changes):
                await self._lane.single(self._commit_at_once, instance, changes, renew)
            else:
                await self._lane.write(_commit_all, instance, changes, renew, self._clock.now())
            committed = Committed({})
        except (Missed, Refused, TypeError):
            # Nothing was changed; now each change alone, to leave out those that are to blame.
            committed = await self._lane.write(_commit_each, instance, changes, renew, self._clock.now())
        if any(_concerns_others(change) for change in changes):
            self._bell.ring()
        return committed

    async def stray(self, replies: Sequence[Reply]) -> None:
        """See ``SchedulerStore.stray``."""
        await self._lane.write(stray.settle, replies, self._clock.now())
        self._bell.ring()

    async def _commit_at_once(
        self, connection: Connection, instance: str, changes: Sequence[Change], renew: float | None
    ) -> None:
        now = self._clock.now()
        sent = self._clock.read()
        proof = turn.proof(instance, renew, now)
        try:
            shown = await turn.apply_at_once(connection, [proof, *parts_of(instance, changes, now)])
        except Missed as reason:
            if str(reason) == turn.PROOF:
                raise fenced(instance) from None
            raise
        self._clock.heard(shown, sent)


async def _commit_all(
    connection: Connection, instance: str, changes: Sequence[Change], renew: float | None, now: float
) -> None:
    await turn.prove(connection, instance, renew, now)
    await turn.apply(connection, instance, changes, now)


async def _commit_each(
    connection: Connection, instance: str, changes: Sequence[Change], renew: float | None, now: float
) -> Committed:
    await turn.prove(connection, instance, renew, now)
    return Committed(await turn.apply_each(connection, instance, changes, now))


def _concerns_others(change: Change) -> bool:
    """Whether somebody may wait for it: for a task's end, what it leaves, or what it tells."""
    move = change.move
    lets_go = move is not None and (move.release or move.after in TASK_ENDS)
    return bool(lets_go or change.posts or change.telling or change.children or change.alerts)


async def _claim(
    connection: Connection, instance: str, workflows: Sequence[tuple[str, str]], limit: int, now: float
) -> list[History]:
    """Whoever cannot read what he claims claims nothing: he would keep tasks of which he knows nothing."""
    if not await connection.rows("scheduler.open_claim", instance, now, max(limit, WAKE_LIMIT)):
        raise fenced(instance)
    found = await connection.rows("scheduler.claim", *columns_of(workflows), limit, instance, now)
    unstarted = {row[0] for row in found if row[-1]}
    claimed = sorted((rows.task(row) for row in found), key=lambda task: (-task.priority, task.uid))
    for task in claimed:
        if task.uid in unstarted:
            await telling.tell(connection, task, Told.STARTED, now)
    return await _histories(connection, claimed)


async def _load(connection: Connection, instance: str, tasks: Sequence[str]) -> list[History]:
    found = [rows.task(row) for row in await connection.rows("scheduler.tasks", list(tasks))]
    return await _histories(connection, [task for task in found if task.locked_by == instance])


async def _histories(connection: Connection, tasks: list[Task]) -> list[History]:
    """The rows that belong to tasks. Inbox rows are read before steps, and both after the task: who sees the word of a
    change then sees the change too, and what comes between is heard of later."""
    inbox: defaultdict[str, list[InboxRow]] = defaultdict(list)
    steps: defaultdict[str, list[Step]] = defaultdict(list)
    if counted := [task.uid for task in tasks if task.inbox]:
        for row in await connection.rows("scheduler.inbox", counted):
            inbox[row[1]].append(rows.inbox_row(row))
    if tasks:
        wanted = [(task.uid, 1 if task.state is TaskState.UNDOING else task.run, task.run) for task in tasks]
        for row in await connection.rows("scheduler.steps", *columns_of(wanted)):
            steps[row[0]].append(rows.step(row))
    for found in steps.values():
        found.sort(key=lambda step: (step.run, step.number))
    return [History(task, steps.get(task.uid, []), inbox.get(task.uid, [])) for task in tasks]
