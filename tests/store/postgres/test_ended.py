"""A server that ends an idle connection says so first; until the end itself comes the driver refuses to send."""

from __future__ import annotations

from typing import Any, cast

import pytest

from stepward.errors import StoreUnavailable
from tests.store.listing import listed
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers

FATAL = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"
MESSAGE = b"E" + (len(FATAL) + 4).to_bytes(4, "big") + FATAL


async def test_a_connection_that_the_server_is_ending_is_reported_as_such(database: Database) -> None:
    store = await database.opened()
    await listed(store, limit=1)
    lane = store._database.others
    async with lane.pool.acquired() as connection:
        cast(Any, connection.raw)._protocol.data_received(MESSAGE)
    with pytest.raises(StoreUnavailable, match="expected an open connection, found that the server ends it; try again"):
        await listed(store, limit=1)
    assert await listed(store, limit=1) == []
