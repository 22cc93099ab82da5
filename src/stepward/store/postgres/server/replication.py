"""The standbys that follow a primary."""

from __future__ import annotations

from stepward.store.contract import Standby
from stepward.store.postgres.engine.connection import Connection


async def standbys(connection: Connection) -> list[Standby] | None:
    """The attached standbys; None if the user may not see their state."""
    found = await connection.rows("replication.standbys")
    if any(state is None for _, state, _, _ in found):
        return None
    return [Standby(name=name, state=state, sync=sync, behind=behind) for name, state, sync, behind in found]
