"""Deleting tasks that ended, with all that is theirs; audits and alerts stay."""

from __future__ import annotations

import msgspec

from stepward.store.queries import load_queries
from stepward.store.sqlite.connection import Connection

Q = load_queries(__package__, "retention.sql")


def purge(connection: Connection, before: float, limit: int) -> int:
    """Delete tasks that ended well before an instant, oldest first; how many."""
    uids = [uid for (uid,) in connection.rows(Q["finished"], (before, limit))]
    if uids:
        wanted = (msgspec.json.encode(uids).decode(),)
        for name in ("purge_steps", "purge_inbox", "purge_signals", "purge_tasks"):
            connection.change(Q[name], wanted)
    return len(uids)
