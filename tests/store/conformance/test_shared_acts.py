"""Directives and completions at one time: each caller receives what it would have received alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from stepward.errors import IllegalTransition, TaskChanged, TaskNotFound
from stepward.model.records import InboxKind, Task
from stepward.model.states import StepState, TaskState
from stepward.store.contract import Directive, RefusalReason, Store
from tests.store.conformance.test_completion import completion, let_go, waiting
from tests.store.conformance.test_plans import PLAN
from tests.store.conformance.test_status_events import QUEUE, told
from tests.store.conformance.world import DONE, FAILED, START, World, claimed, end, read, read_step

VERBS = ("undo", "cancel", "suspend", "resume", "resubmit")
LATER = START + 500.0


async def direct(store: Store, task: Task, verb: str, **fields: Any) -> TaskState:
    return await store.client.direct(task.id, Directive(verb=verb, actor="ada", **fields))


async def at_once(*calls: Awaitable[Any]) -> list[Any]:
    return await asyncio.gather(*calls, return_exceptions=True)


async def in_turn(*calls: Awaitable[Any]) -> list[Any]:
    return [(await at_once(call))[0] for call in calls]


async def tasks_of_every_standing(world: World, store: Store) -> list[Task]:
    """Tasks with an owner and without, in the states that directives find; those of version 2 are never claimed."""
    held = await claimed(world, store, reply_to=QUEUE)
    over = await claimed(world, store, deadline=START - 1)
    await end(store, over, TaskState.PROCESSED)
    failed = await claimed(world, store)
    await end(store, failed, TaskState.ERROR, error=FAILED)
    sleeping = await claimed(world, store)
    await let_go(store, sleeping, wake_at=LATER, waits_for="timer")
    free = [
        world.task(version="2", reply_to=QUEUE),
        world.task(version="2", wake_at=LATER),
        world.task(version="2", wake_at=LATER, waits_for="predecessor"),
        world.task(version="2", state=TaskState.SUSPENDED, reply_to=QUEUE),
    ]
    await store.client.submit(free, {("order", "2"): PLAN})
    return [held, over, failed, sleeping, *free]


async def left(store: Store, task: Task) -> list[Any]:
    """What a directive may change of a task, and what it leaves for its owner, the audit and the response queue."""
    found = await read(store, task)
    inbox = [(row.kind, row.sender) for row in await store.scheduler.read_inbox("s1", 0) if row.task == task.uid]
    acts = [(act.act, act.before, act.after, act.details, act.at) for act in await store.operators.audits(task.id, 9)]
    return [
        (found.state, found.undo_to, found.waits_for, found.wake_at, found.finished_at, found.deadline),
        (found.inbox, found.events, found.error, found.complete_by is None, found.recovery_count),
        [(step.key, step.state) for step in await store.client.steps(task.id)],
        [event[1:] for event in await told(store) if event[0] == task.id],
        inbox,
        acts,
    ]


def said(answer: Any, task: Task) -> str:
    """An answer, without the name of its task."""
    return f"{type(answer).__name__}: {answer}".replace(task.id, "it")


@pytest.mark.parametrize("verb", VERBS)
async def test_directives_at_one_time_do_what_they_do_in_turn(world: World, store: Store, verb: str) -> None:
    sets = [await tasks_of_every_standing(world, store) for _ in range(2)]
    found = []
    for answered, tasks in zip((in_turn, at_once), sets, strict=True):
        answers = await answered(*(direct(store, task, verb) for task in tasks))
        found.append(
            [(said(answer, task), await left(store, task)) for answer, task in zip(answers, tasks, strict=True)]
        )
    assert found[0] == found[1]


async def test_directives_of_one_task_at_one_time_follow_one_another(world: World, store: Store) -> None:
    task, other = world.task(), world.task()
    await store.client.submit([task, other])
    verbs = ["suspend", "resume", "resume", "suspend", "cancel", "cancel"]
    found = await at_once(direct(store, other, "suspend"), *(direct(store, task, verb) for verb in verbs))
    assert [each if isinstance(each, TaskState) else type(each) for each in found[1:]] == [
        TaskState.SUSPENDED,
        TaskState.PENDING,
        IllegalTransition,
        TaskState.SUSPENDED,
        TaskState.UNDOING,
        TaskState.UNDOING,
    ]
    acts = [act.act for act in await store.operators.audits(task.id, 9)]
    assert acts == ["cancel", "cancel", "suspend", "resume", "suspend"]


async def test_a_refused_directive_takes_no_other_along(world: World, store: Store) -> None:
    tasks = [world.task() for _ in range(4)]
    gone = world.task()
    await store.client.submit(tasks)
    before = await at_once(direct(store, tasks[3], "cancel", expected=["another"]))
    found = await at_once(
        direct(store, tasks[0], "suspend"),
        direct(store, gone, "suspend"),
        direct(store, tasks[1], "resume"),
        direct(store, tasks[2], "cancel", expected=["another"]),
        direct(store, tasks[3], "cancel", expected=[before[0].version]),
    )
    assert found[0] is TaskState.SUSPENDED
    assert [type(each) for each in found[1:4]] == [TaskNotFound, IllegalTransition, TaskChanged]
    assert found[4] is TaskState.CANCELLED
    states = [(await read(store, task)).state for task in tasks]
    assert states == [TaskState.SUSPENDED, TaskState.PENDING, TaskState.PENDING, TaskState.CANCELLED]


async def test_completions_at_one_time_have_an_outcome_each(world: World, store: Store) -> None:
    tasks = [await waiting(world, store) for _ in range(5)]
    late = await waiting(world, store, complete_by=START)
    calls = [
        *(completion(task) for task in tasks[:3]),
        completion(tasks[3], output=None, error=FAILED),
        completion(tasks[2], output=b'"second"', actor="bob"),
        completion(tasks[4], attempt=2),
        completion(late),
        completion(world.task()),
    ]
    found = await at_once(*map(store.client.complete, calls))
    assert [None if each is None else each.reason for each in found] == [
        *[None] * 4,
        RefusalReason.USED,
        RefusalReason.REPEATED,
        RefusalReason.LATE,
        RefusalReason.GONE,
    ]
    steps = [await read_step(store, task) for task in (*tasks, late)]
    assert [step.state for step in steps] == [
        *[StepState.COMPLETED] * 3,
        StepState.FAILED,
        StepState.RUNNING,
        StepState.RUNNING,
    ]
    assert [step.output for step in steps[:3]] == [DONE] * 3
    rows = await store.scheduler.read_inbox("s1", 0)
    assert sorted((row.task, row.kind) for row in rows) == sorted((task.uid, InboxKind.REPLY) for task in tasks[:4])
    acts = [[act.act for act in await store.operators.audits(task.id, 9)] for task in (*tasks, late)]
    refused = ["refused_completion"]
    assert acts == [["complete"]] * 2 + [[*refused, "complete"], ["fail"], refused, refused]


async def test_completions_at_one_time_leave_each_owner_its_rows(world: World, store: Store) -> None:
    free = [await waiting(world, store) for _ in range(3)]
    for task in free:
        await let_go(store, task, wake_at=LATER)
    assert await at_once(*(store.client.complete(completion(task)) for task in free)) == [None] * 3
    for task in free:
        found = await read(store, task)
        assert (found.inbox, found.wake_at) == (1, store.now())
