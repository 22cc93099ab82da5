"""The applications' part of the store: submissions, reads, signals, directives, and completions of steps."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct

from stepward.model.pipeline_plan import NO_PLANS, Plans
from stepward.model.records import Step, Task, WorkflowRecord
from stepward.model.states import TaskState
from stepward.model.tasks.key_rules import KeyRule
from stepward.store.contract.by_subject.live_values import LiveValueStore
from stepward.store.contract.transactions import ExternalTransaction, Submitted, Transaction
from stepward.store.contract.values.directives import Directive
from stepward.store.contract.values.forks import Fork
from stepward.store.contract.values.step_completion import Completion, Refusal
from stepward.store.contract.values.updates import UpdateAct, UpdateRow


class Tally(Struct, frozen=True):
    """The progress of a task, counted from its steps without those that a repair set aside."""

    task: str
    """The task's uid."""
    steps: int = 0
    done: int = 0
    """Steps that are completed or undone."""
    stages: list[str] = []
    """The completed ones among the requested keys."""
    completed: int = 0
    """Keys that are completed."""


class CompletionStore(Protocol):
    """The verbs that finish steps from outside."""

    async def completion_key(self, fresh: bytes) -> bytes:
        """The key that signs this store's completion tokens; ``fresh`` becomes the key if there was none."""
        ...

    async def completed_step(self, task: str, run: int, key: str) -> Step | None:
        """The step that a completion is about; None if it does not exist."""
        ...

    async def complete(self, completion: Completion) -> Refusal | None:
        """Records the outcome of an attempt that is running and before its complete-by; returns None otherwise.

        The outcome is recorded and not delivered; an inbox row notifies the task's owner. Every call is audited.
        """
        ...

    async def refuse_completion(self, completion: Completion, refusal: Refusal) -> None:
        """Audits a completion that changes nothing: its token is not signed by this store, or its result does not
        fit."""
        ...


class ClientStore(CompletionStore, LiveValueStore, Protocol):
    """The verbs of applications."""

    def now(self) -> float:
        """The store's clock."""
        ...

    async def submit(self, tasks: Sequence[Task], plans: Plans = NO_PLANS) -> list[Submitted]:
        """Inserts tasks in one transaction; a task whose id exists is not inserted, and reported.

        A task whose workflow has a plan is recorded with a planned step for each stage.
        """
        ...

    async def submit_keyed(
        self, tasks: Sequence[Task], rule: KeyRule, plans: Plans = NO_PLANS, *, actor: str
    ) -> list[Submitted]:
        """Submits tasks in one transaction, one after the other, as the rule for their key says.

        A submission that joins a task is reported with it. Raises TaskConflict where the rule refuses one; nothing is
        submitted then. ``actor`` cancels the task that another replaces.
        """
        ...

    async def task(self, id: str) -> Task | None:
        """The task with that id; None if it does not exist."""
        ...

    async def steps(self, id: str) -> list[Step]:
        """All steps of a task in order of run and number."""
        ...

    async def tallies(self, uids: Sequence[str], stages: Sequence[str]) -> list[Tally]:
        """The progress of each of the tasks; ``stages`` are the step keys that their plans name."""
        ...

    async def ended(self, uids: Sequence[str]) -> list[Task]:
        """Those of the tasks that have ended."""
        ...

    async def direct(self, id: str, directive: Directive) -> TaskState:
        """Carries out a directive on a task without an owner, or puts it into the inbox of its owner; returns the state
        after.

        Raises TaskNotFound, or IllegalTransition when the task's state does not allow it.
        """
        ...

    async def signal(
        self,
        id: str,
        name: str,
        payload: bytes,
        signal_id: str | None,
        actor: str | None = None,
        *,
        expected: Sequence[str] = (),
        reason: str | None = None,
    ) -> bool:
        """Puts a signal into the task's inbox; False if a signal with that id was put before.

        It is audited only with an ``actor``, because entries of the audit are serialised over all tasks.
        """
        ...

    async def fork(self, fork: Fork) -> Submitted:
        """Inserts a task with a record. Raises TaskChanged if its origin is not as it was read, TaskConflict if its id
        is that of another task."""
        ...

    async def ask_update(self, asked: UpdateAct) -> UpdateRow:
        """Asks a task for an update; one whose id was asked before is returned as it stands, and nothing is changed."""
        ...

    async def update(self, task: str, id: str) -> UpdateRow | None:
        """An update of the task with that uid; None if it was not asked for."""
        ...

    async def workflow(self, name: str) -> list[WorkflowRecord]:
        """The registered versions of a workflow, newest registration first."""
        ...

    async def workflows(self) -> list[WorkflowRecord]:
        """All registered workflows."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """A transaction on a connection of the store; leaving it commits, an exception rolls back."""
        ...

    def external(self, connection: object) -> ExternalTransaction:
        """The transaction that is open on a connection of the application's. Raises Refused for a connection that
        cannot be used."""
        ...
