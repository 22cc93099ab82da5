"""Pairs of verbs that meet on the same rows, and what must hold afterwards whatever their order was."""

from __future__ import annotations

from typing import Any

from stepward.errors import IllegalTransition, InstanceFenced
from stepward.model.messages.requests import Outcome, Reply
from stepward.model.records import History, InboxKind, Step, Task
from stepward.model.states import StepState, TaskState
from stepward.store.contract import (
    Change,
    Committed,
    Decision,
    Directive,
    Post,
    TaskExpiry,
)
from tests.store.conformance.world import (
    DONE,
    FAILED,
    add_steps,
    audit,
    claimed,
    finish,
    move,
    read,
    read_step,
    scheduler,
    step,
    watch,
)
from tests.store.postgres.gates import Scene
from tests.store.postgres.stage import LEASE, Stage

WELL = Committed({})


class Owned(Scene):
    """A task with an owner, whose step runs and is watched."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.owner = stage.name("s")
        self.task: Task
        self.charge: Step

    async def make(self, lease: float = LEASE) -> None:
        store, now = self.stage.beside, self.stage.world.clock.wall()
        await scheduler(store, self.owner, lease)
        self.task = await claimed(self.stage.world, store, self.owner, workflow=self.stage.name("w"))
        self.charge = step(self.task, complete_by=now)
        await add_steps(store, self.task, self.charge, instance=self.owner)
        look = Change(task=self.task.uid, watches=[watch(self.charge, now)])
        assert await store.scheduler.commit(self.owner, [look], None) == WELL

    async def commit(self, **decided: Any) -> Committed:
        """The owner's turn."""
        return await self.stage.left.scheduler.commit(self.owner, [Change(task=self.task.uid, **decided)], None)

    async def steps(self) -> dict[str, str]:
        return {found.key: found.state.value for found in await self.stage.beside.client.steps(self.task.id)}


class Expiry(Owned):
    """A reply's commit, and the Supervisor's decision that the attempt ran out of time."""

    async def left(self) -> Committed:
        return await self.commit(finishes=[finish(self.charge)], inserts=[step(self.task, "pack/1", 2)])

    async def right(self) -> int:
        decision = Decision(
            task=self.task.uid,
            run=1,
            key=self.charge.key,
            attempt=1,
            state=StepState.TO_REPEAT,
            repeat_at=None,
            error=None,
            posts=(),
            audit=audit(self.task),
        )
        return await self.stage.right.supervisor.decide(self.stage.term, [decision])

    async def check(self, left: Any, right: Any) -> None:
        task = await read(self.stage.beside, self.task)
        rows = await self.stage.beside.scheduler.read_inbox(self.owner, 0)
        told = (
            task.inbox,
            task.failure_count,
            len(rows),
            len(await self.stage.beside.operators.audits(self.task.id, 9)),
        )
        if left == WELL:
            assert (await self.steps(), right, told) == (
                {"charge/1": "completed", "pack/1": "running"},
                0,
                (0, 0, 0, 0),
            )
        else:
            assert list(left.missed) == [self.task.uid]
            assert (await self.steps(), right, told) == ({"charge/1": "to_repeat"}, 1, (1, 1, 1, 1))


class Completion(Owned):
    """The end of a task, and a directive that cancels it."""

    async def left(self) -> Committed:
        return await self.commit(finishes=[finish(self.charge)], move=move(self.task, TaskState.PROCESSED, output=DONE))

    async def right(self) -> TaskState:
        return await self.stage.right.client.direct(self.task.id, Directive(verb="cancel", actor="ada"))

    async def check(self, left: Any, right: Any) -> None:
        task = await read(self.stage.beside, self.task)
        rows = await self.stage.beside.scheduler.read_inbox(self.owner, 0)
        if left == WELL:
            assert isinstance(right, IllegalTransition)
            assert (task.state, task.inbox, rows) == (TaskState.PROCESSED, 0, [])
        else:
            assert (right, task.state, task.inbox) == (TaskState.PROCESSING, TaskState.PROCESSING, 1)
            assert [row.kind for row in rows] == [InboxKind.CANCEL]
            assert await self.steps() == {"charge/1": "running"}


