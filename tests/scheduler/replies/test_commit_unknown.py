"""Commits of unknown outcome: the instance that asked forgets everything and starts over under a new id (row 6)."""

from __future__ import annotations

import asyncio
from typing import Any

import apsw
import pytest

from stepward import Client, Supervision, TaskHandle, TaskUndone, step, workflow
from stepward.clock import Environment
from stepward.errors import CommitUnknown
from stepward.model.states import TaskState
from stepward.workflow.definition import Workflow
from tests.scheduler.world import Service, VirtualClock, World, refuse, until


class FaultyDisk:
    """Lets the nth commit from now end without an answer: ``before`` it is done, or ``after``."""

    def __init__(self, when: str) -> None:
        self._name = f"store.commit.{when}"
        self.left = 0

    def __call__(self, name: str) -> None:
        if name == self._name and self.left > 0:
            self.left -= 1
            if self.left == 0:
                raise apsw.IOError("no answer")


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("first", range(1, 17))
async def test_each_commit_may_end_without_an_answer(world: World, when: str, first: int) -> None:
    """Row 6: whichever commit it is, done or not, every task ends whole and no effect is doubled."""
    service, booked = Service(), list[str]()
    order, bad = _workflows(service)
    disk = FaultyDisk(when)
    app = world.app([order, bad], [service.agent])
    app.environment = Environment(VirtualClock(), app.environment.random, disk)
    await world.run(app)
    client = await world.client(app)
    async with client.transaction() as transaction:
        await transaction.execute("create table booked (name text)")
    service.plan("do refused", refuse(), refuse())
    disk.left = first
    good = [await _submit(client, order, f"o{number}") for number in range(2)]
    undone = await _submit(client, bad, "b")
    await asyncio.gather(*[handle.result(timeout=300) for handle in good])
    with pytest.raises(TaskUndone):
        await undone.result(timeout=300)
    await until(lambda: _is_delivered(disk))
    for handle in good:
        assert (await handle.status()).state is TaskState.PROCESSED
    async with client.transaction() as transaction:
        booked = [row[0] for row in await transaction.execute("select name from booked order by name")]
    assert booked == ["o0", "o1"]
    effects = {name: len(set(service.keys_of(name))) for name in service.log}
    assert effects == {f"do {name}{n}": 1 for name in ("o0", "o1") for n in (1, 2)} | {"do b": 1, "undo b": 1}


def _workflows(service: Service) -> tuple[Workflow[[str], str], Workflow[[str], None]]:
    @step(transaction=True)
    async def book(transaction: Any, name: str) -> None:
        await transaction.execute("insert into booked values (?)", (name,))

    @workflow
    async def order(name: str) -> str:
        await service.do(f"{name}1")
        await book(name)
        return await service.do(f"{name}2")

    @workflow(supervision=Supervision(then="undo"))
    async def bad(name: str) -> None:
        await service.do(name)
        await service.do("refused")

    return order, bad


async def _submit(client: Client, kind: Workflow[[str], Any], id: str) -> TaskHandle:
    """Submit as a careful caller does: without an answer, again under the same id."""
    async with asyncio.timeout(60):
        try:
            return await client.submit(kind, id, id=id)
        except CommitUnknown:
            return await client.submit(kind, id, id=id)


async def _is_delivered(disk: FaultyDisk) -> bool:
    return disk.left == 0
