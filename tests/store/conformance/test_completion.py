"""Steps finished from outside: the first completion is recorded, all others change nothing and get the reason."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from stepward.model import failures
from stepward.model.messages.requests import Outcome, RecordedReply, Reply
from stepward.model.records import InboxKind, Step, Task
from stepward.model.states import StepKind, StepState, TaskState
from stepward.store.contract import (
    Change,
    Completion,
    Decision,
    Deliver,
    Dispatch,
    Refusal,
    RefusalReason,
    StepMove,
    Store,
    TaskMove,
    Watch,
)
from stepward.store.rules.steps import completion_refusals
from tests.store.conformance.world import (
    DONE,
    FAILED,
    SERVED,
    START,
    World,
    add_steps,
    audit,
    claimed,
    ids,
    move,
    read,
    read_step,
    scheduler,
    step,
)

DEADLINE = START + 3600.0


def completion(task: Task, **fields: Any) -> Completion:
    usual: dict[str, Any] = {"run": 1, "key": "charge/1", "attempt": 1, "output": DONE, "actor": "alice"}
    return Completion(task=task.uid, **usual | fields)


async def waiting(world: World, store: Store, **fields: Any) -> Task:
    """A task that ``s1`` holds, whose step was left to be finished from outside."""
    task = await claimed(world, store)
    await add_steps(store, task, step(task, **{"complete_by": DEADLINE, "watched": True} | fields))
    return task


async def let_go(store: Store, task: Task, after: TaskState = TaskState.WAITING, **fields: Any) -> Task:
    task = await read(store, task)
    change = Change(task=task.uid, move=move(task, after, release=True, **fields))
    assert (await store.scheduler.commit("s1", [change], None)).missed == {}
    return await read(store, task)


async def reason(store: Store, completion: Completion) -> RefusalReason | None:
    refused = await store.client.complete(completion)
    return refused.reason if refused is not None else None


@pytest.mark.parametrize("fails", [False, True], ids=["completed", "failed"])
async def test_the_outcome_is_on_the_row_and_its_owner_is_notified(world: World, store: Store, fails: bool) -> None:
    task = await waiting(world, store, in_doubt=True)
    said = {"output": None, "error": FAILED} if fails else {"output": DONE}
    assert await store.client.complete(completion(task, **said)) is None
    found = await read_step(store, task)
    settled = failures.settled(FAILED, attempt=1, maybe_done=True, before=None)
    assert (found.state, found.output, found.error) == (
        ("failed", None, settled) if fails else ("completed", DONE, None)
    )
    # What an attempt before may have done is in doubt until one is known to have succeeded.
    assert (found.ordinal, found.watched, found.in_doubt) == (None, False, fails)
    (row,) = await store.scheduler.read_inbox("s1", 0)
    assert (row.kind, row.name, row.sender) == (InboxKind.REPLY, "1/charge/1", "alice")
    told = msgspec.json.decode(row.body, type=RecordedReply)
    assert (told.task, told.run, told.key, told.attempt) == (task.uid, 1, "charge/1", 1)
    assert (told.outcome, told.output, told.error) == ("failed" if fails else "completed", found.output, found.error)
    assert told.recorded_at == found.finished_at
    assert (await read(store, task)).inbox == 1
    # The owner has only to deliver it.
    change = Change(task=task.uid, delivers=[Deliver(task.uid, 1, "charge/1", 1, 1)], taken=[row.number])
    assert (await store.scheduler.commit("s1", [change], None)).missed == {}


async def test_who_finished_it_is_audited_once(world: World, store: Store) -> None:
    task = await waiting(world, store)
    await store.client.complete(completion(task))
    other = await waiting(world, store)
    await store.client.complete(completion(other, output=None, error=FAILED, actor="bob"))
    (entry,) = await store.operators.audits(task.id, 9)
    assert (entry.actor, entry.act, entry.step, entry.before, entry.after) == (
        "alice",
        "complete",
        "charge/1",
        "running",
        "completed",
    )
    assert msgspec.json.decode(entry.details) == {"run": 1, "attempt": 1}
    (entry,) = await store.operators.audits(other.id, 9)
    assert (entry.actor, entry.act, entry.after) == ("bob", "fail", "failed")


async def test_a_second_use_changes_nothing(world: World, store: Store) -> None:
    task = await waiting(world, store)
    assert await store.client.complete(completion(task)) is None
    refused = await store.client.complete(completion(task, output=b'"other"', actor="mallory"))
    assert refused == Refusal(
        RefusalReason.USED,
        f"completion of charge/1 of task {task.id}: expected it to run, found it completed already; "
        "a token is good once",
    )
    assert (await read_step(store, task)).output == DONE
    assert len(await store.scheduler.read_inbox("s1", 0)) == 1
    entry, _ = await store.operators.audits(task.id, 9)
    assert (entry.actor, entry.act, entry.step) == ("mallory", "refused_completion", "charge/1")
    assert (entry.before, entry.after) == (None, None)
    assert msgspec.json.decode(entry.details) == {"run": 1, "attempt": 1, "reason": "used"}


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"state": StepState.FAILED, "finished_at": START}, RefusalReason.USED),
        ({"state": StepState.TO_REPEAT}, RefusalReason.REPEATED),
        ({"attempt": 2}, RefusalReason.REPEATED),
        ({"state": StepState.ABANDONED}, RefusalReason.OVER),
        ({"state": StepState.UNDONE}, RefusalReason.UNDONE),
        ({"state": StepState.FAILED, "finished_at": START, "error": b'{"type":"StepExpired"}'}, RefusalReason.LATE),
        ({"state": StepState.FAILED, "finished_at": START, "error": b'{"type":"Unrecoverable"}'}, RefusalReason.USED),
        ({"complete_by": START - 1}, RefusalReason.LATE),
    ],
)
async def test_an_attempt_that_is_over_is_not_finished(
    world: World, store: Store, fields: dict[str, Any], wanted: RefusalReason
) -> None:
    task = await waiting(world, store, **fields)
    before = await read_step(store, task), await read(store, task)
    assert await reason(store, completion(task)) is wanted
    assert (await read_step(store, task), await read(store, task)) == before
    assert await store.scheduler.read_inbox("s1", 0) == []
    assert [entry.act for entry in await store.operators.audits(task.id, 9)] == ["refused_completion"]


async def test_the_complete_by_is_the_last_moment(world: World, store: Store) -> None:
    task = await waiting(world, store)
    world.clock.advance(DEADLINE - store.now() - 0.5)
    other = await waiting(world, store)
    assert await reason(store, completion(task)) is None
    world.clock.advance(0.6)
    assert await reason(store, completion(other)) is RefusalReason.LATE


@pytest.mark.parametrize("fields", [{"task": "none"}, {"key": "none/1"}, {"run": 2}])
async def test_what_is_not_there_is_not_finished(world: World, store: Store, fields: dict[str, Any]) -> None:
    task = await waiting(world, store)
    wanted = msgspec.structs.replace(completion(task), **fields)
    assert await reason(store, wanted) is RefusalReason.GONE
    (entry,) = await store.operators.audits(None, 9)
    assert entry.act == "refused_completion"


async def test_nothing_goes_forward_once_undo_began_but_an_undo_may_be_finished(world: World, store: Store) -> None:
    task = await waiting(world, store)
    undo = step(task, "charge/1~undo", kind=StepKind.UNDO, complete_by=DEADLINE)
    turned = TaskMove(before=TaskState.PROCESSING, after=TaskState.UNDOING, undo_to=TaskState.UNDONE, at=START)
    change = Change(task=task.uid, inserts=[undo], move=turned)
    assert (await store.scheduler.commit("s1", [change], None)).missed == {}
    assert await reason(store, completion(task)) is RefusalReason.UNDONE
    assert (await read_step(store, task)).state is StepState.RUNNING
    assert await reason(store, completion(task, key="charge/1~undo")) is None
    assert (await read_step(store, task, "charge/1~undo")).state is StepState.COMPLETED


@pytest.mark.parametrize("after", [TaskState.WAITING, TaskState.SUSPENDED, TaskState.ERROR])
async def test_a_task_without_an_owner_keeps_the_outcome(world: World, store: Store, after: TaskState) -> None:
    task = await waiting(world, store)
    task = await let_go(store, task, after, error=FAILED if after is TaskState.ERROR else None)
    assert await reason(store, completion(task)) is None
    assert (await read_step(store, task)).state is StepState.COMPLETED
    # Only a waiting task is woken; a row for one that has ended would never be read.
    assert ids(await store.scheduler.claim("s1", SERVED, 9)) == ([task.id] if after is TaskState.WAITING else [])
    assert (await read(store, task)).inbox == (0 if after is TaskState.ERROR else 1)


async def test_its_owner_misses_who_acts_on_what_it_no_longer_is(world: World, store: Store) -> None:
    task = await waiting(world, store)
    assert await reason(store, completion(task)) is None
    row = await read_step(store, task)
    late: list[Change] = [
        Change(task=task.uid, watches=[Watch(task.uid, 1, "charge/1", 1, DEADLINE, None, False)]),
        Change(
            task=task.uid,
            step_moves=[StepMove(task.uid, 1, "charge/1", StepState.RUNNING, StepState.ABANDONED, START)],
        ),
        Change(task=task.uid, move=move(task, TaskState.WAITING, release=True)),
    ]
    for change in late:
        assert list((await store.scheduler.commit("s1", [change], None)).missed) == [task.uid]
    assert await read_step(store, task) == row


async def test_a_decision_on_what_is_finished_comes_too_late(world: World, store: Store) -> None:
    task = await waiting(world, store)
    await scheduler(store, "sup")
    term = await store.supervisor.lead("sup", 10)
    assert term is not None
    assert await reason(store, completion(task)) is None
    decision = Decision(
        task=task.uid,
        run=1,
        key="charge/1",
        attempt=1,
        state=StepState.TO_REPEAT,
        repeat_at=START,
        error=None,
        posts=(),
        audit=audit(task),
    )
    assert await store.supervisor.decide(term, [decision]) == 0
    assert (await read_step(store, task)).state is StepState.COMPLETED


async def test_of_many_at_once_one_finishes_it(world: World, store: Store) -> None:
    stores = [store, await world.open(), await world.open()]
    task = await waiting(world, store)
    tries = [completion(task, output=b"%d" % number, actor=f"a{number}") for number in range(9)]
    found = await asyncio.gather(*[stores[n % 3].client.complete(each) for n, each in enumerate(tries)])
    assert sorted((refused.reason if refused else "accepted") for refused in found) == ["accepted"] + ["used"] * 8
    assert (await read_step(store, task)).output == b"%d" % found.index(None)
    acts = [entry.act for entry in await store.operators.audits(task.id, 20)]
    assert sorted(acts) == ["complete"] + ["refused_completion"] * 8


async def test_a_forged_token_changes_nothing_and_is_audited(world: World, store: Store) -> None:
    task = await waiting(world, store)
    before = await read_step(store, task), await read(store, task)
    await store.client.refuse_completion(completion(task, actor="mallory"), Refusal(RefusalReason.FORGED, "forged"))
    assert (await read_step(store, task), await read(store, task)) == before
    (entry,) = await store.operators.audits(task.id, 9)
    assert (entry.actor, entry.act, entry.step) == ("mallory", "refused_completion", "charge/1")
    assert msgspec.json.decode(entry.details)["reason"] == "forged"
    await store.client.refuse_completion(
        completion(world.task(), actor="mallory"), Refusal(RefusalReason.FORGED, "forged")
    )
    assert [entry.task for entry in await store.operators.audits(None, 1)] == [None]


async def test_the_key_of_the_tokens_is_made_once(world: World, store: Store) -> None:
    other = await world.open()
    keys = await asyncio.gather(
        *[each.client.completion_key(bytes([n] * 32)) for n, each in enumerate([store, other] * 3)]
    )
    assert len(set(keys)) == 1
    assert len(keys[0]) == 32
    assert await (await world.open()).client.completion_key(b"x" * 32) == keys[0]


@pytest.mark.parametrize("holds", [True, False], ids=["held elsewhere", "free"])
async def test_word_that_an_agent_has_done_its_part_finds_its_step(world: World, store: Store, holds: bool) -> None:
    task = await claimed(world, store)
    await add_steps(store, task, step(task, complete_by=DEADLINE))
    deferred = Reply(task=task.uid, run=1, key="charge/1", attempt=1, outcome=Outcome.DEFERRED)
    if holds:
        await store.scheduler.settle_misrouted([deferred])
        (row,) = await store.scheduler.read_inbox("s1", 0)
        assert msgspec.json.decode(row.body, type=RecordedReply).outcome is Outcome.DEFERRED
        return
    task = await let_go(store, task)
    await store.scheduler.settle_misrouted([msgspec.structs.replace(deferred, attempt=2)])
    assert (await read_step(store, task)).deferred_at is None
    await store.scheduler.settle_misrouted([deferred])
    found = await read_step(store, task)
    assert (found.state, found.watched) == (StepState.RUNNING, True)
    assert found.deferred_at == pytest.approx(store.now(), abs=1)
    # It tells no outcome: who comes too late with it is no late reply.
    assert await store.operators.audits(task.id, 9) == []


async def test_a_deferral_stays_until_the_next_attempt(world: World, store: Store) -> None:
    task = await claimed(world, store)
    row = step(task, complete_by=DEADLINE)
    await add_steps(store, task, row)
    await commit(store, task, watches=[Watch(task.uid, 1, "charge/1", 1, DEADLINE, None, False, START + 1)])
    assert (await read_step(store, task)).deferred_at == START + 1
    await commit(store, task, watches=[Watch(task.uid, 1, "charge/1", 1, DEADLINE, None, False)])
    assert (await read_step(store, task)).deferred_at == START + 1
    await commit(
        store,
        task,
        step_moves=[StepMove(task.uid, 1, "charge/1", StepState.RUNNING, StepState.TO_REPEAT, START)],
    )
    await commit(store, task, dispatches=[Dispatch(task.uid, 1, "charge/1", 2, START, DEADLINE)])
    found: Step = await read_step(store, task)
    assert (found.attempt, found.deferred_at) == (2, None)


async def commit(store: Store, task: Task, **parts: Any) -> None:
    assert (await store.scheduler.commit("s1", [Change(task=task.uid, **parts)], None)).missed == {}


async def test_the_step_of_a_completion_is_found_by_its_place(world: World, store: Store) -> None:
    task = await waiting(world, store)
    found = await store.client.completed_step(task.uid, 1, "charge/1")
    assert found is not None
    assert found.name == "charge"
    assert await store.client.completed_step(task.uid, 2, "charge/1") is None


async def test_one_task_leaves_the_others_room_in_the_audit_of_refusals(
    world: World, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completion_refusals, "MOST_REFUSALS", 6)
    monkeypatch.setattr(completion_refusals, "MOST_REFUSALS_EACH", 2)
    loud, quiet = await claimed(world, store), await claimed(world, store)

    async def refuse(task: Task, reason: RefusalReason, times: int) -> None:
        for _ in range(times):
            await store.client.refuse_completion(completion(task), Refusal(reason, "no"))

    await refuse(loud, RefusalReason.USED, 9)
    await refuse(quiet, RefusalReason.UNFIT, 1)
    # Who forges a token may name any task: none of them loses its room by it.
    await refuse(quiet, RefusalReason.FORGED, 9)
    await refuse(quiet, RefusalReason.USED, 1)
    await refuse(loud, RefusalReason.USED, 1)
    reasons = [
        (entry.task, msgspec.json.decode(entry.details)["reason"]) for entry in await store.operators.audits(None, 99)
    ]
    assert reasons[::-1] == [
        *[(loud.uid, "used")] * 2,
        (quiet.uid, "unfit"),
        *[(quiet.uid, "forged")] * 2,
        (quiet.uid, "used"),
    ]
    (alert,) = await store.operators.alerts(9, True)
    assert msgspec.json.decode(alert.details) == {"count": 15}


async def test_refused_completions_are_audited_within_bounds_and_one_alert_counts_the_rest(
    world: World, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completion_refusals, "MOST_REFUSALS", 2)
    task = await claimed(world, store)
    forged = completion(task, key="k" * 5_000, actor="mallory" * 1_000)

    async def refuse(times: int) -> None:
        for _ in range(times):
            await store.client.refuse_completion(forged, Refusal(RefusalReason.FORGED, "forged"))

    await refuse(2)
    assert await store.operators.alerts(9, True) == []
    await refuse(3)
    entries = await store.operators.audits(None, 99)
    assert [entry.act for entry in entries] == ["refused_completion"] * 2
    assert (len(entries[0].step or ""), len(entries[0].actor)) == (300, 300)
    (alert,) = await store.operators.alerts(9, True)
    assert (alert.kind, msgspec.json.decode(alert.details)) == ("refused_completions", {"count": 3})
    assert len(alert.message) < 1_000
    world.clock.advance(completion_refusals.REFUSALS_SECONDS)
    await refuse(1)
    assert len(await store.operators.audits(None, 99)) == 3
    assert await store.operators.alerts(9, True) == [alert]