class Release(Owned):
    """A task that is let go until something comes, and the signal that comes."""

    async def left(self) -> Committed:
        return await self.commit(move=move(self.task, TaskState.WAITING, release=True))

    async def right(self) -> bool:
        return await self.stage.right.client.signal(self.task.id, "paid", b"1", None)

    async def check(self, left: Any, right: Any) -> None:
        task = await read(self.stage.beside, self.task)
        assert (right, task.inbox) == (True, 1)
        if left == WELL:
            assert (task.state, task.locked_by, task.wake_at) == (TaskState.WAITING, None, self.stage.beside.now())
        else:
            assert task.locked_by == self.owner
            assert len(await self.stage.beside.scheduler.read_inbox(self.owner, 0)) == 1


class Retirement(Owned):
    """A Scheduler that retires with a task in memory that only waits, and the signal that it waits for."""

    async def make(self, lease: float = LEASE) -> None:
        await super().make(lease)
        waits = move(self.task, TaskState.WAITING)
        change = Change(task=self.task.uid, move=waits)
        assert await self.stage.beside.scheduler.commit(self.owner, [change], None) == WELL

    async def left(self) -> None:
        await self.stage.left.host.retire(self.owner)

    async def right(self) -> bool:
        return await self.stage.right.client.signal(self.task.id, "paid", b"1", None)

    async def check(self, left: Any, right: Any) -> None:
        task = await read(self.stage.beside, self.task)
        assert (task.state, task.locked_by, task.inbox) == (TaskState.WAITING, None, 1)
        assert task.wake_at is not None


class Takeover(Owned):
    """An owner past its lease that commits, and the Supervisor who fences it and frees what it holds."""

    async def make(self, lease: float = 5.0) -> None:
        await super().make(lease)
        self.stage.world.clock.advance(lease)

    async def left(self) -> Committed:
        return await self.commit(finishes=[finish(self.charge)], inserts=[step(self.task, "pack/1", 2)])

    async def right(self) -> int:
        assert len(await self.stage.right.supervisor.fence(self.stage.term)) == 1
        return await self.stage.right.supervisor.free(self.stage.term, 9)

    async def check(self, left: Any, right: Any) -> None:
        task = await read(self.stage.beside, self.task)
        assert (right, task.state, task.locked_by) == (1, TaskState.PENDING, None)
        if left == WELL:
            assert await self.steps() == {"charge/1": "completed", "pack/1": "running"}
        else:
            assert isinstance(left, InstanceFenced)
            assert await self.steps() == {"charge/1": "running"}


class TakeoverOfRetry(Takeover):
    """The same while the owner's turn is tried again, each change alone, because one of them misses."""

    async def left(self) -> Committed:
        elsewhere = self.stage.world.task()
        misses = Change(task=elsewhere.uid, inserts=[step(elsewhere)])
        fits = Change(task=self.task.uid, finishes=[finish(self.charge)], inserts=[step(self.task, "pack/1", 2)])
        committed = await self.stage.left.scheduler.commit(self.owner, [misses, fits], None)
        return Committed({uid: why for uid, why in committed.missed.items() if uid != elsewhere.uid})


