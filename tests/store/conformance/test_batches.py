"""Batches: each piece is one commit of acts and cursor, every task is asked at most once, and never out of scope."""

from __future__ import annotations

from typing import Any

import pytest

from stepward.errors import BatchNotFound, IllegalTransition
from stepward.model.records import Task
from stepward.model.states import TaskState
from stepward.store.contract import Batch, BatchParameters, BatchPiece, BatchState, BatchVerb, Directive, Store
from stepward.store.rules.batches import next_search
from stepward.store.verbs.actors import supervisor as supervisor_verbs
from tests.store.conformance.world import World, read


@pytest.fixture
async def term(store: Store) -> int:
    term = await store.supervisor.lead("supervisor", 1000)
    assert term is not None
    return term


async def tasks(world: World, store: Store, count: int, **fields: Any) -> list[Task]:
    made = [world.task(**fields) for _ in range(count)]
    await store.client.submit(made)
    return made


async def started(store: Store, verb: BatchVerb = BatchVerb.SUSPEND, **fields: Any) -> Batch:
    now = store.now()
    usual: dict[str, Any] = {"id": "b", "filter": "state = 'pending'", "actor": "ada", "rate": 1000.0}
    usual |= {"as_of": now, "matched": 3, "is_exact": True, "next_at": now - 1, "created_at": now}
    batch = Batch(verb=verb, **usual | fields)
    await store.operators.start_batch(batch)
    return batch


async def advanced(store: Store, term: int) -> BatchPiece:
    (batch,) = await store.supervisor.running_batches(9)
    piece = await store.supervisor.advance_batch(term, batch)
    assert piece is not None
    return piece


async def states(store: Store, tasks: list[Task]) -> list[str]:
    return [(await read(store, task)).state.value for task in tasks]


async def test_a_batch_is_kept_as_it_was_started(store: Store) -> None:
    said = BatchParameters(step="pay/1", input='["x"]', complete_seconds=60.0, priority=3)
    batch = await started(
        store, BatchVerb.RESUBMIT, parameters=said, workflows=["order"], labels={"a": "b"}, reason="r"
    )
    assert await store.operators.batch("b") == batch
    assert await store.operators.batches(9) == [batch]
    assert await store.operators.batch("other") is None


async def test_it_asks_the_oldest_first_and_is_done_behind_the_last(world: World, store: Store, term: int) -> None:
    made = await tasks(world, store, 3)
    await started(store, next_at=store.now(), rate=2.0)
    assert (await advanced(store, term)).acts == 1
    assert await states(store, made) == ["suspended", "pending", "pending"]
    assert (await advanced(store, term)).acts == 0
    world.clock.advance(1.6)
    piece = await advanced(store, term)
    assert (piece.acts, piece.batch.done, piece.batch.state) == (2, 3, BatchState.DONE)
    assert piece.batch.finished_at == store.now()
    assert await store.supervisor.running_batches(9) == []
    assert await store.operators.batch("b") == piece.batch


async def test_a_task_is_asked_once_even_if_it_fulfils_the_filter_again(world: World, store: Store, term: int) -> None:
    (first, second) = await tasks(world, store, 2)
    await started(store, rate=1.0, next_at=store.now())
    await advanced(store, term)
    await store.client.direct(first.id, Directive(verb="resume", actor="ada"))
    world.clock.advance(60)
    assert (await advanced(store, term)).batch.state is BatchState.DONE
    assert await states(store, [first, second]) == ["pending", "suspended"]


async def test_unused_rate_is_kept_for_a_second_at_most(world: World, store: Store, term: int) -> None:
    await tasks(world, store, 30)
    await started(store, rate=10.0)
    world.clock.advance(60)
    assert (await advanced(store, term)).acts == 11


async def test_a_task_that_refuses_keeps_no_other_from_it(world: World, store: Store, term: int) -> None:
    made = await tasks(world, store, 3)
    await store.client.direct(made[1].id, Directive(verb="suspend", actor="ada"))
    await started(store, BatchVerb.RESUME, filter="created <= now")
    piece = await advanced(store, term)
    assert (piece.batch.done, piece.batch.refused, piece.batch.state) == (1, 2, BatchState.DONE)
    assert [each.task for each in piece.batch.refusals] == [made[0].id, made[2].id]
    assert "expected a task that is suspended" in piece.batch.refusals[0].why
    assert await states(store, made) == ["pending"] * 3


