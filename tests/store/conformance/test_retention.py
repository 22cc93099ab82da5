from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from stepward.model.records import Alert, Task
from stepward.model.states import StepKind, StepState, TaskState
from stepward.settings.readers import retention_rules
from stepward.store.contract import Change, Directive, Outlived, Purged, Store
from stepward.store.contract.by_subject.retention import BATCH_ROWS, PAGE_BYTES, PAGE_ROWS
from stepward.supervisor.retention import purging_by_rules
from stepward.supervisor.retention_rules import old_tasks
from tests.store.conformance.world import (
    START,
    World,
    add_steps,
    audit,
    claimed,
    end,
    move,
    read,
    scheduler,
    step,
)
from tests.store.listing import listed

FULL = Alert(kind="archive", message="no room")


@pytest.fixture
async def term(store: Store) -> int:
    term = await store.supervisor.lead("supervisor", 1000)
    assert term is not None
    return term


async def ended(world: World, store: Store, after: TaskState = TaskState.PROCESSED, **fields: Any) -> Task:
    """A task that ended just now."""
    task = await claimed(world, store, **fields)
    await end(store, task, after, at=store.now())
    return await read(store, task)


def outlived(*tasks: Task) -> list[Outlived]:
    return [Outlived(task.uid, task.finished_at or 0.0) for task in tasks]


async def test_what_ended_well_long_ago_is_outlived_oldest_first(world: World, store: Store) -> None:
    old, older = await claimed(world, store), await ended(world, store)
    await ended(world, store, TaskState.ERROR)
    await claimed(world, store)
    world.clock.advance(1)
    await end(store, old, TaskState.CANCELLED, at=store.now())
    world.clock.advance(100)
    await ended(world, store)
    before = store.now() - 50
    assert await store.supervisor.outlived(before, 9) == outlived(older, await read(store, old))
    assert await store.supervisor.outlived(before, 1) == outlived(older)
    assert await store.supervisor.outlived(older.finished_at or 0.0, 9) == []


@pytest.mark.parametrize("parent_ends", [None, TaskState.ERROR])
async def test_a_child_is_kept_while_undo_of_its_parent_may_need_it(
    world: World, store: Store, term: int, parent_ends: TaskState | None
) -> None:
    parent = await claimed(world, store)
    await add_steps(store, parent, step(parent, "order/1", kind=StepKind.CHILD))
    child = await ended(world, store, parent=parent.uid, parent_run=1, parent_step="order/1")
    if parent_ends is not None:
        await end(store, parent, parent_ends, at=store.now())
    world.clock.advance(9)
    assert await store.supervisor.outlived(store.now(), 9) == []
    assert await store.supervisor.purge(term, outlived(child)) == Purged(tasks=0, more=False)
    assert await store.client.task(child.id)


async def test_a_child_of_a_run_that_is_deleted_goes_before_its_parent(world: World, store: Store, term: int) -> None:
    parent = await claimed(world, store)
    child = await ended(world, store, parent=parent.uid, parent_run=1, parent_step="order/1")
    world.clock.advance(9)
    assert [each.uid for each in await store.supervisor.outlived(store.now(), 9)] == [child.uid]
    assert await store.supervisor.purge(term, outlived(child)) == Purged(tasks=1, more=False)


async def test_a_child_goes_with_its_parent(world: World, store: Store, term: int) -> None:
    parent = await claimed(world, store)
    child = await ended(world, store, parent=parent.uid, parent_run=1, parent_step="order/1")
    await end(store, parent, TaskState.PROCESSED, at=store.now())
    world.clock.advance(9)
    batch = await store.supervisor.outlived(store.now(), 9)
    assert await store.supervisor.purge(term, batch) == Purged(tasks=2, more=False)
    assert (await store.client.task(child.id), await store.client.task(parent.id)) == (None, None)


async def test_a_task_goes_with_all_that_is_its_own(world: World, store: Store, term: int) -> None:
    task, other = await claimed(world, store), await claimed(world, store)
    for each in (task, other):
        await store.client.signal(each.id, "paid", b"1", "x")
        await add_steps(store, each, step(each, state=StepState.COMPLETED))
        told = Change(task=each.uid, move=move(each, TaskState.PROCESSED, inbox=1), audits=[audit(each)])
        assert (await store.scheduler.commit("s1", [told], None)).missed == {}
    assert await store.supervisor.purge(term, outlived(await read(store, task))) == Purged(tasks=1, more=False)
    assert (await store.client.task(task.id), await store.client.steps(task.id)) == (None, [])
    uids = [task.uid, other.uid]
    assert [each.task for each in await store.supervisor.outlived_steps(uids, ("", 0, 0))] == [other.uid]
    assert [each.task for each in await store.supervisor.outlived_inbox(uids, ("", 0))] == [other.uid]
    assert [each.task for each in await store.supervisor.outlived_signals(uids, ("", "", ""))] == [other.uid]
    assert [entry.task for entry in await store.operators.audits(None, 9)] == [other.uid, task.uid]


