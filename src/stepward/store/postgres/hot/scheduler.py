"""The Scheduler's hot paths on PostgreSQL: commits, and the reading of inboxes."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from stepward.model.messages.requests import Progress
from stepward.model.records import History, InboxRow
from stepward.store import rows
from stepward.store.contract import INBOX_ROWS, Change, Committed
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.database import FOR_OTHERS, TRANSACTIONS, Database
from stepward.store.postgres.engine.error_translation import DATA
from stepward.store.postgres.hot import claiming, turn
from stepward.store.postgres.hot.gap_reader import GapReader
from stepward.store.postgres.hot.turn_statements import parts_of
from stepward.store.rules.change_conflicts import Missed
from stepward.store.rules.fairness import Turns
from stepward.store.rules.refusals import fenced
from stepward.store.rules.turn_rows import kinds_of
from stepward.store.verbs.actors.scheduler import (
    NOTHING_MISSED,
    UNFIT,
    ClaimRequest,
    SchedulerVerbs,
    TurnCommit,
)
from stepward.store.verbs.engine import VerbEngine
from stepward.store.verbs.tasks import turns
from stepward.store.verbs.tasks.progress import progress_rows


class PostgresScheduler(SchedulerVerbs):
    """Implements ``SchedulerStore`` on PostgreSQL."""

    def __init__(self, engine: VerbEngine, database: Database) -> None:
        super().__init__(engine)
        self._lane = database.turns
        self._others = database.others
        self._gap_reader = GapReader()

    @property
    def transactional_steps(self) -> int:
        return TRANSACTIONS - FOR_OTHERS

    async def read_inbox(self, instance: str, after: int) -> list[InboxRow]:
        return await self._lane.read(self._read_inbox, instance, after)

    async def note_progress(self, updates: Sequence[Progress]) -> set[tuple[str, int, str]]:
        noted = await self._others.single(
            Connection.rows_of_each, "progress.note", progress_rows(updates, self._clock.now())
        )
        return {(task, run, key) for task, run, key in noted}

    async def commit(self, instance: str, changes: Sequence[Change], renew: float | None) -> Committed:
        committed = await self._committed(TurnCommit(instance, changes, renew))
        if kinds := kinds_of(changes):
            self._ring(kinds)
        return committed

    async def _claim(self, wanted: ClaimRequest) -> tuple[list[History], Turns]:
        return await self._lane.write(claiming.claim, wanted)

    async def _committed(self, commit: TurnCommit) -> Committed:
        try:
            if turn.is_one_statement(commit.changes):
                await self._lane.single(self._commit_at_once, commit)
            else:
                await self._lane.write(_commit_in_order, commit, self._clock.now())
        except UNFIT:
            return Committed(await self._lane.write(_commit_one_by_one, commit, self._clock.now()))
        return NOTHING_MISSED

    async def _read_inbox(self, connection: Connection, instance: str, after: int) -> list[InboxRow]:
        look = self._gap_reader.look(instance, after, self._lane.pool.made)
        query = "scheduler.read_inbox" if look.since is None else "scheduler.read_inbox_since"
        since = () if look.since is None else (look.since,)
        found = await connection.rows(query, look.above, instance, INBOX_ROWS, *since)
        there = [rows.inbox_row(row[1:]) for row in found if row[1] is not None]
        numbers = [row.number for row in there]
        new = frozenset(look.new(numbers))
        self._gap_reader.saw(look, found[0][0], numbers, INBOX_ROWS)
        return [row for row in there if row.number in new]

    async def _commit_at_once(self, connection: Connection, commit: TurnCommit) -> None:
        now = self._clock.now()
        sent = self._clock.read()
        proof = turn.proof(commit.instance, commit.renew, now)
        try:
            shown = await turn.apply_at_once(connection, [proof, *parts_of(commit.instance, commit.changes, now)])
        except Missed as reason:
            if str(reason) == turn.PROOF:
                raise fenced(commit.instance) from None
            raise
        self._clock.heard(shown, sent)


async def _commit_in_order(connection: Connection, commit: TurnCommit, now: float) -> None:
    await turn.prove(connection, commit.instance, commit.renew, now)
    await turn.apply(connection, commit.instance, commit.changes, now)


async def _commit_one_by_one(connection: Connection, commit: TurnCommit, now: float) -> dict[str, str]:
    await turn.prove(connection, commit.instance, commit.renew, now)

    async def apply(change: Change) -> None:
        try:
            await turn.apply(connection, commit.instance, [change], now)
        except asyncpg.UniqueViolationError:
            if change.born is None:
                raise
            raise Missed("born: the id or uid exists") from None

    return await turns.apply_each(connection, commit.instance, commit.changes, apply, (*DATA, TypeError))
