"""Grace after an outage: leases at once, then tasks and their steps in batches, however many there are.

Its position is in the store, so that another leader continues where one has ended. A task that changes its owner
meanwhile may get the grace twice, which only costs time.
"""

from __future__ import annotations

import msgspec

from stepward.errors import StoreUnavailable
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.engine import VerbEngine
from stepward.store.verbs.instances.supervisor_leadership import Leadership

BATCH = 2_000
"""Tasks of one transaction, with all their running steps; half as many after one that took too long."""


class GraceProgress(msgspec.Struct, frozen=True):
    """The position of the grace: the last owner and task, and whether the clock was set."""

    seconds: float
    at: float = 0.0
    restarts: bool = False
    owner: str = ""
    task: str | int = ""
    """The engine's key of the last task: its uid, or its rowid."""


class Grace:
    """Gives the grace, one batch in each transaction."""

    def __init__(self, engine: VerbEngine, leadership: Leadership) -> None:
        self._leadership = leadership
        self._transactions = engine.others
        self._clock = engine.clock
        self._batch = BATCH

    async def begin(self, term: int, seconds: float, *, jumped: bool) -> bool:
        """Begins the grace if there was an outage: for leases, and for the first tasks."""
        return await self._transactions.write(self._begun, term, seconds, self._clock.now(), jumped)

    async def go_on(self, term: int) -> int:
        """Gives the grace to the next tasks; returns how many, 0 once all have it."""
        try:
            return await self._transactions.write(self._gone_on, term, self._clock.now())
        except StoreUnavailable:
            self._batch = max(1, self._batch // 2)
            raise

    async def _begun(self, connection: VerbConnection, term: int, seconds: float, now: float, jumped: bool) -> bool:
        if not await self._leadership.leads(connection, term):
            return False
        if not jumped and not await _is_silent(connection, now):
            return False
        await connection.change("grace.write_forgiven_at", now)
        await connection.change(f"grace.{'restart' if jumped else 'extend'}_leases", now, seconds)
        await connection.change("limits.extend", now, seconds)
        await _give(connection, GraceProgress(seconds, now, jumped), now, self._batch)
        return True

    async def _gone_on(self, connection: VerbConnection, term: int, now: float) -> int:
        if not await self._leadership.leads(connection, term):
            return 0
        row = await connection.row("grace.grace")
        if row is None:
            return 0
        return await _give(connection, msgspec.json.decode(row[0], type=GraceProgress), now, self._batch)


async def _give(connection: VerbConnection, progress: GraceProgress, now: float, most: int) -> int:
    """Gives the grace to some tasks after the last one, and writes the position; returns how many."""
    held = await connection.rows("grace.held", progress.owner, progress.task, most)
    uids = [uid for _, _, uid in held]
    if uids:
        await connection.change("grace.extend_tasks", now, progress.seconds, uids)
        await connection.change("grace.extend_steps", now, progress.seconds, uids)
        progress = msgspec.structs.replace(progress, owner=held[-1][0], task=held[-1][1])
    late = 0
    if progress.restarts and len(uids) < most:
        late = await connection.change("grace.restart_deadlines", progress.at, now + progress.seconds, most)
    if len(uids) < most and late < most:
        await connection.change("grace.end_grace")
    else:
        await connection.change("grace.write_grace", msgspec.json.encode(progress).decode())
    return len(uids) + late


async def _is_silent(connection: VerbConnection, now: float) -> bool:
    ((forgiven_at,),) = await connection.rows("grace.forgiven_at")
    ((is_silent,),) = await connection.rows("grace.silence", now, forgiven_at)
    return bool(is_silent)
