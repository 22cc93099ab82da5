"""The Scheduler's verbs: claim, load, commit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager

from stepward.errors import Refused
from stepward.model.complete_by import of_claim
from stepward.model.messages.requests import Progress, Reply
from stepward.model.messages.status_events import Told
from stepward.model.records import PRIORITIES, History, InboxRow, Step, Task
from stepward.model.states import TASK_ENDS, TaskState
from stepward.store import rows
from stepward.store.contract import Change, Committed, Least, Transaction, Unheld, WatchedPlace
from stepward.store.postgres.engine.columns import columns_of
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.database import FOR_OTHERS, TRANSACTIONS, Database
from stepward.store.postgres.engine.notifier import Notifier
from stepward.store.postgres.hot import progress, transaction, turn, unowned_steps
from stepward.store.postgres.hot.gap_reader import GapReader
from stepward.store.postgres.hot.turn_parts import parts_of
from stepward.store.rules.changes import Missed
from stepward.store.rules.fairness import NO_TURNS, Turns, gone_on, passed_over
from stepward.store.rules.refusals import fenced
from stepward.store.verbs.tasks import misrouted_replies, status_events

WAKE_LIMIT = 1_000
INBOX_LIMIT = 10_000
ROUND, UNSTARTED, MORE = -4, -2, -1
"""Where a claimed row says in which round it had its turn, at which place, and what else is to be known."""


class PostgresScheduler:
    """What a Scheduler may do; see ``SchedulerStore``."""

    def __init__(self, database: Database, notifier: Notifier) -> None:
        self._database = database
        self._lane = database.turns
        self._others = database.others
        self._clock = database.clock
        self._notifier = notifier
        self._gap_reader = GapReader()
        self._turns: Turns = NO_TURNS

    @property
    def transactional_steps(self) -> int:
        return TRANSACTIONS - FOR_OTHERS

    def now(self) -> float:
        return self._clock.now()

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        return transaction.opened(self._database, self._notifier)

    async def claim(
        self, instance: str, workflows: Sequence[tuple[str, str]], limit: int, least: Least | None = None
    ) -> list[History]:
        if not workflows or limit <= 0:
            return []
        histories, self._turns = await self._lane.write(
            _claim, instance, workflows, limit, least, self._turns, self._clock.now()
        )
        return histories

    async def load(self, instance: str, tasks: Sequence[str]) -> list[History]:
        return await self._lane.read(_load, instance, tasks)

    async def read_inbox(self, instance: str, after: int) -> list[InboxRow]:
        return await self._lane.read(self._read_inbox, instance, after)

    async def _read_inbox(self, connection: Connection, instance: str, after: int) -> list[InboxRow]:
        look = self._gap_reader.look(instance, after, self._lane.pool.made)
        query = "scheduler.read_inbox" if look.since is None else "scheduler.read_inbox_since"
        since = () if look.since is None else (look.since,)
        found = await connection.rows(query, look.above, instance, INBOX_LIMIT, *since)
        there = [rows.inbox_row(row[1:]) for row in found if row[1] is not None]
        numbers = [row.number for row in there]
        new = frozenset(look.new(numbers))
        self._gap_reader.saw(look, found[0][0], numbers, INBOX_LIMIT)
        return [row for row in there if row.number in new]

    async def next_wake(self) -> float | None:
        row = await self._lane.read(Connection.row, "scheduler.next_wake")
        wake: float | None = row[0] if row else None
        return wake

    async def commit(self, instance: str, changes: Sequence[Change], renew: float | None) -> Committed:
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
            self._notifier.ring()
        return committed

    async def stray(self, replies: Sequence[Reply]) -> None:
        await self._lane.write(misrouted_replies.settle, replies, self._clock.now())
        self._notifier.ring()

    async def unheld(self, after: WatchedPlace, agents: Collection[str] | None, limit: int) -> Unheld:
        return await self._others.read(unowned_steps.look, after, agents, limit)

    async def note_progress(self, words: Sequence[Progress]) -> set[tuple[str, int, str]]:
        return await self._others.single(progress.note, words, self._clock.now())

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
    """Whether another process may wait for it: a task's end, what it leaves or tells, a failed attempt."""
    move = change.move
    lets_go = move is not None and (move.release or move.after in TASK_ENDS)
    has_failed = any(watch.error is not None for watch in change.watches)
    return bool(lets_go or has_failed or change.posts or change.telling or change.children or change.alerts)


async def _claim(
    connection: Connection,
    instance: str,
    workflows: Sequence[tuple[str, str]],
    limit: int,
    least: Least | None,
    turns: Turns,
    now: float,
) -> tuple[list[History], Turns]:
    """Whoever cannot read what he claims claims nothing: he would keep tasks of which he knows nothing."""
    if not await connection.rows("scheduler.open_claim", instance, now, max(limit, WAKE_LIMIT)):
        raise fenced(instance)
    claimed: list[Task] = []
    more = True
    while more and len(claimed) < limit:
        taken, more = await _take(connection, workflows, limit - len(claimed), instance, now, least, turns)
        turns = gone_on(turns, taken)
        claimed += taken
    return await _histories(connection, claimed), turns


async def _take(
    connection: Connection,
    workflows: Sequence[tuple[str, str]],
    limit: int,
    instance: str,
    now: float,
    least: Least | None,
    turns: Turns,
) -> tuple[list[Task], bool]:
    """Up to ``limit`` tasks of one priority in the order of their turns, and whether there may be more."""
    lowest = 0 if least is None else least.priority
    last = [turns.get(priority, "") for priority in PRIORITIES]
    but = list(passed_over(least, lowest))
    choice = (last, lowest, but)
    found = await connection.rows(
        "scheduler.claim", *columns_of(workflows), limit, instance, now, *choice, of_claim(now)
    )
    found.sort(key=lambda row: row[ROUND:UNSTARTED])
    taken = [rows.task(row) for row in found]
    for task, row in zip(taken, found, strict=True):
        if row[UNSTARTED]:
            await status_events.tell(connection, task, Told.STARTED, now)
    return taken, bool(found) and found[0][MORE]


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
