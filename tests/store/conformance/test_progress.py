"""Progress that Agents report is on the row of the attempt, whichever instance receives it."""

from __future__ import annotations

from typing import Any

import pytest

from stepward.model.messages.requests import Progress
from stepward.model.records import Task
from stepward.model.states import StepState
from stepward.store.contract import Change, Dispatch, StepMove, Store
from tests.store.conformance.world import START, World, add_steps, claimed, finish, read, read_step, step


def word(task: Task, progress: bytes = b"1", **fields: Any) -> Progress:
    usual: dict[str, Any] = {"run": 1, "key": "charge/1", "attempt": 1, "at": START + 1}
    return Progress(task=task.uid, progress=progress, **usual | fields)


@pytest.fixture
async def task(world: World, store: Store) -> Task:
    """A task with a running step; the clock stands a minute later."""
    task = await claimed(world, store)
    await add_steps(store, task, step(task, started_at=START))
    world.clock.advance(60)
    return task


async def kept(store: Store, task: Task) -> tuple[bytes | None, float | None]:
    found = await read_step(store, task)
    return found.progress, found.progress_at


async def test_the_last_word_stands(world: World, store: Store, task: Task) -> None:
    before = await read(store, task)
    other = await world.open()
    assert await other.scheduler.note_progress([word(task, b'{"page":3}')]) == {(task.uid, 1, "charge/1")}
    assert await kept(store, task) == (b'{"page":3}', START + 1)
    await store.scheduler.note_progress([word(task, b"2", at=START + 3)])
    await store.scheduler.note_progress([word(task, b"9", at=START + 2)])
    assert await kept(store, task) == (b"2", START + 3)
    # It is no change of the task: no event is sent, and nothing moves.
    assert await read(store, task) == before
    assert await store.scheduler.read_inbox("s1", 0) == []


@pytest.mark.parametrize("fields", [{"attempt": 2}, {"key": "none/1"}, {"run": 2}, {"task": "none"}])
async def test_progress_of_another_step_changes_nothing(store: Store, task: Task, fields: dict[str, Any]) -> None:
    told = {name: getattr(word(task), name) for name in Progress.__struct_fields__}
    await store.scheduler.note_progress([Progress(**told | fields)])
    assert await kept(store, task) == (None, None)


async def test_progress_of_an_attempt_that_is_over_changes_nothing(store: Store, task: Task) -> None:
    change = Change(task=task.uid, finishes=[finish(await read_step(store, task))])
    assert (await store.scheduler.commit("s1", [change], None)).missed == {}
    await store.scheduler.note_progress([word(task)])
    assert await kept(store, task) == (None, None)


async def test_what_a_fast_clock_tells_is_of_now(store: Store, task: Task) -> None:
    await store.scheduler.note_progress([word(task, at=START + 9_999)])
    progress, at = await kept(store, task)
    assert progress == b"1"
    assert at == pytest.approx(store.now(), abs=1)


async def test_the_next_attempt_begins_with_the_last_ones_progress(world: World, store: Store, task: Task) -> None:
    await store.scheduler.note_progress([word(task, b'"half"', at=START + 50)])
    moved = StepMove(task.uid, 1, "charge/1", StepState.RUNNING, StepState.TO_REPEAT, START)
    started = Dispatch(task.uid, 1, "charge/1", 2, store.now(), None)
    for change in (Change(task=task.uid, step_moves=[moved]), Change(task=task.uid, dispatches=[started])):
        assert (await store.scheduler.commit("s1", [change], None)).missed == {}
    (history,) = await store.scheduler.load("s1", [task.uid])
    assert history.steps[0].progress == b'"half"'
    # A host whose clock is behind reports an earlier instant: it is written all the same.
    await store.scheduler.note_progress([word(task, b'"more"', attempt=2, at=START + 49)])
    assert (await kept(store, task))[0] == b'"more"'


async def test_many_words_are_written_together(world: World, store: Store) -> None:
    task = await claimed(world, store)
    keys = [f"charge/{n}" for n in range(1, 201)]
    await add_steps(store, task, *[step(task, key, n) for n, key in enumerate(keys, 1)])
    words = [word(task, b"%d" % n, key=key) for n, key in enumerate(keys)]
    assert len(await store.scheduler.note_progress(words)) == 200
    assert [found.progress for found in await store.client.steps(task.id)] == [b"%d" % n for n in range(200)]
