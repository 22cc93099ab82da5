"""Steps that are finished from outside: by a person who approves, by a webhook that calls back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepward import (
    Agent,
    StepFailed,
    Supervision,
    Unrecoverable,
    current_step,
    workflow,
)
from stepward.errors import TransportError
from stepward.model.messages.requests import Outcome, Reply
from stepward.model.states import StepState, TaskState
from stepward.store.verbs.tasks.completions import CompletionVerbs
from tests.scheduler.approvals import MINUTE, Approvals, approved, refusal
from tests.scheduler.world import Service, World, in_state, states, until


async def test_the_workflow_gets_what_the_completion_says(world: World, approvals: Approvals) -> None:
    client = await world.start([approved(approvals)], [approvals.agent])
    for answer, wanted in ((True, "approved"), (False, "refused")):
        task = await client.submit("approved", "o1")
        token = await approvals.token(len(approvals.tokens) + 1)
        await asyncio.sleep(2 * MINUTE)
        (step,) = await task.steps()
        assert (step.state, step.attempt) == (StepState.RUNNING, 1)
        assert step.started_at is not None
        assert step.complete_by == pytest.approx(step.started_at + 60 * MINUTE)
        assert step.deferred_at == pytest.approx(step.started_at, abs=1)
        status = await task.status()
        assert (status.state, status.waits_for) == (TaskState.WAITING, "approvals.ask/1")
        await client.complete(token, answer, by="alice@example.org")
        assert await task.result(timeout="1m") == wanted
        (entry,) = await client.audits(task.id)
        assert (entry.actor, entry.act, entry.step) == ("alice@example.org", "complete", "approvals.ask/1")


async def test_nothing_waits_meanwhile(world: World) -> None:
    """Neither a slot of the Agent, nor its window, nor the Scheduler's room, nor its memory."""
    approvals = Approvals()
    approvals.agent.concurrency = 2
    app = world.app([approved(approvals)], [approvals.agent], tasks_in_flight=2, tasks_in_memory=3, evict_after="5s")
    running = await world.run(app)
    client = await world.client(app)
    tasks = [await client.submit("approved", f"o{n}") for n in range(20)]
    await approvals.token(20)

    async def all_let_go() -> bool:
        assert running.host.scheduler is not None
        return running.host.scheduler.held == 0

    await until(all_let_go)
    for token in approvals.tokens:
        await client.complete(token, True)
    assert [await task.result(timeout="1m") for task in tasks] == ["approved"] * 20
    assert len(approvals.tokens) == 20


async def test_the_agents_room_is_for_others_meanwhile(world: World) -> None:
    approvals = Approvals()
    approvals.agent.concurrency = 1
    client = await world.start([approved(approvals)], [approvals.agent], evict_after="never")
    for n in range(3):
        await client.submit("approved", f"o{n}")
    await approvals.token(3)


async def test_an_undo_that_is_finished_from_outside_takes_up_no_room(world: World) -> None:
    approvals = Approvals()
    approvals.undo_later = True
    client = await world.start([approved(approvals)], [approvals.agent], tasks_in_flight=1)
    task = await client.submit("approved", "o1")
    await approvals.token()
    await task.undo()
    await approvals.token(2)
    await client.submit("approved", "o2")
    await approvals.token(3)


async def test_undos_that_are_finished_from_outside_take_up_bounded_memory(world: World) -> None:
    approvals = Approvals()
    approvals.undo_later = True
    app = world.app([approved(approvals)], [approvals.agent], tasks_in_flight=1, tasks_in_memory=3)
    running = await world.run(app)
    client = await world.client(app)
    for n in range(5):
        task = await client.submit("approved", f"o{n}")
        if n < 3:
            await approvals.token(2 * n + 1)
            await task.undo()
            await approvals.token(2 * n + 2)
    await asyncio.sleep(MINUTE)
    assert running.host.scheduler is not None
    assert (running.host.scheduler.held, len(approvals.tokens)) == (3, 6)


async def test_a_failure_reaches_the_workflow_as_a_step_that_failed(world: World, approvals: Approvals) -> None:
    @workflow
    async def careful(order: str) -> list[Any]:
        try:
            await approvals.ask(order)
        except StepFailed as error:
            return [str(error), error.data]
        return []

    client = await world.start([careful], [approvals.agent])
    task = await client.submit(careful, "o1")
    await client.fail(await approvals.token(), "out of office", until="monday")
    assert await task.result(timeout="1m") == ["out of office", {"until": "monday"}]


