"""The Scheduler's hot paths on a file: claims, and all changes of a turn in one commit."""

from __future__ import annotations

from collections.abc import Sequence

import apsw
from msgspec.structs import astuple

from stepward.model.messages.requests import Progress
from stepward.model.records import History, InboxRow
from stepward.store import rows
from stepward.store.contract import ANSWER_SECONDS, INBOX_ROWS, TRIM_ROWS, Change, Committed
from stepward.store.named_queries import load_queries
from stepward.store.rules import refusals
from stepward.store.rules.change_conflicts import NOT_AS_READ, Missed
from stepward.store.rules.fairness import Turns
from stepward.store.rules.turn_rows import (
    answer_rows,
    held_tasks,
    kinds_of,
    local_submissions,
    move_values,
    planned_rows,
    step_rows,
    trim_rows,
    unusual,
)
from stepward.store.sqlite.engine.connection import Connection, encoded
from stepward.store.sqlite.engine.database import Database
from stepward.store.sqlite.engine.error_translation import DATA
from stepward.store.sqlite.engine.parameters import FRAGMENTS
from stepward.store.sqlite.engine.query_catalogue import load_catalogue
from stepward.store.sqlite.engine.verb_engine import driven
from stepward.store.sqlite.hot import claiming, status_events
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs import connection as ask
from stepward.store.verbs.actors.scheduler import (
    NOTHING_MISSED,
    UNFIT,
    WAKE_LIMIT,
    ClaimRequest,
    SchedulerVerbs,
    TurnCommit,
)
from stepward.store.verbs.connection import VerbClock
from stepward.store.verbs.engine import VerbEngine
from stepward.store.verbs.flow_control import workflow_permits
from stepward.store.verbs.tasks import turns
from stepward.store.verbs.tasks.histories import histories
from stepward.store.verbs.tasks.progress import progress_rows

Q = load_queries(__package__, "scheduler.sql", FRAGMENTS)
TURN = load_queries(__package__, "turn.sql", FRAGMENTS)

NOTHING_SAID = ("[null]", "[null]", None, "[null]")
"""Of health, demand, the host's clock and waits, in a renewal that proves that one instance lives."""


class SqliteScheduler(SchedulerVerbs):
    """Implements ``SchedulerStore`` on a file."""

    def __init__(self, engine: VerbEngine, database: Database) -> None:
        super().__init__(engine)
        self._database = database

    @property
    def transactional_steps(self) -> int:
        return 1

    async def read_inbox(self, instance: str, after: int) -> list[InboxRow]:
        found = await self._database.read(Connection.rows, Q["read_inbox"], (after, instance, INBOX_ROWS))
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
            committed = NOTHING_MISSED
        except UNFIT:
            committed = Committed(await self._database.write(_commit_each, turn, self._clock))
        if kinds := kinds_of(changes):
            self._ring(kinds)
        return committed


def check_alive(connection: Connection, instance: str) -> None:
    """Raise InstanceFenced unless the instance lives."""
    if connection.row(Q["alive"], (instance,)) is None:
        raise refusals.fenced(instance)


def _claim(connection: Connection, wanted: ClaimRequest) -> tuple[list[History], Turns]:
    check_alive(connection, wanted.instance)
    connection.change(Q["wake"], (wanted.now, max(wanted.limit, WAKE_LIMIT)))
    if connection.row(Q["has_due"], (wanted.now,)) is not None:
        driven(connection, workflow_permits.let_go, wanted.now)
    claimed, last = claiming.claim(connection, wanted)
    return driven(connection, histories, claimed), last


def _commit_together(connection: Connection, turn: TurnCommit, clock: VerbClock) -> None:
    now = clock.now()
    _prove(connection, turn, now)
    _apply(connection, turn.instance, turn.changes, now)


def _commit_each(connection: Connection, turn: TurnCommit, clock: VerbClock) -> dict[str, str]:
    now = clock.now()
    _prove(connection, turn, now)

    async def applied(change: Change) -> None:
        _apply(connection, turn.instance, [change], now)

    return driven(connection, turns.apply_each, turn.instance, turn.changes, applied, (*DATA, TypeError))


