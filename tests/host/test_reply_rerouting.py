"""Replies to Schedulers that are dead reach a living one, and hundreds of the dead cost no more than one."""

from __future__ import annotations

import asyncio
from pathlib import Path

from stepward import Agent, App, workflow
from stepward.client import session_of
from stepward.model.messages.requests import reply_queue
from stepward.model.records import Instance, Role
from stepward.running import Running
from stepward.store.sqlite import SqliteStore
from stepward.transport.store.store_transport import StoreTransport
from tests.transport.messages import reply

payments = Agent("payments")
DEAD = 500


@workflow
async def fulfil(what: str) -> str:
    return what


def instance(number: int) -> Instance:
    return Instance(id=f"scheduler-{number:03}", role=Role.SCHEDULER, host="here", pid=1, serves=[], capacity=1)


async def test_hundreds_of_dead_schedulers_cost_a_statement_at_each_look(tmp_path: Path) -> None:
    app = App("shop", workflows=[fulfil], agents=[payments], store=f"sqlite:///{tmp_path}/shop.db", transport="store")
    async with app.client() as client:
        for number in range(DEAD):
            await session_of(client).store.host.register(instance(number), 10.0)
            await session_of(client).store.host.retire(instance(number).id)
    async with app.running():
        running = app._running
        assert isinstance(running, Running)
        adoption, store = running.host._rerouting, running.store
        assert isinstance(store, SqliteStore)
        before = store.statements
        assert await adoption.adopt()
        assert store.statements - before <= 20, "the actors at work make some of them"

        others = StoreTransport(store.messages, poll=1.0, hint=None)
        await others.publish(reply_queue("scheduler-123"), [reply("o1")])
        assert await adoption.adopt()
        assert await asyncio.wait_for(store.messages.nonempty("replies.scheduler-123", 9), 5) == []
