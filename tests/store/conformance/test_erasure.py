"""Deletion on demand reaches all that the store keeps about a task, and the audit can still be checked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from stepward.model.records import Alert, Audit, Task
from stepward.model.states import TaskState
from stepward.store.contract import Batch, BatchState, BatchVerb, Directive, OperatorStore, Store
from stepward.store.rules.audit.audit_chain import MARK
from stepward.store.rules.audit.audit_verification import Verification
from stepward.store.verbs.deletion import task_erasure
from tests.store.conformance.test_batches import advanced, started
from tests.store.conformance.world import DONE, World, add_steps, claimed, end, step

SECRET = "secret-4711"


@pytest.fixture
async def term(store: Store) -> int:
    term = await store.supervisor.lead("supervisor", 1000)
    assert term is not None
    return term


async def ended(world: World, store: Store, after: TaskState = TaskState.PROCESSED, **fields: Any) -> Task:
    task = await claimed(world, store, input=f'["{SECRET}"]'.encode(), **fields)
    await end(store, task, after, at=store.now())
    return task


async def deleted(store: Store, term: int, where: str) -> Batch:
    await started(store, BatchVerb.DELETE, filter=where)
    piece = await advanced(store, term)
    assert piece.batch.state is BatchState.DONE
    return piece.batch


async def verified(store: OperatorStore) -> list[int]:
    chain = Verification()
    for act in await store.acts(0):
        chain.add(act)
    return [each.number for each in chain.ended()]


async def noted(store: Store, task: Task, details: dict[str, str]) -> None:
    act = Audit(actor="ada", act="noted", task=task.uid, details=json.dumps(details).encode())
    await store.operators.record_acts([act])


async def test_all_that_is_kept_about_a_task_goes_with_it(world: World, store: Store, term: int) -> None:
    task = await claimed(world, store, input=f'["{SECRET}"]'.encode(), reply_to="replies.shop.web", id="order-1")
    await ended(world, store, id="order-2", reply_to="replies.shop.web")
    await add_steps(store, task, step(task, "pay/1", output=DONE))
    await end(store, task, TaskState.PROCESSED, at=store.now())
    await store.supervisor.raise_alert(term, Alert(kind="test", task=task.uid, task_id=task.id, message=SECRET))
    letters = [
        (json.dumps({"id": "order-1", "card": SECRET}).encode(), "unread", 1),
        (b'{"id":"order-12"}', "unread", 1),
    ]
    await store.messages.bury_bodies("orders", letters)
    await noted(store, task, {"input": SECRET})
    assert (await deleted(store, term, "id = 'order-1'")).done == 1
    assert await store.client.task("order-1") is None
    assert await store.client.task("order-2") is not None
    assert {alert.task_id for alert in await store.operators.alerts(9, open_only=False)} == {None}
    assert [letter.body for letter in await store.operators.dead_letters(9)] == [b'{"id":"order-12"}']
    events = [message.body for message in await store.messages.read("replies.shop.web", 0, 99)]
    assert {json.loads(event)["subject"] for event in events} == {"order-2"}
    assert SECRET.encode() not in b"".join(act.audit.details for act in await store.operators.acts(0))
    assert await verified(store.operators) == []


async def test_events_are_looked_for_in_slices_of_their_queue(
    world: World, store: Store, term: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_erasure, "SLICE", 3)
    queue = "replies.shop.web"
    tasks = [await ended(world, store, reply_to=queue) for _ in range(5)]
    bodies = [b"%d %b" % (number, tasks[number % 5].uid.encode()) for number in range(20)]
    await store.messages.put(queue, [(body, None) for body in bodies])
    # Those that are taken are elsewhere in the index.
    taken = [message.body for message in await store.messages.take(queue, 7, 30.0)]
    await deleted(store, term, f"id = '{tasks[0].id}'")
    world.clock.advance(31)
    left = set[bytes]()
    while taken_now := await store.messages.take(queue, 99, 30.0):
        left |= {message.body for message in taken_now}
    assert left >= {body for body in {*bodies, *taken} if tasks[0].uid.encode() not in body}
    assert not [body for body in left if tasks[0].uid.encode() in body]


async def test_the_audit_names_each_act_whose_details_were_erased(world: World, store: Store, term: int) -> None:
    task = await ended(world, store)
    await noted(store, task, {"input": SECRET})
    before = {act.audit.number: act.hash for act in await store.operators.acts(0)}
    await deleted(store, term, f"id = '{task.id}'")
    acts = {act.audit.number: act for act in await store.operators.acts(0)}
    assert {number: acts[number].hash for number in before} == before
    (erased,) = [act.audit for act in acts.values() if act.audit.details == MARK]
    (deletion,) = [act.audit for act in acts.values() if act.audit.act == "delete"]
    assert (deletion.actor, deletion.task, erased.actor) == ("ada", task.uid, "ada")
    assert json.loads(deletion.details)["erased"].startswith(f"{erased.number}:{before[erased.number].hex()}:")


@pytest.mark.parametrize("forged", ["actor", "hash", "unnamed"])
async def test_what_is_left_of_an_erased_act_cannot_be_changed_unseen(
    world: World, store: Store, term: int, forged: str
) -> None:
    task = await ended(world, store)
    await noted(store, task, {"input": SECRET})
    await deleted(store, term, f"id = '{task.id}'")
    chain = Verification()
    for act in await store.operators.acts(0):
        is_erased = act.audit.details == MARK
        changed = act
        if forged == "actor" and is_erased:
            changed = replace(act, audit=replace(act.audit, actor="eve"))
        elif forged == "hash" and is_erased:
            changed = replace(act, hash=bytes(32))
        elif forged == "unnamed" and act.audit.act == "start":
            changed = replace(act, audit=replace(act.audit, details=MARK))
        chain.add(changed)
    assert chain.ended() != []


async def test_a_task_that_has_not_ended_is_kept(world: World, store: Store, term: int) -> None:
    task = await claimed(world, store)
    batch = await deleted(store, term, f"id = '{task.id}'")
    assert (batch.done, batch.refused) == (0, 1)
    assert "expected a task that has ended, found it processing" in batch.refusals[0].why
    assert await store.client.task(task.id) is not None


async def test_descendants_go_with_their_ancestor_once_all_have_ended(world: World, store: Store, term: int) -> None:
    parent = await ended(world, store, id="p")
    child = await claimed(world, store, id="p/ship/1", parent=parent.uid, parent_run=1, parent_step="ship/1")
    batch = await deleted(store, term, "id = 'p'")
    assert batch.refused == 1
    await end(store, child, TaskState.PROCESSED, at=store.now())
    await ended(world, store, id="p0")
    await started(store, BatchVerb.DELETE, filter="id = 'p'", id="again")
    assert (await advanced(store, term)).batch.done == 1
    found = [await store.client.task(id) is not None for id in ("p", "p/ship/1", "p0")]
    assert found == [False, False, True]


async def test_a_task_in_error_may_be_deleted_too(world: World, store: Store, term: int) -> None:
    task = await ended(world, store, TaskState.ERROR)
    assert (await deleted(store, term, "state = 'error'")).done == 1
    assert await store.client.task(task.id) is None
    await store.client.submit([world.task(task.id)])
    await store.client.direct(task.id, Directive(verb="suspend", actor="ada"))
