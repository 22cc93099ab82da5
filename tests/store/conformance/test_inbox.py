from __future__ import annotations

import asyncio

import pytest

from stepward.errors import IllegalTransition, InboxFull, TaskNotFound
from stepward.model.records import InboxKind, Task
from stepward.model.states import TaskState
from stepward.store.contract import OVERTAKEN, Change, Post, Store
from stepward.store.rules import inbox_rules
from tests.store.conformance.world import SERVED, World, claimed, end, ids, move, read, scheduler


async def post(store: Store, task: Task, kind: InboxKind, body: bytes = b"null") -> None:
    """Post from a task that posts and nothing else."""
    change = Change(task="sender", posts=[Post(task=task.uid, kind=kind, name="1/pay/1", body=body, sender="me")])
    assert (await store.scheduler.commit("s1", [change], None)).missed == {}


async def released(world: World, store: Store, **fields: object) -> Task:
    """A task that sleeps without an owner."""
    task = await claimed(world, store)
    let_go = move(task, TaskState.WAITING, release=True, **fields)
    await store.scheduler.commit("s1", [Change(task=task.uid, move=let_go)], None)
    return await read(store, task)


async def test_a_signal_reaches_the_owner_in_order(world: World, store: Store) -> None:
    task, other = await claimed(world, store), await claimed(world, store)
    for name in ("a", "b"):
        assert await store.client.signal(task.id, name, b'"x"', None)
    await store.client.signal(other.id, "c", b"1", None)
    rows = await store.scheduler.read_inbox("s1", 0)
    assert [(row.task, row.kind, row.name) for row in rows] == [
        (task.uid, InboxKind.SIGNAL, "a"),
        (task.uid, InboxKind.SIGNAL, "b"),
        (other.uid, InboxKind.SIGNAL, "c"),
    ]
    assert await store.scheduler.read_inbox("s1", rows[0].number) == rows[1:]
    (history,) = await store.scheduler.load("s1", [task.uid])
    assert (history.inbox, history.task.inbox) == (rows[:2], 2)


async def test_an_instance_reads_only_its_own_tasks_inboxes(world: World, store: Store) -> None:
    await scheduler(store, "s2")
    task = await claimed(world, store, "s2")
    await store.client.signal(task.id, "a", b"1", None)
    assert await store.scheduler.read_inbox("s1", 0) == []
    assert len(await store.scheduler.read_inbox("s2", 0)) == 1


