"""Submissions under a rule for their key: what becomes of one while another is there."""

from __future__ import annotations

import pytest

from stepward.errors import Refused, TaskConflict
from stepward.model.records import Task
from stepward.model.states import TaskState
from stepward.model.tasks.key_rules import PREDECESSOR, Collect, Debounce, KeyRule, Singleton, Throttle
from stepward.store.contract import Directive, Outlived, Purged, Store, Submitted
from tests.store.conformance.world import SERVED, World, end, ids, read, scheduler

REFUSE, JOIN, REPLACE = (Singleton("k", if_running=word) for word in ("refuse", "join", "replace"))
DEBOUNCE = Debounce("k", wait=10, latest=25)


async def submitted(world: World, store: Store, name: str, rule: KeyRule, **fields: object) -> tuple[Task, Submitted]:
    world.clock.advance(0.01)
    task = world.task(name, **{"created_at": store.now(), **fields})
    (answer,) = await store.client.submit_keyed([task], rule, actor="ada")
    return task, answer


async def claimed(world: World, store: Store, after: float = 0.01) -> list[str]:
    world.clock.advance(after)
    return ids(await store.scheduler.claim("s1", SERVED, 10))


async def ended(store: Store, task: Task) -> None:
    await end(store, await read(store, task), TaskState.PROCESSED, at=store.now())


async def test_a_second_task_of_a_key_is_refused_until_the_first_has_ended(world: World, store: Store) -> None:
    first, answer = await submitted(world, store, "a", REFUSE)
    assert (answer.created, answer.joined) == (True, False)
    with pytest.raises(TaskConflict, match="of the key 'k' that has not ended, found a, pending; wait for it"):
        await submitted(world, store, "b", REFUSE)
    assert await store.client.task("b") is None
    _, other = await submitted(world, store, "other", Singleton("another"))
    assert other.created
    assert await claimed(world, store) == ["a", "other"]
    with pytest.raises(TaskConflict, match="found a, processing"):
        await submitted(world, store, "b", REFUSE)
    await ended(store, first)
    _, again = await submitted(world, store, "b", REFUSE)
    assert again.created


async def test_a_second_task_of_a_key_joins_the_first(world: World, store: Store) -> None:
    first, _ = await submitted(world, store, "a", JOIN)
    _, answer = await submitted(world, store, "b", JOIN)
    assert answer == Submitted(first.uid, "a", created=False, same=True, joined=True)
    await claimed(world, store)
    await ended(store, first)
    _, repeated = await submitted(world, store, "b", JOIN)
    assert (repeated.uid, repeated.created, repeated.joined) == (first.uid, False, False)
    _, fresh = await submitted(world, store, "c", JOIN)
    assert fresh.created
    async with store.client.transaction() as transaction:
        assert await transaction.known(["a", "b", "c", "d"]) == {"a", "b", "c"}


async def test_a_submission_that_is_repeated_is_the_same_task_and_no_conflict(world: World, store: Store) -> None:
    first, _ = await submitted(world, store, "a", REFUSE)
    again, answer = await submitted(world, store, "a", REFUSE)
    assert again.uid != first.uid
    assert (answer.uid, answer.created, answer.same) == (first.uid, False, True)
    _, other = await submitted(world, store, "a", REFUSE, input=b'["other"]')
    assert not other.same


async def test_a_task_that_replaces_another_starts_once_that_has_ended(world: World, store: Store) -> None:
    first, _ = await submitted(world, store, "a", REPLACE)
    assert await claimed(world, store) == ["a"]
    second, answer = await submitted(world, store, "b", REPLACE)
    assert answer.created
    assert [row.kind for row in await store.scheduler.read_inbox("s1", 0)] == ["cancel"]
    waiting = await read(store, second)
    assert (waiting.state, waiting.waits_for, waiting.wake_at) == (TaskState.WAITING, PREDECESSOR, None)
    assert await claimed(world, store, 100) == []
    await ended(store, first)
    assert await claimed(world, store) == ["b"]
    assert await store.operators.permits() == {}


