"""Whatever dies, misses or ends without an answer: a task tells its course once, without a gap."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from stepward import App, Client, wait_for, workflow
from stepward.clock import Environment
from stepward.errors import CommitUnknown
from stepward.model.records import Role
from stepward.model.states import TaskState
from stepward.workflow.definition import Workflow
from tests.scheduler.hearing import BEGUN, QUEUE, Hearing
from tests.scheduler.world import Service, VirtualClock, World, in_state

COURSE = [*BEGUN, "step.completed svc.do/1", "step.completed svc.do/2", "completed = b done"]


def declared(service: Service) -> Workflow[[], str]:
    @workflow
    async def order() -> str:
        await service.do("a")
        return await service.do("b")

    return order


def struck(world: World, service: Service, strike: Callable[[str], None]) -> tuple[App, Workflow[[], str]]:
    """An application that calls ``strike`` at each failpoint."""
    order = declared(service)
    app = world.app([order], [service.agent])
    app.environment = Environment(VirtualClock(), app.environment.random, strike)
    return app, order


class Blow:
    """Strikes once, the ``nth`` time that a failpoint of that name is passed after it was armed."""

    def __init__(self, name: str, nth: int, strike: Callable[[], None]) -> None:
        self._name = name
        self._left = nth
        self._strike = strike
        self.armed = False

    def __call__(self, name: str) -> None:
        if self.armed and name == self._name and self._left > 0:
            self._left -= 1
            if self._left == 0:
                self._strike()


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", range(1, 9))
async def test_status_events_are_sent_once_whichever_commit_ends_without_an_answer(
    world: World, service: Service, when: str, nth: int
) -> None:
    def break_off() -> None:
        raise apsw.IOError("no answer")

    blow = Blow(f"store.commit.{when}", nth, break_off)
    app, order = struck(world, service, blow)
    await world.run(app)
    client = await world.client(app)
    blow.armed = True
    try:
        handle = await client.submit(order, id="t", reply_to=QUEUE)
    except CommitUnknown:
        handle = await client.submit(order, id="t", reply_to=QUEUE)
    await handle.result(timeout=300)
    assert await Hearing(client).lines("t") == COURSE


@pytest.mark.parametrize(
    "point",
    [
        "turn.submit.before",
        "turn.submit.after",
        "turn.finish.before",
        "turn.finish.after",
        "turn.status_events.before",
        "turn.status_events.after",
    ],
)
@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_a_bug_at_any_point_of_the_turn_costs_no_event_and_doubles_none(
    world: World, service: Service, point: str, nth: int
) -> None:
    def break_off() -> None:
        raise ValueError("a bug")

    blow = Blow(point, nth, break_off)
    blow.armed = True
    app, order = struck(world, service, blow)
    await world.run(app)
    client = await world.client(app)
    handle = await client.submit(order, id="t", reply_to=QUEUE)
    await handle.result(timeout=300)
    # The lease of a Scheduler that broke may outlast a step's time: then the Supervisor has it repeated.
    told = [line for line in await Hearing(client).lines("t") if not line.startswith("step.delayed")]
    assert told == COURSE


@pytest.mark.parametrize("nth", [1, 2])
async def test_a_change_that_misses_sends_no_status_event(
    world: World, service: Service, tmp_path: Path, nth: int
) -> None:
    def cross() -> None:
        """Another process counts an event of the task between the turn's decisions and its commit."""
        connection = apsw.Connection(str(tmp_path / "tasks.db"))
        connection.execute("update stepward_task set events = events + 1")
        ((uid, events),) = connection.execute("select uid, events from stepward_task")
        connection.execute(
            "insert into stepward_message (queue, body, expires_at, taken_until) "
            "select queue, cast(replace(replace(cast(body as text), ?1, ?2), '0000000001', ?3) as blob), null, 0.0 "
            "from stepward_message where token = 1",
            (f"{uid}/1", f"{uid}/{events}", f"{events:010}"),
        )
        connection.close()

    blow = Blow("turn.finish.before", nth, cross)
    blow.armed = True
    app, order = struck(world, service, blow)
    await world.run(app)
    client = await world.client(app)
    handle = await client.submit(order, id="t", reply_to=QUEUE)
    await handle.result(timeout=300)
    told = COURSE.copy()
    told.insert(1 + nth, "request.received")
    assert await Hearing(client).lines("t") == told
    assert [fields["task"] for fields in world.told("task.missed")] == ["t"]


@workflow
async def patient() -> str:
    await wait_for("go")
    return "gone"


async def _wait(client: Client) -> None:
    handle = await client.submit(patient, id="t", reply_to=QUEUE)
    await in_state(handle, TaskState.WAITING)


async def test_a_wait_sends_one_status_event_across_owners(world: World) -> None:
    app = world.app([patient], evict_after="never")
    await world.run(app)
    client = await world.client(app)
    await _wait(client)
    for _ in range(2):
        async with client.transaction() as transaction:
            await transaction.execute(
                "update stepward_instance set alive = 0, dead_at = 1.0 where role = ? and alive = 1",
                (Role.SCHEDULER,),
            )
        await asyncio.sleep(20)
    status = await client.task("t").status()
    assert (status.state, status.failure_count) == (TaskState.WAITING, 2)
    await client.task("t").signal("go")
    assert await Hearing(client).lines("t") == [*BEGUN, "waiting signal go", "completed = gone"]


async def test_a_wait_sends_one_status_event_across_an_orderly_end(world: World) -> None:
    app = world.app([patient])
    await world.run(app)
    await _wait(await world.client(app))
    await world.close()
    client = await world.start([patient])
    await client.task("t").signal("go")
    assert await Hearing(client).lines("t") == [*BEGUN, "waiting signal go", "completed = gone"]
