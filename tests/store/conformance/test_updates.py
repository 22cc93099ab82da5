"""Updates that tasks are asked for: recorded once under their id, answered once, with the change that answers."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from stepward.errors import IllegalTransition, InboxFull, TaskChanged, TaskConflict, TaskNotFound
from stepward.model.records import Task
from stepward.model.states import TaskState
from stepward.model.tasks.updates import UpdateAnswer, rejection
from stepward.store.contract import ANSWER_SECONDS, Change, Store, Trim, UpdateAct, UpdateRow, UpdateState
from stepward.store.rules import inbox_rules
from tests.store.conformance.world import World, claimed, end, finish, scheduler, step


def act(task: Task, id: str = "u1", name: str = "address", **fields: Any) -> UpdateAct:
    return UpdateAct(task.id, id, name, b'{"id":"%s","value":1}' % id.encode(), **fields)


def answering(task: Task, *answers: UpdateAnswer, at: float = 5.0) -> Change:
    change = Change(task=task.uid)
    change.answer(answers, at)
    return change


def accepted(id: str = "u1", body: bytes = b'"done"') -> UpdateAnswer:
    return UpdateAnswer(id, is_accepted=True, body=body)


async def found(store: Store, task: Task, id: str = "u1") -> UpdateRow:
    row = await store.client.update(task.uid, id)
    assert row is not None
    return row


async def test_an_update_is_recorded_and_comes_into_the_inbox(world: World, store: Store) -> None:
    task = await claimed(world, store)
    assert await store.client.update(task.uid, "u1") is None
    asked = await store.client.ask_update(act(task))
    assert (asked.state, asked.name, asked.answer, asked.answered_at) == (UpdateState.ASKED, "address", None, None)
    assert await found(store, task) == asked
    (row,) = await store.scheduler.read_inbox("s1", 0)
    assert (row.task, row.kind, row.name, row.body) == (task.uid, "signal", "update:address", act(task).body)


async def test_an_id_that_was_asked_before_changes_nothing(world: World, store: Store) -> None:
    task, other = await claimed(world, store), await claimed(world, store)
    asked = await store.client.ask_update(act(task))
    assert await store.client.ask_update(act(task)) == asked
    await store.scheduler.commit("s1", [answering(task, accepted())], None)
    again = await store.client.ask_update(act(task))
    assert (again.state, again.answer) == (UpdateState.ACCEPTED, b'"done"')
    assert len(await store.scheduler.read_inbox("s1", 0)) == 1
    with pytest.raises(TaskConflict, match=r"update u1 of task .*: expected 'other' under that id, found 'address'"):
        await store.client.ask_update(act(task, name="other"))
    assert (await store.client.ask_update(act(other))).state is UpdateState.ASKED


async def test_of_many_that_ask_under_one_id_one_does(world: World, store: Store) -> None:
    task = await claimed(world, store)
    others = [store, await world.open(), await world.open()]
    await asyncio.gather(*(each.client.ask_update(act(task)) for each in others for _ in range(4)))
    assert len(await store.scheduler.read_inbox("s1", 0)) == 1


async def test_the_first_answer_counts(world: World, store: Store) -> None:
    task = await claimed(world, store)
    for id in ("u1", "u2"):
        await store.client.ask_update(act(task, id))
    both = answering(task, accepted(), rejection("u1", "late"), rejection("u2", "no"), at=5.0)
    assert (await store.scheduler.commit("s1", [both], None)).missed == {}
    later = answering(task, rejection("u1", "later"), accepted("u2"), accepted("unknown"), at=6.0)
    assert (await store.scheduler.commit("s1", [later], None)).missed == {}
    first, second = await found(store, task), await found(store, task, "u2")
    assert (first.state, first.answer, first.answered_at) == (UpdateState.ACCEPTED, b'"done"', 5.0)
    assert second.state is UpdateState.REJECTED
    assert msgspec.json.decode(second.answer or b"") == {"message": "no", "type": "UpdateRejected"}
    assert await store.client.update(task.uid, "unknown") is None


async def test_an_update_that_is_rejected_leaves_the_inbox_with_its_answer(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await store.client.ask_update(act(task))
    (row,) = await store.scheduler.read_inbox("s1", 0)
    await store.scheduler.commit("s1", [answering(task, rejection("u1", "no", row.number))], None)
    assert await store.scheduler.read_inbox("s1", 0) == []
    assert (await found(store, task)).state is UpdateState.REJECTED


async def test_a_change_that_misses_answers_nothing(world: World, store: Store) -> None:
    task, other = await claimed(world, store), await claimed(world, store)
    for each in (task, other):
        await store.client.ask_update(act(each))
    missing = answering(task, accepted())
    missing.finishes.append(finish(step(task)))
    committed = await store.scheduler.commit("s1", [missing, answering(other, accepted())], None)
    assert list(committed.missed) == [task.uid]
    assert (await found(store, task)).state is UpdateState.ASKED
    assert (await found(store, other)).state is UpdateState.ACCEPTED


async def test_only_the_owner_of_a_task_answers(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await store.client.ask_update(act(task))
    await scheduler(store, "s2")
    committed = await store.scheduler.commit("s2", [answering(task, accepted())], None)
    assert list(committed.missed) == [task.uid]
    assert (await found(store, task)).state is UpdateState.ASKED


async def test_a_task_that_has_ended_is_asked_for_nothing_new(world: World, store: Store) -> None:
    task = await claimed(world, store)
    asked = await store.client.ask_update(act(task))
    (row,) = await store.scheduler.read_inbox("s1", 0)
    await end(store, task, TaskState.PROCESSED, at=store.now(), inbox=1)
    with pytest.raises(IllegalTransition, match=r"update address to task .*: expected one that has not ended"):
        await store.client.ask_update(act(task, "u2"))
    assert await store.client.ask_update(act(task)) == asked
    assert row.sender == "u1"


async def test_a_task_that_is_none_or_another_version_is_asked_for_nothing(world: World, store: Store) -> None:
    task = await claimed(world, store)
    with pytest.raises(TaskNotFound):
        await store.client.ask_update(act(world.task()))
    with pytest.raises(TaskChanged):
        await store.client.ask_update(act(task, expected=("another",)))
    assert await store.client.update(task.uid, "u1") is None


async def test_old_answers_are_deleted_with_former_runs(world: World, store: Store) -> None:
    task, other = await claimed(world, store), await claimed(world, store)
    for each, id in ((task, "old"), (task, "asked"), (task, "new"), (other, "old")):
        await store.client.ask_update(act(each, id))
    old, new = store.now() - ANSWER_SECONDS - 1, store.now() - ANSWER_SECONDS + 60
    changes = [answering(each, accepted("old"), at=old) for each in (task, other)]
    await store.scheduler.commit("s1", [*changes, answering(task, accepted("new"), at=new)], None)
    await store.scheduler.commit("s1", [Change(task=task.uid, trim=Trim(1, 2, keeps_effects=True))], None)
    kept = [each.id for each in await store.supervisor.outlived_updates([task.uid, other.uid], ("", ""))]
    assert sorted(kept) == ["asked", "new", "old"]
    assert await store.client.update(task.uid, "old") is None


async def test_updates_that_wait_are_bounded(world: World, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_rules, "MOST_SIGNALS", 3)
    monkeypatch.setattr(inbox_rules, "UNCOUNTED", 0)
    task = await claimed(world, store)
    for number in range(3):
        await store.client.ask_update(act(task, f"u{number}"))
    with pytest.raises(InboxFull, match=r"update address to task .*: expected at most 3 signals and updates"):
        await store.client.ask_update(act(task, "u3"))
    assert await store.client.update(task.uid, "u3") is None


async def test_an_update_with_an_actor_is_audited(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await store.client.ask_update(act(task))
    await store.client.ask_update(act(task, "u2", actor="ada", reason="moved"))
    (audit,) = await store.operators.audits(task.id, 10)
    assert (audit.actor, audit.act) == ("ada", "update")
    assert msgspec.json.decode(audit.details) == {"update": "address", "id": "u2", "reason": "moved"}