async def test_a_task_that_never_began_is_replaced_at_once(world: World, store: Store) -> None:
    first, _ = await submitted(world, store, "a", REPLACE)
    await submitted(world, store, "b", REPLACE)
    assert (await read(store, first)).state is TaskState.CANCELLED
    assert await claimed(world, store) == ["b"]


async def test_of_several_replacements_the_last_waits_for_the_task_that_runs(world: World, store: Store) -> None:
    first, _ = await submitted(world, store, "a", REPLACE)
    await claimed(world, store)
    second, _ = await submitted(world, store, "b", REPLACE)
    await submitted(world, store, "c", REPLACE)
    assert await claimed(world, store) == ["b"]
    undoing = await read(store, second)
    assert undoing.state is TaskState.UNDOING
    await end(store, undoing, TaskState.CANCELLED, at=store.now(), undo_to="cancelled")
    assert await claimed(world, store) == []
    await ended(store, first)
    assert await claimed(world, store) == ["c"]


async def test_nothing_starts_a_replacement_before_its_predecessor_has_ended(world: World, store: Store) -> None:
    first, _ = await submitted(world, store, "a", REPLACE)
    await claimed(world, store)
    second, _ = await submitted(world, store, "b", REPLACE)
    await store.client.signal("b", "go", b"1", None)
    assert await claimed(world, store) == []
    await store.client.direct("b", Directive(verb="suspend", actor="ada"))
    await store.client.direct("b", Directive(verb="resume", actor="ada"))
    assert await claimed(world, store) == []
    assert (await read(store, second)).waits_for == PREDECESSOR
    await ended(store, first)
    assert await claimed(world, store) == ["b"]


async def test_a_replacement_goes_on_when_its_predecessor_is_freed_from_a_dead_owner(
    world: World, store: Store
) -> None:
    first, _ = await submitted(world, store, "a", REPLACE)
    await claimed(world, store)
    await submitted(world, store, "b", REPLACE)
    await scheduler(store, "s2")
    await store.host.retire("s1")
    world.clock.advance(1)
    assert ids(await store.scheduler.claim("s2", SERVED, 10)) == ["a"]
    await end(store, await read(store, first), TaskState.PROCESSED, "s2", at=store.now())
    world.clock.advance(1)
    assert ids(await store.scheduler.claim("s2", SERVED, 10)) == ["b"]


async def test_a_debounced_task_starts_with_the_last_arguments_once_it_is_quiet(world: World, store: Store) -> None:
    first, _ = await submitted(world, store, "a", DEBOUNCE, input=b'["one"]')
    assert await claimed(world, store, 9) == []
    _, answer = await submitted(world, store, "b", DEBOUNCE, input=b'["two"]')
    assert (answer.uid, answer.id, answer.created, answer.joined) == (first.uid, "a", False, True)
    assert await claimed(world, store, 9) == []
    await submitted(world, store, "c", DEBOUNCE, input=b'["three"]')
    assert await claimed(world, store, 6) == []
    assert await claimed(world, store, 1.5) == ["a"], "at the latest 25 s after the first"
    assert (await read(store, first)).input == b'["three"]'
    _, later = await submitted(world, store, "d", DEBOUNCE)
    assert later.created
    _, repeated = await submitted(world, store, "b", DEBOUNCE, input=b'["two"]')
    assert (repeated.uid, repeated.joined) == (first.uid, False)


async def test_a_throttled_key_starts_one_task_within_its_time(world: World, store: Store) -> None:
    first, _ = await submitted(world, store, "a", Throttle("k", every=60))
    await claimed(world, store)
    await ended(store, first)
    with pytest.raises(TaskConflict, match=r"within 60 s, found a, submitted .* s ago; wait"):
        await submitted(world, store, "b", Throttle("k", every=60))
    _, joined = await submitted(world, store, "c", Throttle("k", every=60, if_too_soon="join"))
    assert (joined.uid, joined.joined) == (first.uid, True)
    world.clock.advance(60)
    _, later = await submitted(world, store, "d", Throttle("k", every=60))
    assert later.created