async def test_only_tasks_in_scope_that_were_submitted_by_then_are_asked(world: World, store: Store, term: int) -> None:
    (other,) = await tasks(world, store, 1, workflow="other", labels=b'{"shop":"north"}')
    (south,) = await tasks(world, store, 1, labels=b'{"shop":"south"}')
    (north,) = await tasks(world, store, 1, labels=b'{"shop":"north"}')
    await started(store, workflows=["order"], labels={"shop": "north"})
    (later,) = await tasks(world, store, 1, labels=b'{"shop":"north"}')
    assert (await advanced(store, term)).batch.done == 1
    assert await states(store, [other, south, north, later]) == ["pending", "pending", "suspended", "pending"]


async def test_what_no_longer_fulfils_the_filter_when_it_is_locked_is_left_alone(
    world: World, store: Store, term: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (task,) = await tasks(world, store, 1)
    batch = await started(store, BatchVerb.CANCEL)
    found = await store.operators.tasks(next_search(batch, 9))
    await store.client.direct(task.id, Directive(verb="suspend", actor="ada"))

    async def stale(*_: Any) -> Any:
        return found

    monkeypatch.setattr(supervisor_verbs, "found_tasks", stale)
    piece = await store.supervisor.advance_batch(term, batch)
    assert piece is not None
    assert (piece.acts, piece.batch.done, piece.batch.state) == (0, 0, BatchState.DONE)
    assert (await read(store, task)).state is TaskState.SUSPENDED


async def test_a_piece_that_another_has_done_is_not_done_again(world: World, store: Store, term: int) -> None:
    made = await tasks(world, store, 2)
    batch = await started(store, rate=1.0, next_at=store.now())
    assert await store.supervisor.advance_batch(term, batch) is not None
    await store.client.direct(made[0].id, Directive(verb="resume", actor="ada"))
    assert await store.supervisor.advance_batch(term, batch) is None
    assert await states(store, made) == ["pending", "pending"]


async def test_who_leads_no_more_asks_nothing(world: World, store: Store, term: int) -> None:
    made = await tasks(world, store, 1)
    batch = await started(store)
    assert await store.supervisor.advance_batch(term + 1, batch) is None
    assert await states(store, made) == ["pending"]


async def test_it_is_paused_resumed_paced_and_stopped(world: World, store: Store, term: int) -> None:
    await tasks(world, store, 2)
    batch = await started(store, rate=1.0, next_at=store.now())
    paused = await store.operators.steer_batch("b", "pause", "bob")
    assert paused.state is BatchState.PAUSED
    assert await store.supervisor.running_batches(9) == []
    assert await store.supervisor.advance_batch(term, batch) is None
    with pytest.raises(IllegalTransition, match=r"pause of batch b: expected it running, found it paused"):
        await store.operators.steer_batch("b", "pause", "bob")
    assert (await store.operators.steer_batch("b", "pace", "bob", 5.0)).rate == 5.0
    assert (await store.operators.steer_batch("b", "resume", "bob")).state is BatchState.RUNNING
    stopped = await store.operators.steer_batch("b", "stop", "bob")
    assert (stopped.state, stopped.finished_at) == (BatchState.STOPPED, store.now())
    with pytest.raises(BatchNotFound):
        await store.operators.steer_batch("other", "stop", "bob")
    acts = [(each.act, each.actor) for each in reversed(await store.operators.audits(None, 9))]
    assert acts == [("start", "ada"), ("pause", "bob"), ("pace", "bob"), ("resume", "bob"), ("stop", "bob")]


async def test_each_act_is_audited_in_the_name_of_the_actor_of_the_batch(world: World, store: Store, term: int) -> None:
    (task,) = await tasks(world, store, 1)
    await started(store)
    await advanced(store, term)
    (act,) = await store.operators.audits(task.id, 9)
    assert (act.actor, act.act, act.details) == ("ada", "suspend", b'{"batch":"b"}')
    assert [each.act for each in await store.operators.audits(None, 9)] == ["finish", "suspend", "start"]


async def test_a_resubmission_gives_each_task_a_new_end_and_priority(world: World, store: Store, term: int) -> None:
    (task,) = await tasks(world, store, 1, state=TaskState.ERROR, finished_at=1.0, error=b'{"type":"Bug"}', priority=5)
    said = BatchParameters(complete_seconds=60.0, priority=9)
    await started(store, BatchVerb.RESUBMIT, filter="state = 'error'", parameters=said)
    assert (await advanced(store, term)).batch.done == 1
    found = await read(store, task)
    assert (found.state, found.priority) == (TaskState.PENDING, 9)
    assert found.deadline == pytest.approx(store.now() + 60, abs=1)


async def test_due_counts_batches_that_run(store: Store, term: int) -> None:
    assert (await store.supervisor.due()).batches == 0
    await started(store)
    assert (await store.supervisor.due()).batches == 1
