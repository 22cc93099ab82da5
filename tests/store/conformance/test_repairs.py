"""Repairs on the rows: what a directive rewrites, in every store alike."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stepward.errors import IllegalTransition
from stepward.model.records import Alert, InboxKind, Step, Task
from stepward.model.states import StepKind, StepState, TaskState
from stepward.store.contract import Change, Directive, Doubt, Later, Post, Store, Tally
from tests.store.conformance.world import DONE, FAILED, World, add_steps, claimed, end, move, read, step

BLAMES_CHARGE = b'{"message":"no","step":"charge/1"}'


async def in_error(world: World, store: Store, *steps: Any) -> Task:
    task = await claimed(world, store)
    await add_steps(store, task, *[make(task) for make in steps])
    await end(store, task, TaskState.ERROR, error=BLAMES_CHARGE)
    return await read(store, task)


def failed(**fields: Any) -> Any:
    usual = {
        "state": StepState.FAILED,
        "error": FAILED,
        "ordinal": 1,
        "finished_at": 5.0,
        "started_at": 4.0,
        "asked": 1,
    }
    return lambda task: step(task, "charge/1", 1, **usual | {"attempt": 1, "has_undo": True} | fields)


def done(key: str, number: int, **fields: Any) -> Any:
    usual = {"state": StepState.COMPLETED, "output": DONE, "ordinal": number, "finished_at": 6.0, "started_at": 5.0}
    return lambda task: step(task, key, number, **usual | {"attempt": 1, "has_undo": True} | fields)


async def repair(store: Store, task: Task, verb: str = "resubmit", **fields: Any) -> dict[str, Step]:
    await store.client.direct(task.id, Directive(verb=verb, actor="ada", **fields))
    return {found.key: found for found in await store.client.steps(task.id)}


async def test_what_was_done_after_the_failure_is_refused_without_a_word(world: World, store: Store) -> None:
    task = await in_error(world, store, failed(), done("refund/1", 2))
    before = await store.client.steps(task.id)
    with pytest.raises(IllegalTransition, match="found refund/1, which would be set aside"):
        await repair(store, task)
    assert await store.client.steps(task.id) == before
    assert await store.operators.audits(task.id, 9) == []


@pytest.mark.parametrize("later", list(Later))
async def test_what_was_done_after_the_failure_is_set_aside(world: World, store: Store, later: Later) -> None:
    task = await in_error(world, store, failed(), done("refund/1", 2))
    found = await repair(store, task, later=later)
    assert found["refund/1~1"].set_aside_at == store.now()
    assert "refund/1" not in found
    assert ("refund/1~1~undo" in found) == (later is Later.UNDO)
    (entry,) = await store.operators.audits(task.id, 9)
    details = msgspec.json.decode(entry.details)
    assert (details["later"], details["set_aside"]) == (later, ["refund/1~1"])


async def test_an_outcome_delivered_after_the_failure_is_delivered_again(world: World, store: Store) -> None:
    task = await in_error(world, store, failed(asked=2), done("beside/1", 2, asked=2))
    found = await repair(store, task)
    assert (found["beside/1"].state, found["beside/1"].ordinal) == (StepState.COMPLETED, None)
    assert found["beside/1"].asked is None


async def test_a_signal_taken_after_the_failure_is_back_in_the_inbox(world: World, store: Store) -> None:
    taken = done("signal:go/1", 2, kind=StepKind.SIGNAL, output=b'"now"', has_undo=False)
    task = await in_error(world, store, failed(), taken)
    await repair(store, task)
    (history,) = await store.scheduler.claim("s1", [("order", "1")], 9)
    (row,) = history.inbox
    assert (row.kind, row.name, row.body) == (InboxKind.SIGNAL, "go", b'"now"')


async def test_a_generation_in_doubt_is_kept_and_undone_first(world: World, store: Store) -> None:
    task = await in_error(world, store, failed(in_doubt=True, input=b"[1]"))
    with pytest.raises(IllegalTransition, match="found 1/charge/1 maybe done; undo it first"):
        await repair(store, task, input=b"[2]")
    found = await repair(store, task, input=b"[2]", doubt=Doubt.UNDO)
    kept, again = found["charge/1~1"], found["charge/1"]
    assert (kept.generation, kept.input, kept.in_doubt, kept.state) == (0, b"[1]", True, StepState.FAILED)
    assert (again.generation, again.input, again.in_doubt, again.state) == (1, b"[2]", False, StepState.TO_REPEAT)
    assert found["charge/1~1~undo"].state is StepState.NOT_STARTED


@pytest.mark.parametrize("verb", ["undo", "cancel"])
async def test_an_undo_that_failed_is_repeated_with_the_task(world: World, store: Store, verb: str) -> None:
    undo = {"kind": StepKind.UNDO, "state": StepState.FAILED, "error": FAILED, "finished_at": 7.0, "attempt": 1}
    task = await in_error(world, store, failed(), lambda task: step(task, "charge/1~undo", 0, **undo))
    found = (await repair(store, task, verb))["charge/1~undo"]
    assert (found.state, found.repeat_at, found.finished_at) == (StepState.TO_REPEAT, store.now(), None)
    assert (await read(store, task)).state is TaskState.UNDOING


async def test_a_generation_that_did_not_happen_is_not_in_doubt_any_more(world: World, store: Store) -> None:
    task = await in_error(world, store, failed(in_doubt=True, input=b"[1]"))
    with pytest.raises(IllegalTransition, match="expected an edited input of as many arguments as the step was asked"):
        await repair(store, task, input=b"[2,3]", doubt=Doubt.DID_NOT_HAPPEN)
    found = await repair(store, task, input=b"[2]", doubt=Doubt.DID_NOT_HAPPEN)
    assert not found["charge/1~1"].in_doubt
    assert "charge/1~1~undo" not in found


async def test_a_step_that_is_set_aside_is_not_repeated(world: World, store: Store) -> None:
    task = await in_error(world, store, failed(in_doubt=True, input=b"[1]"))
    await repair(store, task, input=b"[2]", doubt=Doubt.UNDO)
    (history,) = await store.scheduler.claim("s1", [("order", "1")], 9)
    await end(store, history.task, TaskState.ERROR, error=BLAMES_CHARGE)
    before = await store.client.steps(task.id)
    with pytest.raises(IllegalTransition, match="found one that is set aside; name the step that took its place"):
        await repair(store, task, step="charge/1~1", input=b"[3]")
    assert await store.client.steps(task.id) == before


async def test_an_edited_input_is_refused_once_undo_has_begun(world: World, store: Store) -> None:
    """The attempt in doubt is what the failed undo is for: under another generation it would be forgotten."""
    task = await claimed(world, store)
    fields = {"state": StepState.FAILED, "error": FAILED, "attempt": 1, "in_doubt": True, "started_at": 4.0}
    await add_steps(store, task, step(task, "charge/1", 1, **fields, has_undo=True, input=b"[1]", finished_at=5.0))
    await add_steps(store, task, step(task, "charge/1~undo", 1, **fields, kind=StepKind.UNDO, finished_at=6.0))
    await end(store, task, TaskState.ERROR, undo_to=TaskState.UNDONE, error=BLAMES_CHARGE)
    before = await store.client.steps(task.id)
    for doubt in (None, Doubt.UNDO, Doubt.DID_NOT_HAPPEN):
        with pytest.raises(IllegalTransition, match="expected no edited input once the task's undo has begun"):
            await repair(store, task, step="charge/1", input=b"[2]", doubt=doubt)
    assert await store.client.steps(task.id) == before
    found = await repair(store, task)
    assert (found["charge/1"].generation, found["charge/1"].in_doubt) == (0, True)
    assert found["charge/1~undo"].state is StepState.TO_REPEAT


async def test_a_child_that_was_undone_is_started_again(world: World, store: Store) -> None:
    task = await claimed(world, store)
    child = world.task(f"{task.id}/pay/1", parent=task.uid, parent_run=1, parent_step="pay/1", input=b"[7]")
    child.uid = f"{task.uid}/1/pay/1"
    await store.client.submit([child])
    await store.client.direct(child.id, Directive(verb="undo", actor="ada"))
    (claimed_child,) = await store.scheduler.claim("s1", [("order", "1")], 9)
    await end(store, claimed_child.task, TaskState.UNDONE, undo_to=TaskState.UNDONE)
    waits = {"kind": StepKind.CHILD, "state": StepState.FAILED, "error": FAILED, "ordinal": 1, "finished_at": 5.0}
    await add_steps(store, task, step(task, "pay/1", 1, **waits | {"attempt": 1, "started_at": 1.0, "input": b"[7]"}))
    await end(store, task, TaskState.ERROR, error=b'{"message":"no","step":"pay/1"}')
    found = await repair(store, task)
    again = await store.client.task(f"{task.id}/pay/1#1")
    assert again is not None
    assert (again.uid, again.state, again.input) == (f"{child.uid}#1", TaskState.PENDING, b"[7]")
    assert (again.parent_step, found["pay/1"].state, found["pay/1"].generation) == ("pay/1#1", StepState.RUNNING, 1)
    assert found["pay/1~1"].state is StepState.UNDONE


async def test_failed_children_are_repeated_and_what_came_of_them_is_dropped(world: World, store: Store) -> None:
    task = await claimed(world, store)
    children = []
    for number in (1, 2, 3):
        child = world.task(f"{task.id}/pay/{number}", parent=task.uid, parent_run=1, parent_step=f"pay/{number}")
        child.uid = f"{task.uid}/1/pay/{number}"
        children.append(child)
    await store.client.submit(children)
    held = {history.task.id: history.task for history in await store.scheduler.claim("s1", [("order", "1")], 9)}
    waits = {"kind": StepKind.CHILD, "started_at": 1.0, "agent": None}
    told = {"state": StepState.FAILED, "error": FAILED, "ordinal": 1, "asked": 3, "finished_at": 5.0}
    await add_steps(
        store,
        task,
        step(task, "pay/1", 1, **waits, **told),
        step(task, "pay/2", 2, **waits),
        step(task, "pay/3", 3, **waits, state=StepState.COMPLETED, output=DONE, ordinal=2, asked=3, finished_at=6.0),
    )
    await end(store, task, TaskState.ERROR, error=b'{"message":"no","step":"pay/1"}')
    for child in children:
        after = TaskState.PROCESSED if child is children[2] else TaskState.ERROR
        late = Post(task=task.uid, kind=InboxKind.CHILD, name="1/pay/2", body=b'{"state":"error"}')
        change = Change(task=child.uid, move=move(held[child.id], after), posts=[late] if child is children[1] else [])
        assert (await store.scheduler.commit("s1", [change], None)).missed == {}
    await store.client.direct(task.id, Directive(verb="resubmit", actor="ada", failed_children=True))
    found = {each.key: each for each in await store.client.steps(task.id)}
    assert [(found[f"pay/{n}"].state, found[f"pay/{n}"].attempt) for n in (1, 2, 3)] == [
        (StepState.RUNNING, 2),
        (StepState.RUNNING, 2),
        (StepState.COMPLETED, 1),
    ]
    assert [(await read(store, child)).state for child in children] == [TaskState.PENDING] * 2 + [TaskState.PROCESSED]
    histories = await store.scheduler.claim("s1", [("order", "1")], 9)
    assert {history.task.id: history.inbox for history in histories}[task.id] == []
    (act,) = await store.operators.audits(task.id, 9)
    assert msgspec.json.decode(act.details)["failed_children"] is True


@pytest.mark.parametrize(
    ("ended", "undo_to", "named", "after"),
    [
        (TaskState.ERROR, TaskState.UNDONE, "pay/1", TaskState.UNDOING),
        (TaskState.ERROR, None, "pay/1", TaskState.ERROR),
        (TaskState.ERROR, None, None, TaskState.ERROR),
        (TaskState.UNDONE, TaskState.UNDONE, "pay/1", TaskState.UNDONE),
        (TaskState.PROCESSED, None, "pay/1", TaskState.PROCESSED),
    ],
)
async def test_no_child_goes_forward_again_once_undo_has_begun(
    world: World, store: Store, ended: TaskState, undo_to: TaskState | None, named: str | None, after: TaskState
) -> None:
    """A child whose own undo failed goes on with it; every other is left to the undo of its parent."""
    task = await claimed(world, store)
    child = world.task(f"{task.id}/pay/1", parent=task.uid, parent_run=1, parent_step="pay/1")
    child.uid = f"{task.uid}/1/pay/1"
    await store.client.submit([child])
    (held,) = await store.scheduler.claim("s1", [("order", "1")], 9)
    if undo_to is not None:
        await end(store, held.task, TaskState.UNDOING, undo_to=undo_to)
        held.task.state = TaskState.UNDOING
    await end(store, held.task, ended, undo_to=undo_to, error=b"{}")
    waited = {"kind": StepKind.CHILD, "state": StepState.FAILED, "error": FAILED, "in_doubt": True, "started_at": 1.0}
    await add_steps(store, task, step(task, "pay/1", 1, **waited, finished_at=5.0))
    await end(store, task, TaskState.ERROR, undo_to=TaskState.UNDONE, error=b'{"type":"UndoFailed","step":"ship/1"}')
    before = await store.client.steps(task.id)
    await store.client.direct(task.id, Directive(verb="resubmit", actor="ada", step=named))
    assert await store.client.steps(task.id) == before
    assert (await read(store, child)).state is after
    assert await store.client.task(f"{child.id}#1") is None
    histories = await store.scheduler.claim("s1", [("order", "1")], 9)
    assert {history.task.id: history.inbox for history in histories}[task.id] == []


async def test_what_a_repair_set_aside_counts_no_more_in_a_tally(world: World, store: Store) -> None:
    task = await in_error(world, store, failed(), done("refund/1", 2), done("note/1", 1))
    assert await store.client.tallies([task.uid], ["note/1", "other/1"]) == [Tally(task.uid, 3, 2, ["note/1"], 2)]
    await repair(store, task, later=Later.KEEP)
    assert await store.client.tallies([task.uid], []) == [Tally(task.uid, 2, 1, [], 1)]


async def test_a_tally_names_every_task_that_was_asked_for(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await add_steps(store, task, step(task, "a/1", 1), step(task, "b/1", 2))
    found = {tally.task: tally for tally in await store.client.tallies([task.uid, "nobody"], [])}
    assert found == {task.uid: Tally(task.uid, 2, 0, [], 0), "nobody": Tally("nobody")}


@pytest.mark.parametrize("verb", ["resubmit", "undo", "cancel"])
async def test_alerts_of_a_task_that_goes_on_are_seen_to(world: World, store: Store, verb: str) -> None:
    task = await claimed(world, store)
    raised = [Alert(kind=kind, task=task.uid, task_id=task.id, message="?") for kind in ("task_error", "in_doubt")]
    other = Alert(kind="task_error", task="another", task_id="another", message="?")
    await store.scheduler.commit("s1", [Change(task=task.uid, alerts=[*raised, other])], None)
    await end(store, task, TaskState.ERROR, error=b"{}")
    await store.client.direct(task.id, Directive(verb=verb, actor="ada"))
    left = [(alert.task, alert.kind) for alert in await store.operators.alerts(9, open_only=True)]
    assert left == [("another", "task_error"), (task.uid, "in_doubt")]


async def test_a_step_whose_undo_has_begun_is_not_done_again_beside_it(world: World, store: Store) -> None:
    """Given up, its undo failed, and the repair of another step asks for it again: under a key of its own."""
    abandoned = {"state": StepState.ABANDONED, "attempt": 1, "started_at": 3.0, "has_undo": True}
    undo = {"kind": StepKind.UNDO, "state": StepState.FAILED, "attempt": 1, "error": FAILED, "in_doubt": True}
    task = await in_error(
        world,
        store,
        failed(asked=2),
        lambda task: step(task, "beside/1", 2, **abandoned),
        lambda task: step(task, "beside/1~undo", 2, **undo),
    )
    found = await repair(store, task)
    kept, again, undoing = found["beside/1~1"], found["beside/1"], found["beside/1~1~undo"]
    assert (kept.state, kept.generation, kept.attempt) == (StepState.ABANDONED, 0, 1)
    assert (again.state, again.generation) == (StepState.TO_REPEAT, 1)
    assert undoing.state is StepState.TO_REPEAT
    assert "beside/1~undo" not in found
