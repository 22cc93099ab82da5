"""The servers of the tests: one that cannot start says why, and one that recovers is copied once it has."""

from __future__ import annotations

import asyncio
import os
import signal
import socket

import asyncpg
import pytest

from servers.postgres import paired
from servers.postgres.programs import newest, reachable
from servers.postgres.server import Server, cluster, home

pytestmark = pytest.mark.servers


def test_a_server_that_cannot_start_reports_the_reason_at_once() -> None:
    with home() as folder, socket.socket() as other:
        server = Server(reachable(newest(), folder), cluster(folder, "data"), {})
        server.initialize()
        other.bind(("127.0.0.1", server.port))
        other.listen()
        with pytest.raises(RuntimeError, match=r"found it ended; it said .* could not create any TCP/IP sockets"):
            server.start()


@pytest.mark.faults
async def test_a_standby_is_made_of_a_primary_once_that_has_recovered() -> None:
    with paired(synchronous=False) as pair:
        address = pair.primary.address()
        stopped, killed = await asyncpg.connect(address), await asyncpg.connect(address)
        # The server waits five seconds for a session that is stopped before it recovers from the loss of another.
        os.kill(stopped.get_server_pid(), signal.SIGSTOP)
        os.kill(killed.get_server_pid(), signal.SIGKILL)
        async with asyncio.timeout(5):
            while await _is_open(address):  # noqa: ASYNC110  nothing tells of it
                await asyncio.sleep(0.01)
        await asyncio.to_thread(pair.attach)
        standby = await asyncpg.connect(pair.standby.address())
        assert await standby.fetchval("select pg_is_in_recovery()")
        for connection in (standby, stopped, killed):
            connection.terminate()


async def _is_open(address: str) -> bool:
    try:
        (await asyncpg.connect(address)).terminate()
    except asyncpg.CannotConnectNowError:
        return False
    except (asyncpg.ConnectionDoesNotExistError, ConnectionError):
        return True  # The server ended the session while it began.
    return True
