"""Planted bugs of status events and submissions; see ``bugs``."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from typing import Any, cast

from simulation.planted_bugs.planting import bug, put, reword
from stepward.client.queues.events import StatusEvents
from stepward.scheduler.commits import Commits
from stepward.scheduler.tasks.advance import Advance
from stepward.scheduler.tasks.records.loading import TaskLoader
from stepward.store.sqlite.engine.connection import BEGIN_WRITE
from stepward.store.sqlite.hot import status_events
from stepward.store.sqlite.hot.open_transaction import SqliteTransaction
from stepward.submission import Submitter


@bug
def told_outside_its_commit(stack: ExitStack) -> None:
    """Events are put into their queues before the commit of what they tell."""
    original = Commits._commit

    async def commit(self: Commits, changes: Any) -> Any:
        for change in changes:
            if change.status_events is not None:
                bodies = [(body, None) for body in change.status_events.bodies]
                await cast("Any", self._store).beside.put(change.status_events.queue, bodies)
                change.status_events = None
        return await original(self, changes)

    put(stack, Commits, "_commit", commit)


@bug
def recorded_outcomes_not_told(stack: ExitStack) -> None:
    """What a dead owner had recorded, and its heir gives to the workflow, is forgotten by those who tell."""
    original = Advance._deliver

    def deliver(self: Advance, active: Any, *given: Any) -> None:
        active.recorded = None
        original(self, active, *given)

    put(stack, Advance, "_deliver", deliver)


@bug
def sequence_used_twice(stack: ExitStack) -> None:
    """A Scheduler that takes a task over begins to count at its last owner's last event."""
    original = TaskLoader.admit

    def admit(self: TaskLoader, history: Any, now: float, **more: Any) -> Any:
        task = history.task
        task.events -= task.recovery_count > 0
        return original(self, history, now, **more)

    put(stack, TaskLoader, "admit", admit)
    reword(stack, status_events.Q, "count", "and events = ?2", "and events >= ?2")


@bug
def events_settled_before_they_are_heard(stack: ExitStack) -> None:
    """A reader settles what it has read, and gives it on after that."""
    original = StatusEvents._fetch

    async def fetch(self: StatusEvents) -> None:
        await original(self)
        await self._queues.settle(self._queue, [token for token, _ in self._ready])

    put(stack, StatusEvents, "_fetch", fetch)


@bug
def messages_settled_before_the_commit(stack: ExitStack) -> None:
    """A submission acknowledges what it takes, and makes tasks of it after that."""
    original = Submitter._work

    async def work(self: Submitter, found: Any) -> None:
        await self._queues.settle(self._queue, [stored.token for stored in found])
        await original(self, found)

    put(stack, Submitter, "_work", work)


@bug
def accepted_outside_a_savepoint(stack: ExitStack) -> None:
    """What a message that fails has written stands beside its neighbours' tasks."""
    put(stack, SqliteTransaction, "savepoint", lambda self: nullcontext())


@bug
def accepted_outside_the_transaction(stack: ExitStack) -> None:
    """What the application writes for a message commits before its task."""
    original = SqliteTransaction.submit

    async def submit(self: SqliteTransaction, *given: Any) -> Any:
        self._connection.commit()
        self._connection.begin(BEGIN_WRITE)
        return await original(self, *given)

    put(stack, SqliteTransaction, "submit", submit)


@bug
def messages_not_known_again(stack: ExitStack) -> None:
    """A message that comes again is accepted again."""

    async def known(self: SqliteTransaction, ids: Any) -> set[str]:
        return set()

    put(stack, SqliteTransaction, "known", known)


OF_EVENTS = (
    told_outside_its_commit,
    recorded_outcomes_not_told,
    sequence_used_twice,
    events_settled_before_they_are_heard,
    messages_settled_before_the_commit,
    accepted_outside_a_savepoint,
    accepted_outside_the_transaction,
    messages_not_known_again,
)
