"""Plans are recorded whole with their task, whichever way it comes into being, and each row is filled when reached."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from stepward import (
    Accepted,
    Client,
    From,
    Message,
    Pipeline,
    Queues,
    Stage,
    TaskHandle,
    step,
    workflow,
)
from stepward.client import ClientSession, client_on, session_of
from stepward.client.task_status import StepRecord
from stepward.clock import Environment
from stepward.model.pipeline_plan import Plans
from stepward.model.records import Role, Step, Task
from stepward.model.states import StepKind, StepState, TaskState
from stepward.scheduler.failpoints import crash_points
from stepward.store.contract import Change, Committed, Submitted
from stepward.workflow.execution import Execution
from tests.scheduler.plans.planned_orders import PLANNED, orders
from tests.scheduler.processes.test_instances import declare_dead
from tests.scheduler.world import (
    Service,
    VirtualClock,
    World,
    hang,
    in_state,
    states,
    until,
    until_set,
)


async def submitted(client: Client, order: Pipeline) -> TaskHandle[Any]:
    return await client.submit(order, "a", id="t")


async def submitted_by_name(client: Client, order: Pipeline) -> TaskHandle[Any]:
    return await client.submit("order", "a", id="t")


async def submitted_among_many(client: Client, order: Pipeline) -> TaskHandle[Any]:
    return (await client.submit_many(order, [("b",), ("a",)], ids=["s", "t"]))[1]


async def submitted_in_a_transaction(client: Client, order: Pipeline) -> TaskHandle[Any]:
    async with client.transaction() as transaction:
        return await client.submit(order, "a", id="t", transaction=transaction)


async def submitted_for_later(client: Client, order: Pipeline) -> TaskHandle[Any]:
    return await client.submit(order, "a", id="t", delay="1h")


async def submitted_without_code(client: Client, order: Pipeline) -> TaskHandle[Any]:
    session = ClientSession(session_of(client).store, app="shop", environment=Environment(VirtualClock()))
    async with client_on(session) as bare:
        await bare.submit("order", "a", id="t")
    return client.task("t")


Submit = Callable[[Client, Pipeline], Awaitable[TaskHandle[Any]]]


@pytest.mark.parametrize(
    "submit",
    [
        submitted,
        submitted_by_name,
        submitted_among_many,
        submitted_in_a_transaction,
        submitted_for_later,
        submitted_without_code,
    ],
)
async def test_a_plan_is_recorded_whole_before_any_scheduler_looks_at_it(
    world: World, service: Service, submit: Submit
) -> None:
    order = orders(service)
    app = world.app([order], [service.agent])
    if submit is submitted_without_code:
        # A Scheduler ran earlier, and has registered its workflows.
        async with app.running():
            pass
    handle = await submit(await world.client(app), order)
    steps = await handle.steps()
    assert {step.key: step.state.value for step in steps} == PLANNED
    assert [(step.attempt, step.input, step.agent, step.kind) for step in steps] == [(0, None, "svc", "operation")] * 3
    assert str((await handle.status()).progress) == "0 of 3"


@pytest.mark.parametrize(
    "submit", [submitted, submitted_among_many, submitted_in_a_transaction, submitted_without_code]
)
async def test_a_plan_recorded_at_submission_is_followed(world: World, service: Service, submit: Submit) -> None:
    order = orders(service)
    client = await world.start([order], [service.agent], replay_check=True)
    handle = await submit(client, order)
    assert await handle.result(timeout=5) == "a done done"
    assert set((await states(handle)).values()) == {"completed"}
    assert [step.input for step in await handle.steps()] == [["a"], ["noted"], ["a done"]]
    assert str((await handle.status()).progress) == "3 of 3"
    assert not world.told("task.not_deterministic")
    assert not world.told("task.missed")


async def test_a_task_born_claimed_has_its_plan(world: World, service: Service) -> None:
    order = orders(service)
    service.plan("do a", hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order, "a")
    assert await states(handle) == PLANNED | {"svc.do/1": "running"}
    first, *rest = await handle.steps()
    assert first.input == ["a"]
    assert [(step.key, step.input) for step in rest] == [("svc.note/1", None), ("svc.do/2", None)]


async def test_a_child_has_its_plan_from_the_commit_that_begins_it(world: World, service: Service) -> None:
    order = orders(service)

    @workflow
    async def parent(count: int) -> list[Any]:
        return await asyncio.gather(*[order(f"{number}") for number in range(count)])

    gate = asyncio.Event()
    for number in range(3):
        service.plan(f"do {number}", until_set(gate))
    client = await world.start([parent, order], [service.agent], tasks_in_flight=1, replay_check=True)
    handle = await client.submit(parent, 3, id="p")
    for number in range(1, 4):
        assert set(await states(client.task(f"p/order/{number}"))) == set(PLANNED)
    assert "not_started" in (await states(client.task("p/order/3")))["svc.note/1"]
    gate.set()
    assert await handle.result(timeout=60) == [f"{number} done done" for number in range(3)]
    assert not world.told("task.missed")


async def test_a_pipeline_of_pipelines(world: World, service: Service) -> None:
    order = orders(service)
    both = Pipeline("both", {"first": Stage(order, "x"), "second": Stage(order, From("first"))}, result="second")
    client = await world.start([both, order], [service.agent], replay_check=True)
    handle = await client.submit(both, id="p")
    assert await handle.result(timeout=5) == "x done done done done"
    assert await states(handle) == {"order/1": "completed", "order/2": "completed"}
    assert len(await client.task("p/order/2").steps()) == 3


async def test_a_message_makes_a_task_with_its_plan(world: World, service: Service) -> None:
    order = orders(service)
    app = world.app([order], [service.agent])

    async def accept(message: Message, transaction: Any) -> Accepted:
        return Accepted(order, "a")

    app.submission("orders", accept=accept)
    await world.run(app, scheduler=False)
    client = await world.client(app)
    async with Queues(world.store, app="shop") as queues:
        await queues.post("orders", None, id="t")

    async def found() -> list[StepRecord]:
        return await client.task("t").steps() if await client.tasks() else []

    assert {step.key: step.state.value for step in await until(found)} == PLANNED


async def test_a_takeover_finds_what_is_planned(world: World, service: Service) -> None:
    order = orders(service)
    gate = asyncio.Event()
    service.plan("note noted", until_set(gate))
    app = world.app([order], [service.agent], replay_check=True)
    await world.run(app)
    client = await world.client(app)
    handle = await client.submit(order, "a")
    await until(lambda: _is(handle, "svc.note/1", StepState.RUNNING))
    await declare_dead(client, Role.SCHEDULER)
    gate.set()
    assert await handle.result(timeout=60) == "a done done"
    assert world.told("scheduler.fenced")
    assert not world.told("task.missed")
    assert not world.told("task.not_deterministic")
    assert (await handle.status()).failure_count == 1
    assert len(await handle.steps()) == 3


async def test_a_task_goes_on_in_another_process_where_it_was_planned(world: World, service: Service) -> None:
    order = orders(service)
    gate = asyncio.Event()
    service.plan("do a", until_set(gate))
    async with world.app([order], [service.agent]).running() as running:
        client = client_on(
            ClientSession(running.store, app="shop", submit_locally=running.host.local_submissions.submit)
        )
        async with client:
            await client.submit(order, "a", id="t")
        gate.set()
    client = await world.start([order], [service.agent], replay_check=True)
    handle = client.task("t")
    assert await handle.result(timeout=60) == "a done done"
    assert len(await handle.steps()) == 3
    assert not world.told("task.not_deterministic")


async def test_what_failed_in_its_first_turn_is_planned_still(world: World, service: Service) -> None:
    stages = {
        "small": Stage(service.do, "small"),
        "big": Stage(service.do, "x" * 3000),
        "last": Stage(service.note, "last", after=["small", "big"]),
    }
    pipeline = Pipeline("big", stages)
    client = await world.start([pipeline], [service.agent], payload_bytes="2KiB")
    handle = await client.submit(pipeline)
    assert await in_state(handle, TaskState.ERROR) is TaskState.ERROR
    # The small one was under way when the limit was met: it may end, and the others stay what they are.
    assert await states(handle) == {"svc.do/1": "completed", "svc.do/2": "not_started", "svc.note/1": "not_started"}


async def test_a_step_asked_for_in_the_turn_that_fails_is_planned_still(world: World, service: Service) -> None:
    @step()
    async def much(size: int) -> str:
        return "x" * size

    stages = {
        "a": Stage(much, 600_000),
        "b": Stage(much, 600_000, after=["a"]),
        "c": Stage(service.do, "c", after=["b"]),
    }
    pipeline = Pipeline("much", stages)
    client = await world.start([pipeline], [service.agent], history_bytes="1MiB")
    handle = await client.submit(pipeline)
    await in_state(handle, TaskState.ERROR)
    assert await states(handle) == {"much/1": "completed", "much/2": "completed", "svc.do/1": "not_started"}
    assert (await handle.steps())[2].input is None
    assert service.log == []


async def test_what_broke_at_its_birth_is_planned_and_goes_on_when_resubmitted(
    world: World, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("a bug")

    order = orders(service)
    client = await world.start([order], [service.agent])
    with monkeypatch.context() as patched:
        patched.setattr(Execution, "take", broken)
        handle = await client.submit(order, "a")
        await in_state(handle, TaskState.ERROR)
    assert await states(handle) == PLANNED
    await handle.resubmit()
    assert await handle.result(timeout=5) == "a done done"


async def test_plans_count_towards_the_rows_of_a_transaction(
    world: World, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = orders(service)
    monkeypatch.setattr("stepward.client.submitting.submissions.BATCH", 10)
    app = world.app([order], [service.agent])
    client = await world.client(app)
    sizes: list[int] = []
    submit = session_of(client).store.client.submit

    async def counted(tasks: Sequence[Task], plans: Plans) -> list[Submitted]:
        sizes.append(len(tasks))
        return await submit(tasks, plans)

    monkeypatch.setattr(session_of(client).store.client, "submit", counted)
    await client.submit_many(order, [("a",)] * 5)
    assert sizes == [2, 2, 1]


async def test_births_with_plans_are_committed_in_bounded_transactions(
    world: World, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = orders(service)
    app = world.app([order], [service.agent], commit_rows=10)
    running = await world.run(app)
    sizes: list[int] = []
    commit = running.store.scheduler.commit

    async def counted(instance: str, changes: Sequence[Change], renew: float | None) -> Committed:
        sizes.append(sum(change.born is not None for change in changes))
        return await commit(instance, changes, renew)

    monkeypatch.setattr(running.store.scheduler, "commit", counted)
    client = await world.client(app)
    handles = await asyncio.gather(*[client.submit(order, f"{number}") for number in range(6)])
    # A birth is a row, its plan three, and the step that is filled at once one more.
    assert [size for size in sizes if size] == [2, 2, 2]
    for handle in handles:
        await handle.result(timeout=5)


def test_a_filled_step_that_starts_passes_the_crash_point_of_a_start() -> None:
    running = Step(
        task="t", run=1, key="a/1", number=1, name="a", kind=StepKind.LOCAL, state=StepState.RUNNING, attempt=1
    )
    assert crash_points([Change(task="t", fills=[running])]) == ["turn.start"]


async def test_a_thousand_stages_at_once_are_one_commit_of_fills(world: World, service: Service) -> None:
    stages = {f"s{number}": Stage(service.note, f"{number}") for number in range(999)}
    wide = Pipeline("wide", stages | {"last": Stage(service.do, "last", after=list(stages))}, result="last")
    client = await world.start([wide], [service.agent])
    handle = await client.submit(wide)
    assert len(await handle.steps()) == 1000
    assert await handle.result(timeout=600) == "last done"
    assert {step.state for step in await handle.steps()} == {StepState.COMPLETED}
    assert not world.told("task.missed")


async def _is(handle: TaskHandle[Any], key: str, state: StepState) -> bool:
    return (await states(handle)).get(key) == state