def _prove(connection: Connection, turn: TurnCommit, now: float) -> None:
    """Every commit proves in itself that its instance still lives; a renewal proves it in passing."""
    if turn.renew is None:
        check_alive(connection, turn.instance)
        return
    values = (encoded([turn.instance]), now, turn.renew, *NOTHING_SAID)
    if not connection.rows(load_catalogue()["leases.renew"], values):
        raise refusals.fenced(turn.instance)


def _apply(connection: Connection, instance: str, changes: Sequence[Change], now: float) -> None:
    """Apply changes, by kind; raises Missed, or what SQLite raises, with some of them applied."""
    rare = unusual(changes)
    _insert_tasks(connection, instance, changes)
    _insert_planned(connection, rare)
    _check_held(connection, instance, changes)
    for query, values in step_rows(changes, rare):
        if connection.change_many(TURN[query.name], values) != len(values):
            raise Missed(query.reason)
    if rare:
        _trim(connection, rare, now)
        _put_events(connection, rare, now)
    _move(connection, instance, changes)
    if rare:
        _write_rest(connection, rare, now)


def _move(connection: Connection, instance: str, changes: Sequence[Change]) -> None:
    moves = [(*move_values(change.task, change.move), instance) for change in changes if change.move is not None]
    # What a trigger changes at an end is no row that the statement returns.
    if moves and len(connection.rows_of_many(TURN["move_task"], moves)) != len(moves):
        raise Missed(NOT_AS_READ)
    bounds = [(change.task, change.complete_by) for change in changes if change.complete_by is not None]
    if bounds:
        connection.change_many(TURN["complete_by"], bounds)


def _put_events(connection: Connection, changes: Sequence[Change], now: float) -> None:
    events = [(change.task, change.status_events) for change in changes if change.status_events is not None]
    if events:
        status_events.put(connection, events, now)


def _write_rest(connection: Connection, changes: Sequence[Change], now: float) -> None:
    attributes = [(change.task, change.attributes) for change in changes if change.attributes is not None]
    if attributes:
        connection.change_many(TURN["set_attributes"], attributes)
    answers = answer_rows(changes)
    if answers:
        connection.change_many(TURN["answer"], answers)
    children = [astuple(child) for change in changes for child in change.children]
    if children:
        connection.change_many(TURN["insert_child"], children)
    _write_others(connection, changes, now)


def _insert_tasks(connection: Connection, instance: str, changes: Sequence[Change]) -> None:
    tasks = local_submissions(instance, changes)
    if not tasks:
        return
    try:
        connection.change_many(TURN["insert_task"], map(astuple, tasks))
    except apsw.ConstraintError as error:
        if "UNIQUE" not in str(error):
            raise
        raise Missed("born: the id or uid exists") from None


def _insert_planned(connection: Connection, changes: Sequence[Change]) -> None:
    for change in changes:
        if change.plans:
            connection.change_many(TURN["insert_planned"], map(astuple, planned_rows(change)))


def _check_held(connection: Connection, instance: str, changes: Sequence[Change]) -> None:
    tasks = held_tasks(changes)
    if not tasks:
        return
    row = connection.row(TURN["held"], (encoded(list(tasks)), instance))
    if row is None or row[0] != len(tasks):
        raise Missed(f"the task is not held by {instance}")


def _trim(connection: Connection, changes: Sequence[Change], now: float) -> None:
    trims = [(*row, TRIM_ROWS) for row in trim_rows(changes)]
    if trims:
        connection.change_many(TURN["trim_steps"], trims)
        connection.change_many(TURN["trim_signals"], trims)
        answers = [(task, now - ANSWER_SECONDS, TRIM_ROWS) for task, *_ in trims]
        connection.change_many(TURN["trim_updates"], answers)


def _write_others(connection: Connection, changes: Sequence[Change], now: float) -> None:
    alerts = [alert for change in changes for alert in change.alerts]
    if alerts:
        driven(connection, alerts_and_audit.write_alerts, alerts, now)
    if [change for change in changes if change.posts or change.audits or change.fits is not None]:
        driven(connection, turns.write_others, changes, now)