async def test_what_changed_since_it_was_read_stays(world: World, store: Store, term: int) -> None:
    reopened, again, mended = [await ended(world, store) for _ in range(3)]
    world.clock.advance(100)
    batch = await store.supervisor.outlived(store.now(), 9)
    assert await store.supervisor.unchanged(batch)
    await store.client.direct(reopened.id, Directive(verb="undo", actor="ada"))
    await store.client.direct(again.id, Directive(verb="undo", actor="ada"))
    assert not await store.supervisor.unchanged(batch)
    held = {found.task.uid: found.task for found in await store.scheduler.claim("s1", [("order", "1")], 9)}
    await end(store, held[again.uid], TaskState.UNDONE, at=store.now(), undo_to=TaskState.UNDONE)
    assert await store.supervisor.purge(term, batch) == Purged(tasks=1, more=False)
    assert (await read(store, reopened)).state is TaskState.UNDOING
    assert (await read(store, again)).state is TaskState.UNDONE
    assert await store.client.task(mended.id) is None


async def test_a_task_in_error_is_kept_whichever_deletion_names_it(world: World, store: Store, term: int) -> None:
    failed = await ended(world, store, TaskState.ERROR)
    assert not await store.supervisor.unchanged(outlived(failed))
    assert await store.supervisor.purge(term, outlived(failed)) == Purged(tasks=0, more=False)
    assert await store.operators.purge_ended(outlived(failed), store.now(), "ada") == Purged(tasks=0, more=False)


async def test_a_term_that_is_over_deletes_nothing(world: World, store: Store, term: int) -> None:
    task = await ended(world, store)
    assert await store.supervisor.purge(term + 1, outlived(task)) == Purged(tasks=0, more=False)
    assert await store.client.task(task.id)


async def test_a_second_deletion_deletes_nothing(world: World, store: Store, term: int) -> None:
    tasks = [await ended(world, store) for _ in range(2)]
    other = await world.open()
    assert (await other.operators.purge_ended(outlived(tasks[0]), store.now(), "ada")).tasks == 1
    assert not await store.supervisor.unchanged(outlived(*tasks))
    assert await store.supervisor.purge(term, outlived(*tasks)) == Purged(tasks=1, more=False)


async def test_what_an_operator_deletes_is_audited(world: World, store: Store) -> None:
    task = await ended(world, store)
    assert await store.operators.purge_ended(outlived(task), START + 7, "ada") == Purged(tasks=1, more=False)
    assert await store.operators.purge_ended([], START + 7, "ada") == Purged(tasks=0, more=False)
    (entry,) = await store.operators.audits(None, 9)
    assert (entry.actor, entry.act, entry.details) == ("ada", "purge", b'{"tasks":1,"ended_before":1800000007.0}')


async def test_steps_are_read_in_order_page_by_page(world: World, store: Store) -> None:
    tasks = [await claimed(world, store) for _ in range(2)]
    for task in tasks:
        numbers = range(1, PAGE_ROWS)
        await add_steps(store, task, *[step(task, f"charge/{n}", n, state=StepState.COMPLETED) for n in numbers])
    uids = [task.uid for task in tasks]
    first = await store.supervisor.outlived_steps(uids, ("", 0, 0))
    assert [(each.task, each.number) for each in first[-2:]] == [(uids[0], PAGE_ROWS - 1), (uids[1], 1)]
    second = await store.supervisor.outlived_steps(uids, (uids[1], 1, 1))
    assert [each.number for each in second] == list(range(2, PAGE_ROWS))
    assert await store.supervisor.outlived_steps(uids, (uids[1], 1, PAGE_ROWS - 1)) == []


async def test_a_page_is_bounded_in_bytes_and_holds_one_row_at_least(world: World, store: Store) -> None:
    large = b'"%s"' % (b"x" * PAGE_BYTES)
    task = await claimed(world, store)
    sizes = (b"1", large, b"2", b"3")
    await add_steps(
        store,
        task,
        *[step(task, f"charge/{n}", n, state=StepState.COMPLETED, output=data) for n, data in enumerate(sizes, 1)],
    )
    pages, after = [], ("", 0, 0)
    while page := await store.supervisor.outlived_steps([task.uid], after):
        pages.append([each.number for each in page])
        after = (task.uid, 1, page[-1].number)
    assert pages == [[1, 2], [3, 4]]
    tasks = [await claimed(world, store, input=b"[%s]" % large) for _ in range(2)]
    uids = [each.uid for each in tasks]
    (first,) = await store.supervisor.outlived_tasks(uids, "")
    assert await store.supervisor.outlived_tasks(uids, first.uid) == [await read(store, tasks[1])]
    assert await store.supervisor.outlived_tasks(uids, uids[1]) == []