async def test_past_its_complete_by_the_step_is_repeated_with_a_new_token(world: World) -> None:
    approvals = Approvals(complete_by="1m")
    client = await world.start([approved(approvals, threshold=1)], [approvals.agent])
    task = await client.submit("approved", "o1")
    first = await approvals.token()
    await asyncio.sleep(MINUTE + 10)
    second = await approvals.token(2)
    assert second != first
    (step,) = await task.steps()
    assert (step.attempt, step.failure_count) == (2, 1)
    assert await refusal(client.complete(first, True)) == "repeated"
    await client.complete(second, True)
    assert await task.result(timeout="1m") == "approved"


async def test_a_step_that_is_never_finished_from_outside_follows_its_policy(world: World) -> None:
    approvals = Approvals(complete_by="1m")
    client = await world.start([approved(approvals, threshold=0, then="undo")], [approvals.agent])
    task = await client.submit("approved", "o1")
    token = await approvals.token()
    await in_state(task, TaskState.UNDONE, within=3 * MINUTE)
    assert approvals.undone == [None]
    assert await refusal(client.complete(token, True)) == "undone"


async def test_whatever_dies_the_request_is_not_made_again(world: World, approvals: Approvals) -> None:
    """With queues in memory a new process knows of no request that was out; this one has been answered."""

    @workflow
    async def both(order: str) -> bool:
        answer, _ = await asyncio.gather(approvals.ask(order), asyncio.sleep(MINUTE))
        return answer

    app = world.app([both], [approvals.agent])
    async with app.running(), app.client() as client:
        task = await client.submit(both, "o1")
        token = await approvals.token()
    again = world.app([both], [approvals.agent], evict_after="5s")
    running = await world.run(again)
    client = await world.client(again)
    await asyncio.sleep(MINUTE + 3)
    assert running.host.scheduler is not None
    assert running.host.scheduler.held == 1
    await asyncio.sleep(MINUTE)
    assert running.host.scheduler.held == 0
    assert approvals.tokens == [token]
    assert (await client.task(task.id).status()).state is TaskState.WAITING
    first, _ = await client.task(task.id).steps()
    assert (first.state, first.attempt) == (StepState.RUNNING, 1)
    await client.complete(token, True)
    assert await client.task(task.id).result(timeout="1m") is True


async def test_a_completion_that_comes_before_the_operation_defers_is_recorded(world: World) -> None:
    agent = Agent("payments")
    given: list[str] = []

    @agent.operation(complete_by="1h")
    async def transfer() -> str:
        given.append(current_step().completion_token)
        await asyncio.sleep(5)
        current_step().finish_later()

    @workflow
    async def pay() -> str:
        done = await transfer()
        await asyncio.sleep(20)
        return done

    client = await world.start([pay], [agent])
    task = await client.submit(pay)

    async def look() -> bool:
        return bool(given)

    await until(look)
    await client.complete(given[0], "tx-1")
    assert await task.result(timeout="1m") == "tx-1"
    step, _ = await task.steps()
    assert (step.state, step.output) == (StepState.COMPLETED, "tx-1")
    # The Agent's own word came too late to say anything, and said no outcome.
    assert [entry.act for entry in await client.audits(task.id)] == ["complete"]


async def test_undo_that_is_finished_from_outside_may_fail_for_good(world: World, approvals: Approvals) -> None:
    approvals.undo_later = True
    client = await world.start([approved(approvals)], [approvals.agent])
    task = await client.submit("approved", "o1")
    await approvals.token()
    await task.undo()
    await client.fail(await approvals.token(2), "the bank is closed")
    await in_state(task, TaskState.ERROR)
    (alert,) = await client.alerts()
    assert alert.kind == "undo_failed"


async def test_two_are_waited_for_at_once_and_one_of_them_fails(world: World, approvals: Approvals) -> None:
    @workflow
    async def both(order: str) -> list[Any]:
        return list(await asyncio.gather(approvals.ask(order), approvals.ask("other"), return_exceptions=False))

    client = await world.start([both], [approvals.agent])
    task = await client.submit(both, "o1")
    await approvals.token(2)
    status = await task.status()
    assert (status.state, status.waits_for) == (TaskState.WAITING, "approvals.ask/1, +1 more")
    await client.complete(approvals.tokens[1], True)
    await asyncio.sleep(1)
    assert await states(task) == {"approvals.ask/1": "running", "approvals.ask/2": "completed"}
    await client.complete(approvals.tokens[0], False)
    assert await task.result(timeout="1m") == [False, True]


