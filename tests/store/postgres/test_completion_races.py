"""A step that is finished from outside, and a concurrent transaction on it, in every order of statements."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepward.model.records import InboxKind
from stepward.model.states import StepState, TaskState
from stepward.store.contract import Change, Committed, Completion, Decision, Refusal, RefusalReason, StepMove
from stepward.store.rules.steps import completion_refusals
from tests.store.conformance.world import DONE, add_steps, audit, claimed, move, read, read_step, scheduler, step
from tests.store.postgres.scenes import WELL, Owned
from tests.store.postgres.stage import LEASE, staged, without
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers

WAIT_SECONDS = 10.0


class Deferred(Owned):
    """A task with an owner, whose step is to be finished from outside."""

    async def make(self, lease: float = LEASE) -> None:
        store, now = self.stage.beside, self.stage.world.clock.wall()
        await scheduler(store, self.owner, lease)
        self.task = await claimed(self.stage.world, store, self.owner, workflow=self.stage.name("w"))
        self.charge = step(self.task, complete_by=now + 3600, watched=True, deferred_at=now)
        await add_steps(store, self.task, self.charge, instance=self.owner)

    def said(self, output: bytes = DONE) -> Completion:
        return Completion(task=self.task.uid, run=1, key="charge/1", attempt=1, output=output, actor="ada")

    async def right(self) -> Refusal | None:
        return await self.stage.right.client.complete(self.said())

    async def found(self) -> tuple[StepState, list[InboxKind], list[str]]:
        """The step's state, the kinds of the rows for the owner, the audited acts."""
        rows = await self.stage.beside.scheduler.read_inbox(self.owner, 0)
        acts = sorted(entry.act for entry in await self.stage.beside.operators.audits(self.task.id, 9))
        return (await read_step(self.stage.beside, self.task)).state, [row.kind for row in rows], acts


class Two(Deferred):
    """Two who finish one step."""

    async def left(self) -> Refusal | None:
        return await self.stage.left.client.complete(self.said(b'"left"'))

    async def check(self, left: Any, right: Any) -> None:
        outputs = {left: b'"left"', right: DONE}
        assert len(outputs) == 2
        refused = left or right
        assert (outputs.pop(None), refused.reason) == (
            (await read_step(self.stage.beside, self.task)).output,
            RefusalReason.USED,
        )
        acts = ["complete", "refused_completion"]
        assert await self.found() == (StepState.COMPLETED, [InboxKind.REPLY], acts)


class Expires(Deferred):
    """The Supervisor's decision that the attempt ran out of time, and a completion of it."""

    async def left(self) -> int:
        decision = Decision(
            task=self.task.uid,
            run=1,
            key="charge/1",
            attempt=1,
            state=StepState.TO_REPEAT,
            repeat_at=None,
            error=None,
            posts=(),
            audit=audit(self.task),
        )
        return await self.stage.left.supervisor.decide(self.stage.term, [decision])

    async def check(self, left: Any, right: Any) -> None:
        if right is None:
            assert left == 0
            assert await self.found() == (StepState.COMPLETED, [InboxKind.REPLY], ["complete"])
        else:
            assert (left, right.reason) == (1, RefusalReason.REPEATED)
            acts = ["refused_completion", "repeat"]
            assert await self.found() == (StepState.TO_REPEAT, [InboxKind.STEP], acts)


class GivenUp(Deferred):
    """The owner's turn in which the workflow stops waiting, and a completion of the step."""

    async def left(self) -> Committed:
        moved = StepMove(self.task.uid, 1, "charge/1", StepState.RUNNING, StepState.ABANDONED, 0.0)
        return await self.commit(step_moves=[moved], inserts=[step(self.task, "pack/1", 2)])

    async def check(self, left: Any, right: Any) -> None:
        if right is None:
            assert list(left.missed) == [self.task.uid]
            assert await self.found() == (StepState.COMPLETED, [InboxKind.REPLY], ["complete"])
        else:
            assert (left, right.reason) == (WELL, RefusalReason.OVER)
            assert await self.found() == (StepState.ABANDONED, [], ["refused_completion"])


class LetGo(Deferred):
    """A task that is let go until something comes, and the completion that comes."""

    async def left(self) -> Committed:
        let_go = move(self.task, TaskState.WAITING, release=True, wake_at=self.charge.complete_by)
        return await self.stage.left.scheduler.commit(self.owner, [Change(task=self.task.uid, move=let_go)], None)

    async def check(self, left: Any, right: Any) -> None:
        task = await read(self.stage.beside, self.task)
        assert (right, task.inbox) == (None, 1)
        assert (await read_step(self.stage.beside, self.task)).state is StepState.COMPLETED
        if left == WELL:
            assert (task.state, task.locked_by, task.wake_at) == (TaskState.WAITING, None, self.stage.beside.now())
        else:
            assert task.locked_by == self.owner
            assert len(await self.stage.beside.scheduler.read_inbox(self.owner, 0)) == 1


@pytest.mark.parametrize("scene", [Two, Expires, GivenUp, LetGo])
async def test_the_first_transaction_finishes_or_moves_the_step(
    database: Database, monkeypatch: pytest.MonkeyPatch, scene: type
) -> None:
    # Each order of statements refuses one, and the audit has room for so many in an hour.
    monkeypatch.setattr(completion_refusals, "MOST_REFUSALS", 10_000)
    monkeypatch.setattr(completion_refusals, "MOST_REFUSALS_EACH", 10_000)
    async with staged(database) as stage:
        await stage.meeting.every_order(lambda: scene(stage))
        assert stage.meeting.orders > 3


INBOX = "and (not v.let_go or t.inbox = v.inbox)"
GUARDS = [
    (Expires, "supervisor.decide", "and s.state = 'running'"),
    (GivenUp, "completions.complete", "and state = 'running'"),
    (GivenUp, "turn.move_step", "and s.state = v.before"),
    (LetGo, "turn.move_task", INBOX),
]


@pytest.mark.parametrize(("scene", "query", "guard"), GUARDS)
async def test_a_guard_that_is_taken_out_is_missed(database: Database, scene: type, query: str, guard: str) -> None:
    with without(query, guard):
        async with staged(database) as stage:
            with pytest.raises(AssertionError):
                await stage.meeting.every_order(lambda: scene(stage))


async def test_a_locked_step_delays_no_completion_beside_it(database: Database) -> None:
    async with staged(database) as stage:
        scenes = [Deferred(stage) for _ in range(3)]
        for scene in scenes:
            await scene.make()
        locked = scenes[1]
        connection = await database.connect()
        async with connection.transaction():
            await connection.execute("select 1 from stepward_shop.step where task = $1 for update", locked.task.uid)
            complete = stage.beside.client.complete
            first, waits, last = [asyncio.create_task(complete(scene.said())) for scene in scenes]
            for each in (first, last):
                assert await asyncio.wait_for(each, WAIT_SECONDS) is None
            assert not waits.done()
        assert await asyncio.wait_for(waits, WAIT_SECONDS) is None