async def test_what_was_never_taken_is_read_page_by_page(world: World, store: Store) -> None:
    tasks = [await claimed(world, store) for _ in range(2)]
    for task in tasks:
        for name in ("b", "a"):
            await store.client.signal(task.id, name, b'"%s"' % name.encode(), name)
    uids = [task.uid for task in tasks]
    rows = await store.supervisor.outlived_inbox(uids, ("", 0))
    assert [(row.task, row.name) for row in rows] == [(uid, name) for uid in uids for name in ("b", "a")]
    assert await store.supervisor.outlived_inbox(uids, (uids[0], rows[0].number)) == rows[1:]
    seen = await store.supervisor.outlived_signals(uids, ("", "", ""))
    assert [(each.task, each.id) for each in seen] == [(uid, id) for uid in uids for id in ("a", "b")]
    assert await store.supervisor.outlived_signals(uids, (uids[0], "a", "a")) == seen[1:]


async def test_a_task_too_large_for_one_transaction_goes_in_pieces(world: World, store: Store, term: int) -> None:
    large = await claimed(world, store)
    for first in range(0, BATCH_ROWS + 100, 1_000):
        numbers = range(first, first + 1_000)
        await add_steps(store, large, *[step(large, f"charge/{n}", n, state=StepState.COMPLETED) for n in numbers])
    await end(store, large, TaskState.PROCESSED, at=store.now())
    small = await ended(world, store)
    large = await read(store, large)
    world.clock.advance(9)
    # Not all of the first was looked at: it goes alone.
    assert await store.supervisor.outlived(store.now(), 9) == outlived(large)
    assert await store.supervisor.purge(term, outlived(large)) == Purged(tasks=1, more=True)
    assert await store.client.task(large.id) is None
    assert len(await store.supervisor.outlived_steps([large.uid], ("", 0, 0))) == 1_000
    assert await store.supervisor.purge(term, outlived(small)) == Purged(tasks=1, more=False)
    assert await store.supervisor.outlived_steps([large.uid], ("", 0, 0)) == []
    assert await store.supervisor.purge(term, []) == Purged(tasks=0, more=False)


async def test_an_alert_of_one_kind_is_raised_once_until_it_is_acknowledged(store: Store, term: int) -> None:
    assert await store.supervisor.raise_alert(term, FULL)
    assert not await store.supervisor.raise_alert(term, replace(FULL, message="still no room"))
    assert await store.supervisor.raise_alert(term, Alert(kind="other", message="else"))
    (_, first) = await store.operators.alerts(9, open_only=True)
    assert (first.kind, first.message, first.at) == ("archive", "no room", store.now())
    await store.operators.acknowledge(first.number, "ada")
    assert not await store.supervisor.raise_alert(term + 1, FULL)
    assert await store.supervisor.raise_alert(term, FULL)


@pytest.mark.parametrize(
    ("age", "rules", "left"),
    [
        (50.0, "", set()),
        (None, "order/cancelled=50s", {"order/processed", "other/processed", "other/cancelled"}),
        (50.0, "order=never", {"order/processed", "order/cancelled"}),
        (50.0, "*/cancelled=1d", {"order/cancelled", "other/cancelled"}),
        (None, "*/cancelled=50s,order=never", {"order/processed", "order/cancelled", "other/processed"}),
        (50.0, "order=never,order/cancelled=50s", {"order/processed"}),
    ],
)
async def test_rules_say_how_long_tasks_of_a_workflow_and_state_are_kept(
    world: World, store: Store, term: int, age: float | None, rules: str, left: set[str]
) -> None:
    await scheduler(store, "s2", serves="other@1")
    for workflow, instance in (("order", "s1"), ("other", "s2")):
        for after in (TaskState.PROCESSED, TaskState.CANCELLED, TaskState.ERROR):
            task = await claimed(world, store, instance, id=f"{workflow}/{after}".replace("/", "."), workflow=workflow)
            await end(store, task, after, instance, at=store.now())
    world.clock.advance(100)
    young = await ended(world, store)
    purge = partial(store.supervisor.purge, term)
    conditions = old_tasks(age, retention_rules(rules, "rules") or (), store.now())
    async for _ in purging_by_rules(store.supervisor, None, conditions, purge):
        pass
    kept = {task.id.replace(".", "/") for task in await listed(store) if task.id != young.id}
    assert kept == left | {"order/error", "other/error"}
