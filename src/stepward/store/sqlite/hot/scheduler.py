"""The Scheduler's verbs: claim, load, commit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec

from stepward.errors import Refused
from stepward.model.messages.requests import Progress, Reply
from stepward.model.records import History, InboxRow, Step, Task
from stepward.store import rows
from stepward.store.contract import Change, Committed, Least, Transaction, Unheld, WatchedPlace
from stepward.store.queries import load_queries
from stepward.store.rules import refusals
from stepward.store.rules.changes import Missed
from stepward.store.rules.fairness import NO_TURNS, Turns
from stepward.store.sqlite.engine.clock import StoreClock
from stepward.store.sqlite.engine.connection import Connection
from stepward.store.sqlite.engine.database import Database
from stepward.store.sqlite.engine.parameters import FRAGMENTS
from stepward.store.sqlite.engine.query_catalogue import load_book
from stepward.store.sqlite.engine.verb_engine import driven
from stepward.store.sqlite.hot import claiming, progress, transaction, turn, unowned_steps
from stepward.store.sqlite.hot.turn import check_alive
from stepward.store.verbs.tasks import misrouted_replies

Q = load_queries(__package__, "scheduler.sql", FRAGMENTS)

WAKE_LIMIT = 1_000
INBOX_LIMIT = 10_000
NOTHING_SAID = ("[null]", "[null]", None)
"""Of health, demand and the host's clock, in a renewal that proves that one instance lives."""


class SqliteScheduler:
    """What a Scheduler may do; see ``SchedulerStore``."""

    def __init__(self, database: Database, clock: StoreClock) -> None:
        self._database = database
        self._clock = clock
        self._turns: Turns = NO_TURNS

    @property
    def transactional_steps(self) -> int:
        return 1

    def now(self) -> float:
        return self._clock.now()

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        return transaction.opened(self._database)

    async def claim(
        self, instance: str, workflows: Sequence[tuple[str, str]], limit: int, least: Least | None = None
    ) -> list[History]:
        if not workflows or limit <= 0:
            return []
        histories, self._turns = await self._database.write(
            _claim, instance, workflows, limit, least, self._turns, self._clock.now()
        )
        return histories

    async def load(self, instance: str, tasks: Sequence[str]) -> list[History]:
        return await self._database.snapshot(_load, instance, tasks)

    async def read_inbox(self, instance: str, after: int) -> list[InboxRow]:
        found = await self._database.read(Connection.rows, Q["read_inbox"], (after, instance, INBOX_LIMIT))
        return [rows.inbox_row(row) for row in found]

    async def next_wake(self) -> float | None:
        row = await self._database.read(Connection.row, Q["next_wake"])
        wake: float | None = row[0] if row else None
        return wake

    async def commit(self, instance: str, changes: Sequence[Change], renew: float | None) -> Committed:
        try:
            return await self._database.write(_commit_all, instance, changes, renew, self._clock)
        except (Missed, Refused, TypeError):
            pass  # Nothing was changed; now each change alone, to leave out those that are to blame.
        return await self._database.write(_commit_each, instance, changes, renew, self._clock)

    async def stray(self, replies: Sequence[Reply]) -> None:
        await self._database.write(driven, misrouted_replies.settle, replies, self._clock.now())

    async def unheld(self, after: WatchedPlace, agents: Collection[str] | None, limit: int) -> Unheld:
        return await self._database.snapshot(unowned_steps.look, after, agents, limit)

    async def note_progress(self, words: Sequence[Progress]) -> set[tuple[str, int, str]]:
        """Nobody else changes anything meanwhile."""
        return await self._database.write(progress.note, words, self._clock.now())


def _commit_all(
    connection: Connection, instance: str, changes: Sequence[Change], renew: float | None, clock: StoreClock
) -> Committed:
    now = clock.now()
    _prove(connection, instance, renew, now)
    turn.apply(connection, instance, changes, now)
    return Committed({})


def _commit_each(
    connection: Connection, instance: str, changes: Sequence[Change], renew: float | None, clock: StoreClock
) -> Committed:
    now = clock.now()
    _prove(connection, instance, renew, now)
    return Committed(turn.apply_each(connection, instance, changes, now))


def _prove(connection: Connection, instance: str, renew: float | None, now: float) -> None:
    """Every commit proves in itself that its instance still lives; a renewal proves it in passing."""
    if renew is None:
        check_alive(connection, instance)
    elif not connection.rows(load_book()["leases.renew"], (_json([instance]), now, renew, *NOTHING_SAID)):
        raise refusals.fenced(instance)


def _claim(
    connection: Connection,
    instance: str,
    workflows: claiming.Served,
    limit: int,
    least: Least | None,
    turns: Turns,
    now: float,
) -> tuple[list[History], Turns]:
    check_alive(connection, instance)
    connection.change(Q["wake"], (now, max(limit, WAKE_LIMIT)))
    claimed, turns = claiming.claim(connection, instance, workflows, limit, least, turns, now)
    return _histories(connection, claimed), turns


def _load(connection: Connection, instance: str, tasks: Sequence[str]) -> list[History]:
    found = connection.rows(Q["tasks"], (_json(list(tasks)), instance))
    return _histories(connection, [rows.task(row) for row in found])


def _histories(connection: Connection, tasks: list[Task]) -> list[History]:
    steps: defaultdict[str, list[Step]] = defaultdict(list)
    inbox: defaultdict[str, list[InboxRow]] = defaultdict(list)
    for row in connection.rows(Q["steps"], (_json([task.uid for task in tasks]),)):
        steps[row[0]].append(rows.step(row))
    for row in connection.rows(Q["inbox"], (_json([task.uid for task in tasks if task.inbox]),)):
        inbox[row[1]].append(rows.inbox_row(row))
    for found in steps.values():
        found.sort(key=lambda step: (step.run, step.number))
    return [History(task, steps.get(task.uid, []), inbox.get(task.uid, [])) for task in tasks]


def _json(values: list[Any]) -> str:
    """An array as SQLite's json_each takes it: bytes would be read as its binary form."""
    return msgspec.json.encode(values).decode()
