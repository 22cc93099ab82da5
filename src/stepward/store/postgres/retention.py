"""Deleting tasks that ended, with all that is theirs; audits and alerts stay."""

from __future__ import annotations

from stepward.store.postgres.connection import Connection


async def purge(connection: Connection, before: float, limit: int) -> int:
    """Delete tasks that ended well before an instant, oldest first; how many."""
    uids = [row[0] for row in await connection.rows("retention.finished", before, limit)]
    if uids:
        for name in ("purge_steps", "purge_inbox", "purge_signals", "purge_tasks"):
            await connection.change(f"retention.{name}", uids)
    return len(uids)
