"""The part of the store that applications and operators have."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from stepward.model.plan import NO_PLANS, Plans
from stepward.model.records import Step, Task, WorkflowRecord
from stepward.model.states import TaskState
from stepward.store.contract.scheduler import Submitted, Transaction
from stepward.store.contract.transactions import Borrowed
from stepward.store.contract.values.completion import CompletionStore


class Doubt(StrEnum):
    """An operator's word on attempts of which nobody knows whether they acted."""

    UNDO = "undo"
    """Undo them first, with None for the result that nobody knows."""
    DID_NOT_HAPPEN = "did_not_happen"
    """The operator has looked: they did nothing."""


class Later(StrEnum):
    """An operator's word on what a repair sets aside."""

    UNDO = "undo"
    """Undo what can be undone first; the rest is kept."""
    KEEP = "keep"
    """What it did stands, until the whole task is undone."""


class Directive(Struct, frozen=True, kw_only=True):
    """What an operator or application asks of a task: undo, cancel, suspend, resume, resubmit, mark_done."""

    verb: str
    actor: str
    step: str | None = None
    """resubmit, mark_done: the key of the step; None: the one that the task's error names."""
    input: bytes | None = None
    """resubmit: the edited argument array."""
    result: bytes | None = None
    """mark_done: the result to record."""
    doubt: Doubt | None = None
    """resubmit: what is to become of attempts in doubt; None refuses an edited input while there are any."""
    later: Later | None = None
    """resubmit, mark_done: what is to become of what was done after the step's outcome was delivered."""
    deadline: float | None = None
    """resubmit, mark_done: by when the whole task is to end from now on; None leaves it, unless it is past."""


class Tally(Struct, frozen=True):
    """How far a task is, counted from its steps; what a repair set aside counts no more."""

    task: str
    """The uid."""
    steps: int = 0
    done: int = 0
    """Completed or undone."""
    stages: list[str] = []
    """Of the keys that were asked for, those that are completed."""
    completed: int = 0
    """Keys that are completed."""


class ClientStore(CompletionStore, Protocol):
    """What applications may do."""

    def now(self) -> float:
        """The store's clock."""
        ...

    async def submit(self, tasks: Sequence[Task], plans: Plans = NO_PLANS) -> list[Submitted]:
        """Insert tasks in one transaction; an id that exists is left alone and reported.

        A task whose workflow has a plan is recorded with a planned step for each stage.
        """
        ...

    async def task(self, id: str) -> Task | None:
        """The task of that id."""
        ...

    async def steps(self, id: str) -> list[Step]:
        """All steps of a task in order of run and number."""
        ...

    async def tallies(self, uids: Sequence[str], stages: Sequence[str]) -> list[Tally]:
        """How far each of the tasks is; ``stages`` are the keys of the stages that plans of theirs name."""
        ...

    async def ended(self, uids: Sequence[str]) -> list[Task]:
        """Those of the tasks that have ended."""
        ...

    async def direct(self, id: str, directive: Directive) -> TaskState:
        """Carry out a directive on a free task, or put it into the inbox of its owner; the state after.

        Raises TaskNotFound, or IllegalTransition when the task's state does not allow it.
        """
        ...

    async def signal(self, id: str, name: str, payload: bytes, signal_id: str | None, actor: str | None = None) -> bool:
        """Put a signal into the task's inbox; False if one with that signal id was put before.

        It is audited only under the name of an ``actor``: each entry waits for the one before it, in all tasks.
        """
        ...

    async def workflow(self, name: str) -> list[WorkflowRecord]:
        """The registered versions of a workflow, newest registration first."""
        ...

    async def workflows(self) -> list[WorkflowRecord]:
        """All registered workflows."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """A transaction of its own; leaving it commits, an exception rolls back."""
        ...

    def borrowed(self, connection: object) -> Borrowed:
        """The transaction open on a connection of the application's. Raises Refused for what cannot be used so."""
        ...
