from __future__ import annotations

import pytest
from msgspec.structs import replace

from stepward.errors import InstanceFenced
from stepward.model.records import Alert, Task
from stepward.model.states import StepState, TaskState
from stepward.settings.sink_settings import Severity
from stepward.store.contract import Change, Deliver, Dispatch, StepMove, Store
from tests.store.conformance.world import (
    DONE,
    FAILED,
    START,
    World,
    add_steps,
    audit,
    claimed,
    finish,
    move,
    read,
    read_step,
    scheduler,
    step,
    watch,
)


async def miss(store: Store, change: Change) -> str:
    """Commit a change that must miss; the reason."""
    committed = await store.scheduler.commit("s1", [change], None)
    assert list(committed.missed) == [change.task]
    return committed.missed[change.task]


async def apply(store: Store, change: Change) -> None:
    committed = await store.scheduler.commit("s1", [change], None)
    assert committed.missed == {}


async def test_a_step_reads_back_as_it_was_inserted(world: World, store: Store) -> None:
    task = await claimed(world, store)
    full = step(
        task,
        complete_by=START + 9,
        complete_seconds=9.0,
        started_at=START,
        input=b'["x"]',
        has_undo=True,
        irreversible=True,
    )
    bare = step(task, "wait/1", 2, state=StepState.NOT_STARTED, attempt=0, agent=None)
    await add_steps(store, task, full, bare)
    assert await store.client.steps(task.id) == [full, bare]


async def test_finish_and_start_share_a_commit(world: World, store: Store) -> None:
    task = await claimed(world, store)
    first, second = step(task), step(task, "pack/1", 2)
    await add_steps(store, task, first)
    await apply(store, Change(task=task.uid, finishes=[finish(first)], inserts=[second]))
    found = await read_step(store, task)
    assert (found.state, found.output, found.ordinal, found.finished_at) == ("completed", DONE, 1, START)
    assert (await read_step(store, task, "pack/1")).state is StepState.RUNNING


@pytest.mark.parametrize("wrong", ["attempt", "state", "key"])
async def test_an_outcome_of_another_attempt_changes_nothing(world: World, store: Store, wrong: str) -> None:
    task = await claimed(world, store)
    await add_steps(store, task, step(task, state=StepState.FAILED if wrong == "state" else StepState.RUNNING))
    before = await store.client.steps(task.id)
    late = finish(step(task, attempt=2 if wrong == "attempt" else 1, key="x/1" if wrong == "key" else "charge/1"))
    assert "not running at that attempt" in await miss(store, Change(task=task.uid, finishes=[late]))
    assert await store.client.steps(task.id) == before


