"""The Scheduler's hot paths on a file: claims and commits."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.messages.requests import Progress
from stepward.model.records import History, InboxRow
from stepward.store import rows
from stepward.store.contract import Change, Committed
from stepward.store.queries import load_queries
from stepward.store.rules import refusals
from stepward.store.rules.fairness import Turns
from stepward.store.sqlite.engine.connection import Connection, encoded
from stepward.store.sqlite.engine.database import Database
from stepward.store.sqlite.engine.faults import DATA
from stepward.store.sqlite.engine.parameters import FRAGMENTS
from stepward.store.sqlite.engine.query_catalogue import load_catalogue
from stepward.store.sqlite.engine.verb_engine import driven
from stepward.store.sqlite.hot import claiming
from stepward.store.sqlite.hot.turn import apply
from stepward.store.verbs import connection as ask
from stepward.store.verbs.connection import VerbClock
from stepward.store.verbs.engine import VerbEngine
from stepward.store.verbs.readers.scheduler import (
    INBOX_LIMIT,
    NOTHING_MISSED,
    UNFIT,
    WAKE_LIMIT,
    ClaimRequest,
    SchedulerVerbs,
    TurnCommit,
)
from stepward.store.verbs.tasks import turns
from stepward.store.verbs.tasks.histories import histories
from stepward.store.verbs.tasks.progress import progress_rows

Q = load_queries(__package__, "scheduler.sql", FRAGMENTS)

NOTHING_SAID = ("[null]", "[null]", None)
"""Of health, demand and the host's clock, in a renewal that proves that one instance lives."""


class SqliteScheduler(SchedulerVerbs):
    """Implements ``SchedulerStore`` on a file."""

    def __init__(self, engine: VerbEngine, database: Database) -> None:
        super().__init__(engine)
        self._database = database

    @property
    def transactional_steps(self) -> int:
        return 1

    async def read_inbox(self, instance: str, after: int) -> list[InboxRow]:
        found = await self._database.read(Connection.rows, Q["read_inbox"], (after, instance, INBOX_LIMIT))
        return [rows.inbox_row(row) for row in found]

    async def note_progress(self, updates: Sequence[Progress]) -> set[tuple[str, int, str]]:
        """Skips no step: no other transaction writes at the same time."""
        await self._transactions.batch(ask.change_each, "progress.note", progress_rows(updates, self.now()))
        return {(update.task, update.run, update.key) for update in updates}

    async def _claim(self, wanted: ClaimRequest) -> tuple[list[History], Turns]:
        return await self._database.write(_claim, wanted)

    async def commit(self, instance: str, changes: Sequence[Change], renew: float | None) -> Committed:
        turn = TurnCommit(instance, changes, renew)
        try:
            await self._database.write(_commit_together, turn, self._clock)
        except UNFIT:
            return Committed(await self._database.write(_commit_each, turn, self._clock))
        return NOTHING_MISSED


def check_alive(connection: Connection, instance: str) -> None:
    """Raise InstanceFenced unless the instance lives."""
    if connection.row(Q["alive"], (instance,)) is None:
        raise refusals.fenced(instance)


def _claim(connection: Connection, wanted: ClaimRequest) -> tuple[list[History], Turns]:
    check_alive(connection, wanted.instance)
    connection.change(Q["wake"], (wanted.now, max(wanted.limit, WAKE_LIMIT)))
    claimed, last = claiming.claim(connection, wanted)
    return driven(connection, histories, claimed), last


def _commit_together(connection: Connection, turn: TurnCommit, clock: VerbClock) -> None:
    now = clock.now()
    _prove(connection, turn, now)
    apply(connection, turn.instance, turn.changes, now)


def _commit_each(connection: Connection, turn: TurnCommit, clock: VerbClock) -> dict[str, str]:
    now = clock.now()
    _prove(connection, turn, now)

    async def applied(change: Change) -> None:
        apply(connection, turn.instance, [change], now)

    return driven(connection, turns.apply_each, turn.instance, turn.changes, applied, (*DATA, TypeError))


def _prove(connection: Connection, turn: TurnCommit, now: float) -> None:
    """Every commit proves in itself that its instance still lives; a renewal proves it in passing."""
    if turn.renew is None:
        check_alive(connection, turn.instance)
        return
    values = (encoded([turn.instance]), now, turn.renew, *NOTHING_SAID)
    if not connection.rows(load_catalogue()["leases.renew"], values):
        raise refusals.fenced(turn.instance)
