"""Grace after an outage: leases at once, then tasks and their steps in batches, however many there are.

How far it is stands in the store, so that another leader goes on where one has ended. A task that changes its owner
meanwhile may have it twice, which costs time alone.
"""

from __future__ import annotations

import msgspec

from stepward.store.queries import load_queries
from stepward.store.sqlite.connection import Connection
from stepward.store.sqlite.leadership import leads

Q = load_queries(__package__, "grace.sql")

BATCH = 2_000
"""Tasks of one transaction, with all their running steps."""


class GraceProgress(msgspec.Struct, frozen=True):
    """How far the grace is: behind which owner's which task, by its row."""

    seconds: float
    owner: str = ""
    row: int = 0


def begin(connection: Connection, term: int, seconds: float, now: float) -> bool:
    """Give it if there was an outage: to leases, and to the first tasks."""
    if not leads(connection, term):
        return False
    forgiven_at = connection.rows(Q["forgiven_at"])[0][0]
    if not connection.rows(Q["silence"], (now, forgiven_at))[0][0]:
        return False
    connection.change(Q["write_forgiven_at"], (now,))
    connection.change(Q["extend_leases"], (now, seconds))
    _give(connection, GraceProgress(seconds), now)
    return True


def go_on(connection: Connection, term: int, now: float) -> int:
    """Give it to the next tasks; how many. 0: all have it."""
    row = connection.row(Q["grace"])
    if row is None or not leads(connection, term):
        return 0
    return _give(connection, msgspec.json.decode(row[0], type=GraceProgress), now)


def _give(connection: Connection, progress: GraceProgress, now: float) -> int:
    """Give it to some tasks behind the last one, and note how far it is; how many."""
    held = connection.rows(Q["held"], (progress.owner, progress.row, BATCH))
    rows = msgspec.json.encode([row for _, row, _ in held]).decode()
    uids = msgspec.json.encode([uid for _, _, uid in held]).decode()
    connection.change(Q["extend_tasks"], (now, progress.seconds, rows))
    connection.change(Q["extend_steps"], (now, progress.seconds, uids))
    if len(held) < BATCH:
        connection.change(Q["end_grace"])
    else:
        owner, row, _ = held[-1]
        progress = msgspec.structs.replace(progress, owner=owner, row=row)
        connection.change(Q["write_grace"], (msgspec.json.encode(progress).decode(),))
    return len(held)