async def test_a_failure_of_another_attempt_changes_nothing(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await add_steps(store, task, step(task, attempt=2))
    before = await store.client.steps(task.id)
    late = finish(step(task, attempt=1), StepState.FAILED)
    assert "not running at that attempt" in await miss(store, Change(task=task.uid, finishes=[late]))
    assert await store.client.steps(task.id) == before


async def test_an_abandoned_step_records_a_late_result_once(world: World, store: Store) -> None:
    task = await claimed(world, store)
    charge = step(task)
    await add_steps(store, task, charge)
    abandon = StepMove(task.uid, 1, charge.key, StepState.RUNNING, StepState.ABANDONED, START)
    await apply(store, Change(task=task.uid, step_moves=[abandon]))
    await apply(store, Change(task=task.uid, finishes=[finish(charge, ordinal=4)]))
    found = await read_step(store, task)
    assert (found.state, found.output, found.ordinal) == (StepState.ABANDONED, DONE, None)
    await miss(store, Change(task=task.uid, finishes=[finish(charge, StepState.FAILED)]))


async def test_a_step_given_up_and_answered_in_one_turn_is_abandoned_with_its_result(
    world: World, store: Store
) -> None:
    task = await claimed(world, store)
    charge = step(task)
    await add_steps(store, task, charge)
    abandon = StepMove(task.uid, 1, charge.key, StepState.RUNNING, StepState.ABANDONED, START)
    await apply(store, Change(task=task.uid, step_moves=[abandon], finishes=[finish(charge)]))
    found = await read_step(store, task)
    assert (found.state, found.output, found.ordinal) == (StepState.ABANDONED, DONE, None)


@pytest.mark.parametrize("state", [StepState.COMPLETED, StepState.FAILED])
async def test_an_outcome_is_recorded_with_what_had_been_asked_for_before_it(
    world: World, store: Store, state: StepState
) -> None:
    task = await claimed(world, store)
    charge = step(task)
    await add_steps(store, task, charge)
    await apply(store, Change(task=task.uid, finishes=[finish(charge, state, ordinal=1, asked=5)]))
    assert (await read_step(store, task)).asked == 5


async def test_a_recorded_outcome_is_delivered_once(world: World, store: Store) -> None:
    task = await claimed(world, store)
    charge = step(task)
    await add_steps(store, task, charge)
    deliver = Change(task=task.uid, delivers=[Deliver(task.uid, 1, charge.key, 3, 7)])
    await miss(store, deliver)
    await apply(store, Change(task=task.uid, finishes=[finish(charge, ordinal=None)]))
    await apply(store, deliver)
    found = await read_step(store, task)
    assert (found.ordinal, found.asked) == (3, 7)
    assert "no undelivered outcome" in await miss(store, deliver)


async def test_attempts_are_dispatched_without_gaps(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await add_steps(store, task, step(task, state=StepState.NOT_STARTED, attempt=0))

    def dispatch(attempt: int) -> Change:
        return Change(task=task.uid, dispatches=[Dispatch(task.uid, 1, "charge/1", attempt, START, START + 5)])

    await miss(store, dispatch(2))
    await apply(store, dispatch(1))
    found = await read_step(store, task)
    assert (found.state, found.attempt, found.complete_by) == (StepState.RUNNING, 1, START + 5)
    assert "does not wait for that attempt" in await miss(store, dispatch(1))


async def test_a_watch_draws_the_complete_by_only_nearer(world: World, store: Store) -> None:
    task = await claimed(world, store)
    charge = step(task, complete_by=START + 30)
    await add_steps(store, task, charge)
    await apply(store, Change(task=task.uid, watches=[watch(charge, START + 90)]))
    assert (await read_step(store, task)).complete_by == START + 30
    await apply(store, Change(task=task.uid, watches=[watch(charge, START + 1, FAILED)]))
    found = await read_step(store, task)
    assert (found.watched, found.complete_by, found.error) == (True, START + 1, FAILED)
    await apply(store, Change(task=task.uid, finishes=[finish(charge)]))
    assert not (await read_step(store, task)).watched
    assert "not running" in await miss(store, Change(task=task.uid, watches=[watch(charge, START)]))


async def test_a_step_leaves_only_the_state_it_is_in(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await add_steps(store, task, step(task, state=StepState.COMPLETED, finished_at=START - 5))
    skip = StepMove(task.uid, 1, "charge/1", StepState.NOT_STARTED, StepState.SKIPPED, START)
    assert "not in the state" in await miss(store, Change(task=task.uid, step_moves=[skip]))
    illegal = StepMove(task.uid, 1, "charge/1", StepState.COMPLETED, StepState.RUNNING, START)
    assert "no step goes from completed to running" in await miss(store, Change(task=task.uid, step_moves=[illegal]))
    undo = StepMove(task.uid, 1, "charge/1", StepState.COMPLETED, StepState.UNDONE, START)
    await apply(store, Change(task=task.uid, step_moves=[undo]))
    found = await read_step(store, task)
    assert (found.state, found.finished_at) == (StepState.UNDONE, START - 5)


async def test_an_end_frees_the_task_and_keeps_its_output(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await apply(store, Change(task=task.uid, move=move(task, TaskState.PROCESSED, output=DONE)))
    found = await read(store, task)
    assert (found.state, found.locked_by, found.output, found.finished_at) == ("processed", None, DONE, START)


async def test_a_move_gives_the_task_its_whole_face_but_for_run_and_input(world: World, store: Store) -> None:
    task = await claimed(world, store, input=b"[7]")
    face = {"undo_to": TaskState.CANCELLED, "error": FAILED, "output": DONE, "wake_at": START, "waits_for": "x"}
    await apply(store, Change(task=task.uid, move=move(task, TaskState.UNDOING, **face)))
    undoing = await read(store, task)
    assert {name: getattr(undoing, name) for name in face} == face
    await apply(store, Change(task=task.uid, move=move(undoing, TaskState.CANCELLED, undo_to=TaskState.CANCELLED)))
    found = await read(store, task)
    assert (found.error, found.output, found.wake_at, found.waits_for) == (None, None, None, None)
    assert (found.run, found.input) == (1, b"[7]")


@pytest.mark.parametrize("after", [TaskState.PROCESSED, TaskState.WAITING])
async def test_letting_go_compares_the_inbox(world: World, store: Store, after: TaskState) -> None:
    task = await claimed(world, store)
    await store.client.signal(task.id, "paid", b"1", None)
    let_go = move(task, after, release=True)
    assert "not as read" in await miss(store, Change(task=task.uid, move=let_go))
    assert (await read(store, task)).locked_by == "s1"
    await apply(store, Change(task=task.uid, move=move(await read(store, task), after, release=True)))
    assert (await read(store, task)).locked_by is None


async def test_an_end_without_the_inbox_as_read_misses(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await miss(store, Change(task=task.uid, move=move(task, TaskState.ERROR, error=FAILED, inbox=None)))


async def test_a_move_names_the_state_it_leaves_and_a_legal_next(world: World, store: Store) -> None:
    task = await claimed(world, store)
    other = move(task, TaskState.UNDOING, before=TaskState.WAITING, undo_to=TaskState.UNDONE)
    assert "not as read" in await miss(store, Change(task=task.uid, move=other))
    reason = await miss(store, Change(task=task.uid, move=move(task, TaskState.PROCESSED, before=TaskState.PENDING)))
    assert "no task goes from pending to processed" in reason


async def test_progress_forgets_recoveries(world: World, store: Store) -> None:
    task = await claimed(world, store, recovery_count=3)
    await apply(store, Change(task=task.uid, move=move(task, TaskState.PROCESSING, progress=False)))
    assert (await read(store, task)).recovery_count == 3
    await apply(store, Change(task=task.uid, move=move(task, TaskState.PROCESSING)))
    assert (await read(store, task)).recovery_count == 0


async def test_a_task_is_born_claimed_with_its_first_steps(world: World, store: Store) -> None:
    task = world.born("s1")
    await apply(store, Change(task=task.uid, born=task, inserts=[step(task)]))
    assert await read(store, task) == task
    again = world.born("s1")
    again.id = task.id
    assert "exists" in await miss(store, Change(task=again.uid, born=again, inserts=[step(again)]))
    assert await store.client.steps(task.id) == [step(task)]
    for_another = world.born("s2")
    assert "locked by s1" in await miss(store, Change(task=for_another.uid, born=for_another))


async def test_children_are_inserted_once(world: World, store: Store) -> None:
    task = await claimed(world, store)
    child = world.task("parent/child/1", parent=task.uid, parent_run=1, parent_step="child/1")
    await apply(store, Change(task=task.uid, children=[child]))
    await apply(store, Change(task=task.uid, children=[child]))
    assert await store.client.task("parent/child/1") == child


async def test_alerts_and_audits_commit_with_the_change(world: World, store: Store) -> None:
    task = await claimed(world, store)
    alert = Alert(kind="task_error", task=task.uid, task_id=task.id, step="charge/1", message="look", at=START)
    told = Change(task=task.uid, alerts=[alert], audits=[audit(task)])
    missed = Change(task=task.uid, alerts=[alert], audits=[audit(task)], finishes=[finish(step(task))])
    await miss(store, missed)
    assert await store.operators.alerts(9, open_only=True) == []
    await apply(store, told)
    (found,) = await store.operators.alerts(9, open_only=True)
    assert replace(found, number=0) == replace(alert, workflow=task.workflow, severity=found.severity)
    assert found.severity is Severity.ERROR
    assert [entry.act for entry in await store.operators.audits(task.id, 9)] == ["repeat"]


async def test_requests_are_queued_with_the_change_that_starts_their_steps(world: World, store: Store) -> None:
    tasks = [await claimed(world, store) for _ in range(2)]
    steps = [step(task, state=StepState.RUNNING, attempt=1) for task in tasks]
    changes = [
        Change(task=task.uid, inserts=[row], requests=[("requests.a", task.uid.encode(), 1e12)])
        for task, row in zip(tasks, steps, strict=True)
    ]
    changes[1].finishes = [finish(step(tasks[1], "other/1"))]
    committed = await store.scheduler.commit("s1", changes, None)
    assert list(committed.missed) == [tasks[1].uid]
    (message,) = await store.messages.take("requests.a", 9, 10)
    assert message.body == tasks[0].uid.encode()


async def test_a_change_that_misses_leaves_the_rest_standing(world: World, store: Store) -> None:
    tasks = [await claimed(world, store) for _ in range(3)]
    changes = [Change(task=task.uid, inserts=[step(task)]) for task in tasks]
    changes[1].finishes.append(finish(step(tasks[1], "missing/1")))
    committed = await store.scheduler.commit("s1", changes, None)
    assert list(committed.missed) == [tasks[1].uid]
    assert [len(await store.client.steps(task.id)) for task in tasks] == [1, 0, 1]


@pytest.mark.parametrize(
    "fields",
    [{"number": "one"}, {"kind": "unknown"}, {"input": None}, {"error": "\ud800"}, {"number": 1 << 70}, {"name": []}],
    ids=["text for a number", "a kind unknown", "no input", "a lone surrogate", "a huge number", "a list"],
)
async def test_data_that_is_refused_blames_its_own_task_alone(
    world: World, store: Store, fields: dict[str, object]
) -> None:
    good, bad = await claimed(world, store), await claimed(world, store)
    damaged = step(bad)
    for name, value in fields.items():
        setattr(damaged, name, value)
    changes = [Change(task=good.uid, inserts=[step(good)]), Change(task=bad.uid, inserts=[damaged])]
    committed = await store.scheduler.commit("s1", changes, None)
    assert list(committed.missed) == [bad.uid]
    assert committed.missed[bad.uid].startswith("refused: ")
    assert [len(await store.client.steps(task.id)) for task in (good, bad)] == [1, 0]


async def test_only_the_owner_moves_a_task(world: World, store: Store) -> None:
    await scheduler(store, "s2")
    task = await claimed(world, store, "s2")
    for change in (
        Change(task=task.uid, inserts=[step(task)]),
        Change(task=task.uid, move=move(task, TaskState.PROCESSED)),
        Change(task=task.uid, children=[world.task("child")]),
    ):
        assert "not held by s1" in await miss(store, change)
    assert await read(store, task) == task


@pytest.mark.parametrize("renew", [None, 10.0])
async def test_a_fenced_instance_changes_nothing(world: World, store: Store, renew: float | None) -> None:
    task = await claimed(world, store)
    await store.host.retire("s1")
    before: Task = await read(store, task)
    with pytest.raises(InstanceFenced, match="s1"):
        await store.scheduler.commit("s1", [Change(task=task.uid, inserts=[step(task)], audits=[audit(task)])], renew)
    assert await read(store, task) == before
    assert (await store.client.steps(task.id), await store.operators.audits(None, 9)) == ([], [])


@pytest.mark.parametrize("renew", [None, 10.0])
async def test_nothing_is_born_by_a_fenced_instance(world: World, store: Store, renew: float | None) -> None:
    """No row that it held before tells here that it is over: the commit itself does."""
    await claimed(world, store)
    await store.host.retire("s1")
    born = world.born("s1")
    with pytest.raises(InstanceFenced, match="s1"):
        await store.scheduler.commit("s1", [Change(task=born.uid, born=born)], renew)
    assert await store.client.task(born.id) is None


async def test_a_commit_renews_the_lease_in_passing(world: World, store: Store) -> None:
    world.clock.advance(5)
    await store.scheduler.commit("s1", [], 10.0)
    (instance,) = await store.operators.instances()
    assert instance.expires_at == pytest.approx(store.now() + 10)
