"""Faults in Stepward's own code: one task's is that task's, and an actor that breaks is replaced."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepward import Client, Supervision, wait_for, workflow
from stepward.model.states import TaskState
from stepward.scheduler.admission.windows import Windows
from stepward.supervisor.supervisor import Supervisor
from stepward.workflow.execution import Execution
from tests.scheduler.world import Service, World, hang, in_state, refuse


@workflow
async def waiting(seconds: float) -> str:
    await asyncio.gather(wait_for("go"), asyncio.sleep(seconds))
    return "gone"


@pytest.mark.parametrize("verb", ["signal", "fire"])
async def test_what_breaks_on_one_task_is_that_tasks_error(
    world: World, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    client = await world.start([waiting])
    good, bad = [await client.submit(waiting, 5, id=name) for name in ("good", "bad")]
    for handle in (good, bad):
        await in_state(handle, TaskState.WAITING)
    act = getattr(Execution, verb)

    def broken(self: Execution, *given: Any) -> None:
        if self.task.id == "bad":
            raise ValueError("a bug")
        act(self, *given)

    monkeypatch.setattr(Execution, verb, broken)
    for handle in (bad, good):
        await handle.signal("go")
    assert await good.result(timeout=20) == "gone"
    await in_state(bad, TaskState.ERROR)
    (alert,) = await client.alerts()
    assert (alert.kind, alert.task_id) == ("internal", "bad")


async def test_a_scheduler_that_breaks_is_replaced_and_its_tasks_go_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = world.app([waiting])
    await world.run(app)
    client = await world.client(app)
    handle = await client.submit(waiting, 0)
    await in_state(handle, TaskState.WAITING)
    await _break(client, monkeypatch, Windows, "ready")
    assert world.told("scheduler.broke")
    await handle.signal("go")
    assert await handle.result(timeout=60) == "gone"
    assert await (await client.submit(waiting, 0, id="next")).signal("go")


async def test_a_supervisor_that_breaks_starts_again(
    world: World, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    @workflow
    async def order() -> str:
        return await service.do("a")

    service.plan("do a", hang())
    app = world.app([order], [service.agent])
    await world.run(app)
    client = await world.client(app)
    await _break(client, monkeypatch, Supervisor, "turn")
    assert world.told("supervisor.broke")
    assert await (await client.submit(order)).result(timeout=60) == "a done"


async def _break(client: Client, monkeypatch: pytest.MonkeyPatch, kind: type, verb: str) -> None:
    """For two seconds that verb of an actor has a bug."""

    def broken(*_: object) -> None:
        raise ValueError("a bug")

    with monkeypatch.context() as patched:
        patched.setattr(kind, verb, broken)
        await asyncio.sleep(2)


async def test_a_request_that_cannot_be_made_holds_up_no_other_task(
    world: World, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    @workflow(supervision=Supervision(then="undo"))
    async def order(what: str) -> str:
        await service.do(what)
        return await service.note(what)

    def none(request: Any, steps: Any) -> Any:
        raise LookupError("expected the step that it undoes beside it, found none")

    monkeypatch.setattr("stepward.scheduler.tasks.step_rows.undo_request", none)
    service.plan("note a", refuse())
    client = await world.start([order], [service.agent])
    await in_state(await client.submit(order, "a"), TaskState.UNDOING)
    await asyncio.sleep(1)
    assert await (await client.submit(order, "b")).result(timeout=5) == "b done"
    assert world.told("scheduler.broke") == []