async def test_submissions_are_gathered_into_one_task_until_its_time_comes(world: World, store: Store) -> None:
    rule = Collect("k", size=3, within=10)
    first, _ = await submitted(world, store, "a", rule, input=b"[[1]]")
    _, second = await submitted(world, store, "b", rule, input=b'[["\xc3\xa9"]]')
    assert (second.uid, second.joined) == (first.uid, True)
    _, repeated = await submitted(world, store, "b", rule, input=b'[["\xc3\xa9"]]')
    assert (repeated.uid, repeated.joined) == (first.uid, False)
    assert await claimed(world, store, 9) == []
    assert await claimed(world, store, 1.1) == ["a"]
    assert (await read(store, first)).input == '[[1,"é"]]'.encode()
    _, later = await submitted(world, store, "c", rule, input=b"[[2]]")
    assert later.created


async def test_a_task_that_is_full_starts_at_once(world: World, store: Store) -> None:
    rule = Collect("k", size=3, within=1000)
    first, _ = await submitted(world, store, "a", rule, input=b"[[1]]")
    for name in ("b", "c"):
        await submitted(world, store, name, rule, input=b"[[2]]")
    _, later = await submitted(world, store, "d", rule, input=b"[[3]]")
    assert later.created
    assert await claimed(world, store) == ["a"]
    assert (await read(store, first)).input == b"[[1,2,2]]"
    _, other = await submitted(world, store, "e", rule, input=b"[[4]]", reply_to="replies.shop.web")
    assert other.created, "its events go elsewhere"


async def test_an_item_that_would_make_a_task_too_large_begins_another(world: World, store: Store) -> None:
    rule = Collect("k", size=3, within=1000)
    half = b'[["' + b"x" * 600_000 + b'"]]'
    await submitted(world, store, "a", rule, input=half)
    _, second = await submitted(world, store, "b", rule, input=half)
    assert second.created
    assert await claimed(world, store) == ["a"]


async def test_tasks_of_one_call_follow_the_rule_one_after_the_other(world: World, store: Store) -> None:
    tasks = [world.task(name, created_at=store.now()) for name in ("a", "b", "c")]
    answers = await store.client.submit_keyed(tasks, JOIN, actor="ada")
    assert [answer.id for answer in answers] == ["a", "a", "a"]
    with pytest.raises(TaskConflict):
        await store.client.submit_keyed([world.task("x"), world.task("y")], Singleton("l"), actor="ada")
    assert await store.client.task("x") is None


async def test_a_submission_joins_no_task_whose_events_go_elsewhere(world: World, store: Store) -> None:
    await submitted(world, store, "a", JOIN, reply_to="replies.shop.web")
    with pytest.raises(Refused, match=r"reply_to: expected replies\.shop\.web, that of the task a"):
        await submitted(world, store, "b", JOIN, reply_to="replies.shop.other")
    _, answer = await submitted(world, store, "c", JOIN, reply_to="replies.shop.web")
    assert answer.joined


async def test_keys_and_joined_ids_go_with_their_task(world: World, store: Store) -> None:
    first, _ = await submitted(world, store, "a", JOIN)
    await submitted(world, store, "b", JOIN)
    await claimed(world, store)
    await ended(store, first)
    term = await store.supervisor.lead("supervisor", 1000)
    assert term is not None
    done = await read(store, first)
    assert await store.supervisor.purge(term, [Outlived(done.uid, done.finished_at or 0.0)]) == Purged(1, more=False)
    async with store.client.transaction() as transaction:
        assert await transaction.known(["a", "b"]) == set()
    _, again = await submitted(world, store, "b", JOIN)
    assert again.created