async def test_a_task_in_error_keeps_a_completion_for_its_resubmission(
    world: World, approvals: Approvals, service: Service
) -> None:
    @workflow(supervision=Supervision(then="alert"))
    async def both(order: str) -> list[Any]:
        return list(await asyncio.gather(approvals.ask(order), service.note("n")))

    mended: list[bool] = []

    async def refuse() -> None:
        if not mended:
            await approvals.token()
            raise Unrecoverable("no")

    service.plan("note n", refuse)
    client = await world.start([both], [approvals.agent, service.agent])
    task = await client.submit(both, "o1")
    await in_state(task, TaskState.ERROR)
    await client.complete(approvals.tokens[0], True)
    mended.append(True)
    await task.resubmit()
    assert await task.result(timeout="1m") == [True, "n done"]
    assert len(approvals.tokens) == 1


async def test_a_suspended_task_keeps_a_completion_until_it_is_resumed(world: World, approvals: Approvals) -> None:
    client = await world.start([approved(approvals)], [approvals.agent])
    task = await client.submit("approved", "o1")
    token = await approvals.token()
    await task.suspend()
    await in_state(task, TaskState.SUSPENDED)
    await client.complete(token, True)
    await asyncio.sleep(60)
    assert (await task.status()).state is TaskState.SUSPENDED
    await task.resume()
    assert await task.result(timeout="1m") == "approved"


async def test_a_result_that_a_program_without_the_code_gave_wrongly_is_corrected_by_hand(
    world: World, approvals: Approvals
) -> None:
    client = await world.start([approved(approvals)], [approvals.agent])
    task = await client.submit("approved", "o1")
    stranger = await world.client(world.app([], []))
    await stranger.complete(await approvals.token(), "perhaps")
    await in_state(task, TaskState.ERROR)
    assert "result of approvals.ask" in ((await task.status()).error or {})["message"]
    await task.mark_done("approvals.ask/1", True)
    assert await task.result(timeout="1m") == "approved"


@pytest.mark.usefixtures("verbs_alone")
async def test_a_deferral_that_arrives_together_with_the_answer_to_its_undo_changes_nothing(world: World) -> None:
    approvals = Approvals()
    app = world.app([approved(approvals)], [approvals.agent])
    running = await world.run(app)
    client = await world.client(app)
    held: list[Any] = []
    publish = running.transport.publish

    async def hold(queue: str, messages: Any) -> None:
        """Keep the first deferral, and deliver it again with the reply of the undo."""
        held.extend(each for each in messages if isinstance(each, Reply) and each.outcome is Outcome.DEFERRED)
        is_of_undo = any(isinstance(message, Reply) and message.key.endswith("~undo") for message in messages)
        await publish(queue, [*held, *messages] if is_of_undo else messages)

    running.transport.publish = hold  # type: ignore[method-assign]
    task = await client.submit("approved", "o1")
    await approvals.token()
    await task.undo()
    await in_state(task, TaskState.UNDONE, TaskState.ERROR)
    assert await states(task) == {"approvals.ask/1": "undone", "approvals.ask/1~undo": "completed"}
    assert world.told("task.missed") == []


@pytest.mark.usefixtures("verbs_alone")
async def test_a_request_that_arrived_although_its_queue_failed_does_not_leave_again_once_deferred(
    world: World,
) -> None:
    approvals = Approvals()
    app = world.app([approved(approvals)], [approvals.agent])
    running = await world.run(app)
    client = await world.client(app)
    publish = running.transport.publish
    failures = [TransportError("expected an acknowledgement, found the connection lost")]

    async def fail(queue: str, messages: Any) -> None:
        await publish(queue, messages)
        if queue == "agents.approvals" and failures:
            # The Agent is quicker than the acknowledgement.
            await asyncio.sleep(1)
            raise failures.pop()

    running.transport.publish = fail  # type: ignore[method-assign]
    task = await client.submit("approved", "o1")
    token = await approvals.token()
    await asyncio.sleep(MINUTE)
    assert len(approvals.tokens) == 1
    await client.complete(token, True)
    assert await task.result(timeout="1m") == "approved"


async def test_the_first_completions_at_one_time_read_the_key_once(
    world: World, approvals: Approvals, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = await world.start([approved(approvals)], [approvals.agent])
    tasks = [await client.submit("approved", f"o{n}") for n in range(5)]
    await approvals.token(5)
    read, reads = CompletionVerbs.completion_key, 0

    async def counted(verbs: CompletionVerbs, fresh: bytes) -> bytes:
        nonlocal reads
        reads += 1
        return await read(verbs, fresh)

    monkeypatch.setattr(CompletionVerbs, "completion_key", counted)
    await asyncio.gather(*(client.complete(token, True) for token in approvals.tokens))
    assert reads == 1
    assert [await task.result(timeout="1m") for task in tasks] == ["approved"] * 5
