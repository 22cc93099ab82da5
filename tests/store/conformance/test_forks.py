"""Forks: a task inserted with its record, if its origin is as it was read."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from stepward.errors import IllegalTransition, TaskChanged, TaskConflict, TaskNotFound
from stepward.model.pipeline_plan import PlannedStage, to_json
from stepward.model.records import Task, WorkflowRecord
from stepward.model.states import StepKind, StepState, TaskState
from stepward.model.tasks.forks import PROVENANCE, provenance_of
from stepward.store.contract import Fork, Store
from stepward.store.rules.directives import forking
from tests.store.conformance.world import DONE, World, add_steps, claimed, end, read, read_step, step

DONE_STEP: dict[str, Any] = {"state": StepState.COMPLETED, "output": DONE, "started_at": 1.0, "finished_at": 2.0}


async def ended(world: World, store: Store) -> Task:
    """A task that has ended behind two steps."""
    task = await claimed(world, store)
    first = step(task, "charge/1", 1, ordinal=1, asked=1, has_undo=True, **DONE_STEP)
    second = step(task, "ship/1", 2, ordinal=2, asked=2, has_undo=True, **DONE_STEP)
    await add_steps(store, task, first, second)
    await end(store, task, TaskState.PROCESSED, output=b"1", at=store.now())
    return await read(store, task)


async def fork_of(world: World, store: Store, origin: Task, id: str | None = None, undo: bool = False) -> Fork:
    steps = await store.client.steps(origin.id)
    first = forking.first_step(origin, steps, "ship/1")
    task = world.task(id)
    rows = forking.taken_over(origin, steps, first, task)
    later = forking.later_effects(origin, steps, first) if undo else []
    return Fork(
        origin=origin,
        step=first.key,
        task=task,
        steps=[*rows, *forking.undone_first(later, task)],
        released=[forking.released(each) for each in later],
        actor="ada",
        reason="again",
    )


async def test_a_fork_is_a_pending_task_with_the_record_before_its_step(world: World, store: Store) -> None:
    origin = await ended(world, store)
    fork = await fork_of(world, store, origin)
    assert (await store.client.fork(fork)).created
    task = await read(store, fork.task)
    assert (task.state, task.workflow, task.locked_by) == (TaskState.PENDING, "order", None)
    rows = await store.client.steps(task.id)
    assert [row.key for row in rows] == [PROVENANCE, "charge/1"]
    assert (rows[1].task, rows[1].output, rows[1].ordinal, rows[1].has_undo) == (task.uid, DONE, 1, False)
    known = provenance_of(rows)
    assert known is not None
    assert (known.origin, known.origin_uid, known.step, known.seed) == (origin.id, origin.uid, "ship/1", origin.uid)
    assert known.began_at == origin.started_at
    for of, details in ((origin, b'"fork":"%s"' % task.id.encode()), (task, b'"origin":"%s"' % origin.id.encode())):
        (act,) = await store.operators.audits(of.id, 9)
        assert (act.actor, act.act, act.step, details in act.details) == ("ada", "fork", "ship/1", True)


async def test_effects_that_the_fork_undoes_are_no_longer_the_origins(world: World, store: Store) -> None:
    origin = await ended(world, store)
    fork = await fork_of(world, store, origin, undo=True)
    await store.client.fork(fork)
    rows = {row.key: row for row in await store.client.steps(fork.task.id)}
    assert set(rows) == {PROVENANCE, "charge/1", "ship/1~1", "ship/1~1~undo"}
    assert rows["ship/1~1"].set_aside_at is not None and rows["ship/1~1"].has_undo
    assert (rows["ship/1~1~undo"].kind, rows["ship/1~1~undo"].state) == (StepKind.UNDO, StepState.NOT_STARTED)
    assert not (await read_step(store, origin, "ship/1")).has_undo
    assert (await read_step(store, origin, "charge/1")).has_undo


async def test_effects_that_another_fork_has_taken_over_are_refused(world: World, store: Store) -> None:
    origin = await ended(world, store)
    first, second = [await fork_of(world, store, origin, undo=True) for _ in range(2)]
    await store.client.fork(first)
    with pytest.raises(IllegalTransition, match=r"no other fork undoes, found ship/1 undone by one by now"):
        await store.client.fork(second)
    assert await store.client.task(second.task.id) is None
    assert (await store.client.fork(await fork_of(world, store, origin, undo=True))).created


async def test_an_id_that_exists_starts_nothing_more(world: World, store: Store) -> None:
    origin = await ended(world, store)
    first, again = await fork_of(world, store, origin, "f"), await fork_of(world, store, origin, "f", undo=True)
    made = await store.client.fork(first)
    found = await store.client.fork(again)
    assert (found.uid, found.created, found.same) == (made.uid, False, True)
    assert len(await store.client.steps("f")) == 2
    assert (await read_step(store, origin, "ship/1")).has_undo
    other = replace(again, task=replace(again.task, uid="other", input=b"[1]"))
    with pytest.raises(TaskConflict):
        await store.client.fork(other)


async def test_an_origin_that_has_changed_is_not_forked(world: World, store: Store) -> None:
    origin = await ended(world, store)
    fork = await fork_of(world, store, origin)
    with pytest.raises(IllegalTransition, match="expected it as it was read"):
        await store.client.fork(replace(fork, origin=replace(origin, finished_at=1.0)))
    with pytest.raises(TaskChanged):
        await store.client.fork(replace(fork, expected=("another",)))
    with pytest.raises(TaskNotFound):
        await store.client.fork(replace(fork, origin=world.task("none")))
    assert await store.client.task(fork.task.id) is None


async def test_a_fork_has_the_later_stages_of_its_plan(world: World, store: Store) -> None:
    stages = [
        PlannedStage(
            stage=key,
            key=f"{key}/1",
            name=key,
            kind=StepKind.OPERATION,
            agent="pay",
            complete_seconds=None,
            has_undo=False,
            irreversible=False,
            waits_for=(),
        )
        for key in ("charge", "ship", "mail")
    ]
    record = WorkflowRecord(name="order", version="1", schema=b"{}", policy=b"{}", plan=to_json(stages))
    await store.host.register_workflows([record])
    origin = await ended(world, store)
    fork = await fork_of(world, store, origin)
    await store.client.fork(fork)
    rows = {row.key: row for row in await store.client.steps(fork.task.id)}
    assert set(rows) == {PROVENANCE, "charge/1", "ship/1", "mail/1"}
    assert (rows["charge/1"].state, rows["ship/1"].state, rows["mail/1"].input) == ("completed", "not_started", b"")
