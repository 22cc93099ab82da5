"""A long turn lets the event loop run between its parts, and no commit holds many bytes."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter

import pytest

from stepward import Agent, Client, TaskHandle, now, wait_for, workflow
from stepward.errors import TaskCancelled
from stepward.model.messages.requests import Reply
from stepward.model.records import Step
from stepward.model.states import StepState
from stepward.scheduler.admission.windows import Windows
from stepward.scheduler.claiming import ADMITTED_AT_ONCE
from stepward.scheduler.commits import Conclusions
from stepward.scheduler.tasks import task_inputs
from stepward.scheduler.tasks.inbox import Inbox
from stepward.scheduler.tasks.records.loading import TaskLoader
from stepward.scheduler.tasks.task_inputs import Incoming
from stepward.scheduler.turn_budget import MOST, TURN_BYTES
from stepward.workflow.event_loop.futures import LARGE
from stepward.workflow.event_loop.gathering import LargeGathering
from stepward.workflow.event_loop.loop import WorkflowLoop
from tests.scheduler.turns_seen import Commits, Passes
from tests.scheduler.world import Service, World, until

WAITING = "state = 'waiting'"


@workflow
async def sleeper(at: float) -> None:
    await asyncio.sleep(at - now().timestamp())


@workflow
async def collector() -> str:
    return await wait_for("go", type=str)


async def test_a_commit_holds_no_more_bytes_than_a_turn_takes_and_one_change_beyond_them(
    world: World, service: Service
) -> None:
    @workflow
    async def order(what: str) -> str:
        return await service.do(what)

    large = "x" * (TURN_BYTES // 2 - 100)
    app = world.app([order], [service.agent])
    commits = Commits(await world.run(app))
    client = await world.client(app)
    handles = await asyncio.gather(*[client.submit(order, large) for _ in range(8)])
    assert await asyncio.gather(*[handle.result() for handle in handles]) == [f"{large} done"] * 8
    change = 2 * len(large) + 200
    assert change < commits.most_written <= TURN_BYTES + change


async def test_large_signals_are_handed_over_in_several_turns(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    client = await world.start([collector], evict_after="never")
    handles = await client.submit_many(collector, [()] * 8)
    await until(lambda: _count(client, WAITING, 8))
    passes = Passes(monkeypatch)
    passes.note(Inbox, "receive")
    large = "x" * (TURN_BYTES // 2)
    await asyncio.gather(*[handle.signal("go", large) for handle in handles])
    assert await asyncio.gather(*[handle.result() for handle in handles]) == [large] * 8
    assert max(Counter(passes.of["receive"]).values()) == 2


async def test_many_steps_with_large_arguments_are_begun_over_several_commits(world: World) -> None:
    service = Service(concurrency=64)

    @workflow
    async def order(what: str) -> int:
        return len(await asyncio.gather(*[service.do(what) for _ in range(64)]))

    text = "x" * (TURN_BYTES // 16)
    app = world.app([order], [service.agent])
    commits = Commits(await world.run(app))
    assert await (await (await world.client(app)).submit(order, text)).result() == 64
    assert commits.most_written <= TURN_BYTES + 3 * len(text)


async def test_the_event_loop_runs_before_and_after_the_commit_of_many_tasks(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = world.app([sleeper], evict_after="never")
    running = await world.run(app)
    client = await world.client(app)
    at = app.environment.clock.wall() + 60
    await client.submit_many(sleeper, [(at,)] * MOST)
    await until(lambda: _count(client, WAITING, MOST))
    passes = Passes(monkeypatch)
    passes.note(Incoming, "strike")
    passes.note(running.store.scheduler, "commit")
    passes.note(Conclusions, "draw")
    await until(lambda: _count(client, "state = 'processed'", MOST))
    assert len(passes.of["strike"]) == MOST
    taken_in = passes.of["strike"][0]
    committed = next(each for each in passes.of["commit"] if each >= taken_in)
    concluded = next(each for each in passes.of["draw"] if each >= committed)
    assert taken_in < committed < concluded


async def test_claimed_tasks_are_taken_into_memory_over_passes_of_the_event_loop(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = Passes(monkeypatch)
    passes.note(TaskLoader, "admit")
    idle = world.app([collector])
    await (await world.client(idle)).submit_many(collector, [()] * 5 * ADMITTED_AT_ONCE)
    app = world.app([collector], evict_after="never")
    await world.run(app)
    client = await world.client(app)
    await until(lambda: _count(client, WAITING, 5 * ADMITTED_AT_ONCE))
    assert max(Counter(passes.of["admit"]).values()) <= ADMITTED_AT_ONCE


async def test_the_event_loop_runs_once_the_calls_of_a_large_gather_are_written_down(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service(concurrency=2_000)

    @workflow
    async def wide(count: int) -> int:
        return len(await asyncio.gather(*[service.do(str(number)) for number in range(count)]))

    passes = Passes(monkeypatch)
    passes.note(WorkflowLoop, "gather_many")
    passes.note(LargeGathering, "_begin")
    client = await world.start([wide], [service.agent])
    assert await (await client.submit(wide, LARGE + 1)).result() == LARGE + 1
    assert passes.of["gather_many"][0] < passes.of["_begin"][0]


async def test_the_places_of_a_wide_task_that_leaves_memory_are_freed_over_passes_of_the_event_loop(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 3 * MOST
    agent = Agent("endless", concurrency=count)

    @agent.operation(complete_by="1h")
    async def work(number: int) -> int:
        await asyncio.Event().wait()
        return number

    @workflow
    async def wide() -> None:
        await asyncio.gather(*[work(number) for number in range(count)])

    app = world.app([wide], [agent])
    await world.run(app)
    client = await world.client(app)
    handle = await client.submit(wide)
    await until(lambda: _are_running(handle, count))
    passes = Passes(monkeypatch)
    passes.note(Windows, "free")
    await handle.cancel()
    with pytest.raises(TaskCancelled):
        await handle.result()
    assert len(passes.of["free"]) >= count
    assert max(Counter(passes.of["free"]).values()) <= MOST


async def test_late_replies_to_a_wide_task_are_each_compared_with_their_own_step_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared, count = [0], 200
    is_answered = task_inputs._is_answered_by

    def counted(step: Step, reply: Reply) -> bool:
        compared[0] += 1
        return is_answered(step, reply)

    monkeypatch.setattr(task_inputs, "_is_answered_by", counted)
    agent = Agent("stubborn", concurrency=count)

    @agent.operation(complete_by="1h")
    async def work(number: int) -> int:
        if number:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        return number

    @workflow
    async def first() -> int:
        calls = [asyncio.ensure_future(work(number)) for number in range(count)]
        done, others = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        for call in others:
            call.cancel()
        await asyncio.sleep(60)
        return len(done)

    client = await world.start([first], [agent], evict_after="never")
    handle = await client.submit(first)
    assert await handle.result() == 1
    assert {step.output for step in await handle.steps() if step.key != "work/1"} >= {1, count - 1}
    assert count - 1 <= compared[0] <= 2 * count


async def _are_running(handle: TaskHandle, wanted: int) -> bool:
    return [step.state for step in await handle.steps()].count(StepState.RUNNING) == wanted


async def _count(client: Client, where: str, wanted: int) -> bool:
    return (await client.count(where=where)).number == wanted