async def test_numbers_are_never_used_again(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await store.client.signal(task.id, "a", b"1", None)
    (first,) = await store.scheduler.read_inbox("s1", 0)
    used_up = Change(task=task.uid, taken=[first.number])
    assert (await store.scheduler.commit("s1", [used_up], None)).missed == {}
    await store.client.signal(task.id, "b", b"1", None)
    (second,) = await store.scheduler.read_inbox("s1", first.number)
    assert second.name == "b"
    assert "gone" in (await store.scheduler.commit("s1", [used_up], None)).missed[task.uid]


async def test_a_signal_with_an_id_counts_once_per_name(world: World, store: Store) -> None:
    task, other = await claimed(world, store), await claimed(world, store)
    assert await store.client.signal(task.id, "paid", b"1", "x")
    assert not await store.client.signal(task.id, "paid", b"1", "x")
    assert await store.client.signal(task.id, "sent", b"1", "x")
    assert await store.client.signal(other.id, "paid", b"1", "x")
    assert (await read(store, task)).inbox == 2


async def test_a_signal_is_audited_under_the_name_of_who_gives_it_alone(world: World, store: Store) -> None:
    task = await claimed(world, store)
    before = len(await store.operators.audits(task.id, 9))
    assert await store.client.signal(task.id, "paid", b"1", "x")
    assert len(await store.operators.audits(task.id, 9)) == before
    assert not await store.client.signal(task.id, "paid", b"1", "x", "ada")
    assert await store.client.signal(task.id, "paid", b"1", "y", "ada")
    (entry, *rest) = await store.operators.audits(task.id, 9)
    assert (entry.actor, entry.act, entry.task, entry.before) == ("ada", "signal", task.uid, TaskState.PROCESSING)
    assert (entry.details, len(rest)) == (b'{"signal":"paid","id":"y"}', before)


async def test_a_signal_needs_a_task_that_goes_on(world: World, store: Store) -> None:
    with pytest.raises(TaskNotFound, match="nobody"):
        await store.client.signal("nobody", "paid", b"1", None)
    task = await claimed(world, store)
    await end(store, task, TaskState.PROCESSED)
    with pytest.raises(IllegalTransition, match="processed"):
        await store.client.signal(task.id, "paid", b"1", "x")
    assert (await read(store, task)).inbox == 0


async def test_a_row_wakes_a_task_that_sleeps_without_an_owner(world: World, store: Store) -> None:
    task = await released(world, store, wake_at=store.now() + 500)
    assert await store.scheduler.claim("s1", SERVED, 9) == []
    await store.client.signal(task.id, "paid", b"1", None)
    (history,) = await store.scheduler.claim("s1", SERVED, 9)
    assert (history.task.id, [row.name for row in history.inbox]) == (task.id, ["paid"])


async def test_a_signal_does_not_start_a_delayed_task_but_its_failing_does(world: World, store: Store) -> None:
    task = world.task(wake_at=store.now() + 500)
    await store.client.submit([task])
    await store.client.signal(task.id, "paid", b"1", None)
    assert await store.scheduler.claim("s1", SERVED, 9) == []
    await post(store, task, InboxKind.FAIL)
    assert ids(await store.scheduler.claim("s1", SERVED, 9)) == [task.id]


async def test_a_childs_end_and_its_parents_release_meet_in_one_commit(world: World, store: Store) -> None:
    parent, child = await claimed(world, store), await claimed(world, store)
    told = Post(task=parent.uid, kind=InboxKind.CHILD, name="1/child/1", body=b"{}", sender=child.id)
    changes = [
        Change(task=child.uid, move=move(child, TaskState.PROCESSED), posts=[told]),
        Change(task=parent.uid, move=move(parent, TaskState.WAITING, release=True)),
    ]
    assert (await store.scheduler.commit("s1", changes, None)).missed == {}
    assert ids(await store.scheduler.claim("s1", SERVED, 9)) == [parent.id]


async def test_posts_hold_back_until_the_rest_is_in_when_a_change_misses(world: World, store: Store) -> None:
    parent, child, broken = [await claimed(world, store) for _ in range(3)]
    told = Post(task=parent.uid, kind=InboxKind.CHILD, name="1/child/1")
    changes = [
        Change(task=child.uid, move=move(child, TaskState.PROCESSED), posts=[told]),
        Change(task=broken.uid, taken=[99]),
        Change(task=parent.uid, move=move(parent, TaskState.WAITING, release=True)),
    ]
    assert list((await store.scheduler.commit("s1", changes, None)).missed) == [broken.uid]
    assert ids(await store.scheduler.claim("s1", SERVED, 9)) == [parent.id]


@pytest.mark.parametrize("kind", [InboxKind.STEP, InboxKind.CANCEL, InboxKind.FAIL, InboxKind.SIGNAL])
async def test_a_row_for_a_task_that_ended_is_dropped(world: World, store: Store, kind: InboxKind) -> None:
    task = await claimed(world, store)
    await end(store, task, TaskState.PROCESSED)
    before = await read(store, task)
    await post(store, task, kind)
    assert await read(store, task) == before


@pytest.mark.parametrize(("after", "kept"), [(TaskState.ERROR, 1), (TaskState.PROCESSED, 1), (TaskState.UNDONE, 0)])
async def test_a_childs_end_is_kept_for_a_parent_that_may_be_reopened(
    world: World, store: Store, after: TaskState, kept: int
) -> None:
    task = await claimed(world, store)
    await end(store, task, after, undo_to=TaskState.UNDONE if after is TaskState.UNDONE else None)
    await post(store, task, InboxKind.CHILD)
    assert (await read(store, task)).inbox == kept


async def test_a_processed_task_is_undone_by_a_post(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await end(store, task, TaskState.PROCESSED)
    await post(store, task, InboxKind.UNDO)
    found = await read(store, task)
    assert (found.state, found.undo_to, found.finished_at) == (TaskState.UNDOING, TaskState.UNDONE, None)
    assert ids(await store.scheduler.claim("s1", SERVED, 9)) == [task.id]


async def test_a_directive_posted_to_a_free_task_is_in_force_at_once(world: World, store: Store) -> None:
    task = await released(world, store)
    await post(store, task, InboxKind.CANCEL, b'{"message":"late"}')
    found = await read(store, task)
    assert (found.state, found.undo_to) == (TaskState.UNDOING, TaskState.CANCELLED)
    assert found.error == b'{"message":"late"}'


async def test_a_directive_posted_to_a_held_task_waits_for_its_owner(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await post(store, task, InboxKind.CANCEL)
    assert (await read(store, task)).state is TaskState.PROCESSING
    assert [row.kind for row in await store.scheduler.read_inbox("s1", 0)] == [InboxKind.CANCEL]


async def test_an_end_that_something_overtook_says_so_and_fits_once_that_is_read(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await store.client.signal(task.id, "a", b"1", None)
    ending = Change(task=task.uid, move=move(task, TaskState.PROCESSED))
    assert (await store.scheduler.commit("s1", [ending], None)).missed == {task.uid: OVERTAKEN}
    ending = Change(task=task.uid, move=move(task, TaskState.PROCESSED, inbox=1))
    assert (await store.scheduler.commit("s1", [ending], None)).missed == {}


async def test_a_move_from_another_state_is_no_overtaking(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await store.client.signal(task.id, "a", b"1", None)
    wrong = Change(task=task.uid, move=move(task, TaskState.PROCESSED, before=TaskState.WAITING))
    assert (await store.scheduler.commit("s1", [wrong], None)).missed[task.uid] != OVERTAKEN


async def test_an_inbox_takes_so_many_signals_and_more_once_some_are_taken(
    world: World, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox_rules, "MOST_SIGNALS", 70)
    task = await claimed(world, store)
    for _ in range(70):
        await store.client.signal(task.id, "a", b"1", None)
    for _ in range(2):
        with pytest.raises(InboxFull, match="found 71 "):
            await store.client.signal(task.id, "a", b"1", "again")
    (first, *_) = await store.scheduler.read_inbox("s1", 0)
    assert (await store.scheduler.commit("s1", [Change(task=task.uid, taken=[first.number])], None)).missed == {}
    assert await store.client.signal(task.id, "a", b"1", "again")


async def at_one_time(store: Store, *signals: tuple[str, str, str | None, str | None]) -> list[bool | BaseException]:
    """Signals by task, name, id and actor."""
    calls = (store.client.signal(id, name, b"1", signal, actor) for id, name, signal, actor in signals)
    return await asyncio.gather(*calls, return_exceptions=True)


async def test_signals_at_one_time_have_an_outcome_each(world: World, store: Store) -> None:
    task, other = await claimed(world, store), await claimed(world, store)
    before = len(await store.operators.audits(task.id, 99))
    signals = [(task.id, f"n{number}", None, None) for number in range(20)]
    named = [(task.id, "paid", "x", "ada"), (task.id, "paid", "x", "ada"), (other.id, "paid", "x", None)]
    found = await at_one_time(store, *signals, *named)
    assert found[:20] == [True] * 20
    assert sorted(map(bool, found[20:22])) == [False, True]
    assert found[22] is True
    rows = [row.name for row in await store.scheduler.read_inbox("s1", 0) if row.task == task.uid]
    assert rows == [name for _, name, *_ in [*signals, named[0]]]
    assert [(await read(store, each)).inbox for each in (task, other)] == [21, 1]
    assert len(await store.operators.audits(task.id, 99)) == before + 1


async def test_a_refused_signal_takes_no_other_along(world: World, store: Store) -> None:
    task, over = await claimed(world, store), await claimed(world, store)
    await end(store, over, TaskState.PROCESSED)
    asked = [
        (task.id, "a", None),
        (over.id, "b", "x"),
        ("nobody", "c", None),
        (task.id, "d", "y"),
        (task.id, "e", None),
    ]
    found = await at_one_time(store, *((*each, None) for each in asked))
    assert [type(each) for each in found] == [bool, IllegalTransition, TaskNotFound, bool, bool]
    assert sorted(row.name for row in await store.scheduler.read_inbox("s1", 0)) == ["a", "d", "e"]


async def test_signals_at_one_time_fill_an_inbox_to_its_bound(
    world: World, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox_rules, "MOST_SIGNALS", 70)
    task = await claimed(world, store)
    found = await at_one_time(store, *((task.id, "a", None, None) for _ in range(75)))
    assert [type(each) for each in found].count(InboxFull) == 5
    assert (await read(store, task)).inbox == 70