class Claims(Scene):
    """Two Schedulers that claim the same free tasks."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.claimants = stage.name("s"), stage.name("s")
        self.served = [(stage.name("w"), "1")]

    async def make(self) -> None:
        for instance in self.claimants:
            await scheduler(self.stage.beside, instance, LEASE)
        tasks = [self.stage.world.task(workflow=self.served[0][0]) for _ in range(3)]
        await self.stage.beside.client.submit(tasks)

    async def left(self) -> list[History]:
        return await self.stage.left.scheduler.claim(self.claimants[0], self.served, 2)

    async def right(self) -> list[History]:
        return await self.stage.right.scheduler.claim(self.claimants[1], self.served, 2)

    async def check(self, left: Any, right: Any) -> None:
        found = [(history.task.uid, history.task.locked_by) for history in (*left, *right)]
        assert len(found) == len({uid for uid, _ in found}) == 3
        for history in (*left, *right):
            assert (await read(self.stage.beside, history.task)).locked_by == history.task.locked_by


class Stray(Owned):
    """A reply for a task without an owner, and a Scheduler that claims the task."""

    async def make(self, lease: float = LEASE) -> None:
        await super().make(lease)
        let_go = move(self.task, TaskState.WAITING, release=True, wake_at=self.stage.world.clock.wall())
        assert (
            await self.stage.beside.scheduler.commit(self.owner, [Change(task=self.task.uid, move=let_go)], None)
            == WELL
        )

    async def left(self) -> list[History]:
        return await self.stage.left.scheduler.claim(self.owner, [(self.task.workflow, "1")], 9)

    async def right(self) -> None:
        reply = Reply(task=self.task.uid, run=1, key="charge/1", attempt=1, outcome=Outcome.COMPLETED, output=DONE)
        await self.stage.right.scheduler.settle_misrouted([reply])

    async def check(self, left: Any, right: Any) -> None:
        assert right is None
        history: History
        histories = left or await self.stage.beside.scheduler.claim(self.owner, [(self.task.workflow, "1")], 9)
        (history,) = histories
        rows = await self.stage.beside.scheduler.read_inbox(self.owner, 0)
        if (await read_step(self.stage.beside, self.task)).state is StepState.COMPLETED:
            assert [found.state for found in history.steps] == [StepState.COMPLETED]
            assert rows == []
        else:
            assert [row.kind for row in rows] == [InboxKind.REPLY]


class Deadline(Owned):
    """The end of a task, and the Supervisor who tells it that its own time is over."""

    async def make(self, lease: float = LEASE) -> None:
        await super().make(lease)
        now = self.stage.world.clock.wall()
        self.late = await claimed(
            self.stage.world, self.stage.beside, self.owner, workflow=self.stage.name("w"), deadline=now
        )

    async def left(self) -> Committed:
        change = Change(task=self.late.uid, move=move(self.late, TaskState.PROCESSED))
        return await self.stage.left.scheduler.commit(self.owner, [change], None)

    async def right(self) -> bool:
        post = Post(task=self.late.uid, kind=InboxKind.FAIL, body=FAILED)
        expiry = TaskExpiry(task=self.late.uid, task_id=self.late.id, post=post, audit=audit(self.late))
        return await self.stage.right.supervisor.expire_tasks(self.stage.term, [expiry]) != []

    async def check(self, left: Any, right: Any) -> None:
        task = await read(self.stage.beside, self.late)
        if left == WELL:
            assert (right, task.state, task.inbox) == (False, TaskState.PROCESSED, 0)
        else:
            assert (right, task.state, task.inbox, task.deadline) == (True, TaskState.PROCESSING, 1, None)


class Acts(Scene):
    """Two operators who act at once: the chain of the audit has no fork."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.tasks = [stage.world.task(workflow=stage.name("w")) for _ in range(2)]

    async def make(self) -> None:
        await self.stage.beside.client.submit(self.tasks)

    async def left(self) -> TaskState:
        return await self.stage.left.client.direct(self.tasks[0].id, Directive(verb="cancel", actor="ada"))

    async def right(self) -> TaskState:
        return await self.stage.right.client.direct(self.tasks[1].id, Directive(verb="suspend", actor="bob"))

    async def check(self, left: Any, right: Any) -> None:
        assert (left, right) == (TaskState.CANCELLED, TaskState.SUSPENDED)
        assert await self.stage.breaks_in_chain() == []


class Seats(Scene):
    """Two Supervisors who would lead: one does."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    async def make(self) -> None:
        # Every meeting finds the seat free.
        self.stage.world.clock.advance(LEASE * 3)

    async def left(self) -> int | None:
        return await self.stage.left.supervisor.lead(self.stage.name("one"), LEASE)

    async def right(self) -> int | None:
        return await self.stage.right.supervisor.lead(self.stage.name("two"), LEASE)

    async def check(self, left: Any, right: Any) -> None:
        assert [left, right].count(None) == 1
