"""Inbox rows that cannot be read, such as those of another program: dropped with an alert, and the task goes on."""

from __future__ import annotations

import asyncio
from contextlib import closing

import apsw
import pytest

from stepward import Client, TaskHandle, step, wait_for, workflow
from stepward.model.states import TaskState
from tests.scheduler.world import World, details, in_state, until

GARBAGE = b"\x00\xff{"
ROWS = [
    ("signal", "go", GARBAGE),
    ("undo", "", GARBAGE),
    ("cancel", "", GARBAGE),
    ("suspend", "", GARBAGE),
    ("fail", "", GARBAGE),
    ("reply", "", GARBAGE),
    ("reply", "", b"[1]"),
    ("child", "1/child/1", GARBAGE),
    ("child", "1/child/1", b'{"state":7}'),
    ("child", "here", b'{"state":"undone","output":null,"error":null}'),
    ("step", "here", b"null"),
]
IDS = ["signal", "undo", "cancel", "suspend", "fail", "reply", "no reply", "child", "no end", "no place", "no step"]


@workflow
async def order() -> str:
    return await wait_for("go", type=str)


async def leave(world: World, handle: TaskHandle, kind: str, name: str, body: bytes) -> None:
    connection = apsw.Connection(world.store.removeprefix("sqlite:///"))
    with closing(connection), connection:
        ((uid,),) = connection.execute("select uid from stepward_task where id = ?", (handle.id,))
        connection.execute(
            "insert into stepward_inbox (task, kind, name, body, sender) values (?, ?, ?, ?, 'somebody')",
            (uid, kind, name, body),
        )
        connection.execute("update stepward_task set inbox = inbox + 1 where uid = ?", (uid,))


async def is_told(client: Client, kind: str) -> bool:
    alerts = [alert for alert in await client.alerts() if alert.kind == "unreadable_inbox"]
    return [(details(alert)["found"], details(alert)["sender"]) for alert in alerts] == [(kind, "somebody")]


@pytest.mark.parametrize(("kind", "name", "body"), ROWS, ids=IDS)
async def test_it_is_dropped_by_the_owner_of_the_task(world: World, kind: str, name: str, body: bytes) -> None:
    free = asyncio.Event()

    @step()
    async def held() -> None:
        await free.wait()

    @workflow
    async def order() -> str:
        await held()
        return await wait_for("go", type=str)

    app = world.app([order])
    running = await world.run(app)
    client = await world.client(app)
    handle = await client.submit(order)
    await in_state(handle, TaskState.PROCESSING)
    await leave(world, handle, kind, name, body)
    running.hints.hint()
    await until(lambda: is_told(client, kind), within=20)
    free.set()
    await handle.signal("go", "on")
    assert await handle.result(timeout=10) == "on"


@pytest.mark.parametrize(("kind", "name", "body"), ROWS, ids=IDS)
async def test_it_is_dropped_by_the_scheduler_that_claims_the_task(
    world: World, kind: str, name: str, body: bytes
) -> None:
    app = world.app([order])
    client = await world.client(app)
    handle = await client.submit(order)
    await leave(world, handle, kind, name, body)
    await world.run(app)
    await until(lambda: is_told(client, kind), within=20)
    await handle.signal("go", "on")
    assert await handle.result(timeout=10) == "on"
