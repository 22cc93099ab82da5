"""The applications' part of the store: submit, read, signal, direct, and finish steps from outside."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct

from stepward.model.plan import NO_PLANS, Plans
from stepward.model.records import Step, Task, WorkflowRecord
from stepward.model.states import TaskState
from stepward.store.contract.transactions import ExternalTransaction, Submitted, Transaction
from stepward.store.contract.values.completion import Completion, Refusal
from stepward.store.contract.values.directives import Directive


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


class CompletionStore(Protocol):
    """What finishing steps from outside needs of the store."""

    async def completion_key(self, fresh: bytes) -> bytes:
        """The key with which this store's completion tokens are signed; ``fresh`` is it if there was none."""
        ...

    async def completed_step(self, task: str, run: int, key: str) -> Step | None:
        """The step that a completion is about, as it stands; None if there is none such."""
        ...

    async def complete(self, completion: Completion) -> Refusal | None:
        """End the attempt with that outcome if it still runs, before its complete-by; None says so.

        The outcome is recorded and not delivered, and the task's owner is told by a row in its inbox. Whatever comes of
        it is audited.
        """
        ...

    async def refuse_completion(self, completion: Completion, refusal: Refusal) -> None:
        """Audit a try that changes nothing else: a token that this store did not sign, a result that does not fit."""
        ...


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

    def external(self, connection: object) -> ExternalTransaction:
        """The transaction open on a connection of the application's. Raises Refused for what cannot be used so."""
        ...
