"""A running attempt is shown to the Supervisor once in a turn, however often there was a reason to."""

from __future__ import annotations

from stepward.store.contract import Change, Store
from tests.store.conformance.world import World, add_steps, claimed, read_step, step, watch


async def test_an_attempt_that_there_are_two_reasons_to_watch_is_watched(world: World, store: Store) -> None:
    """It went unanswered, and then two answers say that its Agent gave up."""
    task = await claimed(world, store)
    now = store.now()
    charge = step(task, complete_by=now + 9)
    await add_steps(store, task, charge)
    change = Change(task=task.uid)
    change.watch(watch(charge, now + 9))
    change.watch(watch(charge, now + 1, b'{"message":"no"}'))
    change.watch(watch(charge, now + 2, b'{"message":"no, again"}'))
    assert (await store.scheduler.commit("s1", [change], None)).missed == {}
    found = await read_step(store, task)
    assert (found.watched, found.complete_by, found.error) == (True, now + 1, b'{"message":"no, again"}')
