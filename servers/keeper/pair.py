"""The keeper of the pair: finds a server dead, promotes the standby, and makes another standby of the dead server."""

from __future__ import annotations

import asyncio

import msgspec

from servers.keeper.pair_state import DATABASE, ClusterMember, Standing
from servers.keeper.process_end import ended
from servers.postgres import Pair, Server


async def keep(pair: Pair) -> None:
    """Start both servers, and repair what dies, one at a time; raises RuntimeError when that fails.

    While only one server runs its commits wait for no standby: if it dies then, all is lost.
    """
    await asyncio.to_thread(pair.start)
    await pair.primary.execute(f"create database {DATABASE}")
    _tell(pair, is_whole=True)
    while True:
        if await _first_to_die(pair) is pair.primary:
            await asyncio.to_thread(pair.fail_over)
        else:
            pair.expect_standby(False)
        _tell(pair, is_whole=False)
        await asyncio.to_thread(pair.attach)
        _tell(pair, is_whole=True)


async def _first_to_die(pair: Pair) -> Server:
    servers = (pair.primary, pair.standby)
    ends = {asyncio.create_task(ended(server.pid)): server for server in servers}
    try:
        done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for end in ends:
            end.cancel()
    if len(done) == len(servers):
        raise RuntimeError("expected one server that goes on, found both dead; all that they held is lost")
    return ends[done.pop()]


def _tell(pair: Pair, *, is_whole: bool) -> None:
    standing = Standing(_member(pair.primary), _member(pair.standby) if is_whole else None)
    print(msgspec.json.encode(standing).decode(), flush=True)


def _member(server: Server) -> ClusterMember:
    return ClusterMember(server.port, server.pid)
