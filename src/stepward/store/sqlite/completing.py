"""Steps that are finished from outside: the key of their tokens, and the outcome on the row."""

from __future__ import annotations

import msgspec

from stepward.model.records import Step, Task
from stepward.model.states import TASK_ENDS
from stepward.store import rows
from stepward.store.contract import Completion, Refusal
from stepward.store.queries import load_queries
from stepward.store.rules import completing
from stepward.store.sqlite import inbox, journal
from stepward.store.sqlite.clock import StoreClock
from stepward.store.sqlite.connection import Connection
from stepward.store.sqlite.database import Database
from stepward.store.sqlite.rows import FRAGMENTS

Q = load_queries(__package__, "completing.sql", FRAGMENTS)


class SqliteCompletion:
    """What finishing steps from outside needs; see ``CompletionStore``."""

    def __init__(self, database: Database, clock: StoreClock) -> None:
        self._database = database
        self._clock = clock

    async def completion_key(self, fresh: bytes) -> bytes:
        row = await self._database.read(Connection.row, Q["key"])
        key: bytes = row[0] if row else await self._database.write(_keep_key, fresh)
        return key

    async def completed_step(self, task: str, run: int, key: str) -> Step | None:
        row = await self._database.read(Connection.row, Q["step"], (task, run, key))
        return rows.step(row) if row else None

    async def complete(self, completion: Completion) -> Refusal | None:
        return await self._database.write(_complete, completion, self._clock.now())

    async def refuse_completion(self, completion: Completion, refusal: Refusal) -> None:
        await self._database.write(_refuse, completion, refusal, self._clock.now())


def _keep_key(connection: Connection, fresh: bytes) -> bytes:
    connection.change(Q["keep_key"], (fresh,))
    key: bytes = connection.rows(Q["key"])[0][0]
    return key


def _complete(connection: Connection, completion: Completion, now: float) -> Refusal | None:
    task = inbox.find(connection, completion.task)
    step = _step(connection, completion)
    refused = completing.refusal(completion, task, step, now)
    if task is not None and step is not None and refused is None:
        _record(connection, task, completing.settled(completion, step), now)
    _note(connection, completion, task, refused, now)
    return refused


def _record(connection: Connection, task: Task, completion: Completion, now: float) -> None:
    place = (completion.task, completion.run, completion.key, completion.attempt)
    connection.change(Q["complete"], (*place, completion.output, completion.error, now))
    if task.state not in TASK_ENDS:
        inbox.insert(connection, completing.told(completion, now), now)


def _refuse(connection: Connection, completion: Completion, refusal: Refusal, now: float) -> None:
    task = inbox.find(connection, completion.task)
    _note(connection, completion, task, refusal, now)


def _note(
    connection: Connection, completion: Completion, task: Task | None, refused: Refusal | None, now: float
) -> None:
    """Audit it; refusals that are too many are only counted."""
    if refused is not None and _are_too_many(connection, completing.principal(task, refused), now):
        known = connection.row(Q["open_alert"])
        alert = completing.many_refused(completion, now, b"{}" if known is None else known[1])
        journal.count_on(connection, known, alert, now)
    else:
        journal.write_audits(connection, [completing.audit(completion, task, refused)], now)


def _are_too_many(connection: Connection, whose: str, now: float) -> bool:
    row = connection.row(Q["refusals"])
    known = (
        completing.CompletionRefusals()
        if row is None
        else msgspec.json.decode(row[0], type=completing.CompletionRefusals)
    )
    refusals = known.one_more(whose, now)
    if refusals is None:
        return True
    connection.change(Q["keep_refusals"], (msgspec.json.encode(refusals).decode(),))
    return False


def _step(connection: Connection, completion: Completion) -> Step | None:
    row = connection.row(Q["step"], (completion.task, completion.run, completion.key))
    return rows.step(row) if row else None
