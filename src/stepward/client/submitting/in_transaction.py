"""Submission within an open transaction: one of ours, or the application's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeGuard

from stepward.model.pipeline_plan import Plans
from stepward.model.records import Task, WorkflowRecord
from stepward.model.tasks.key_rules import KeyRule
from stepward.store.contract import ClientStore, ExternalTransaction, Submitted, Transaction, WaitForHook
from stepward.store.rules.refusals import check_same
from stepward.workflow.definition import Workflow

KnownWorkflow = Workflow[Any, Any] | WorkflowRecord
"""A workflow by its code, or by what a Scheduler registered of it."""
REMEMBERED = 1000


class Prepared(NamedTuple):
    """A submission that was checked, and not written yet."""

    known: KnownWorkflow
    tasks: Sequence[Task]
    plans: Plans
    rule: KeyRule | None = None

    async def submit(self, target: ClientStore | Transaction, rows: int, actor: str) -> list[Submitted]:
        """Submit the tasks, at most so many rows at once, planned steps counted.

        Raises TaskConflict; in a transaction those before it are to be rolled back.
        """
        submitted: list[Submitted] = []
        for tasks in self._slices(rows):
            if self.rule is None:
                submitted += await target.submit(tasks, self.plans)
            else:
                submitted += await target.submit_keyed(tasks, self.rule, self.plans, actor=actor)
            check_same(submitted[-len(tasks) :])
        return submitted

    async def submit_borrowed(self, borrowed: ExternalTransaction, rows: int) -> list[Submitted]:
        """The same on an application's own connection, where TaskConflict leaves nothing."""
        return await borrowed.submit(self._slices(rows), self.plans)

    def submit_blocking(self, borrowed: ExternalTransaction, rows: int, wait: WaitForHook) -> list[Submitted]:
        """The same in the thread that calls."""
        return borrowed.submit_blocking(self._slices(rows), self.plans, wait)

    def _slices(self, rows: int) -> list[Sequence[Task]]:
        size = max(1, rows // (1 + len(self.plans.get((self.known.name, self.known.version), ()))))
        return [self.tasks[start : start + size] for start in range(0, len(self.tasks), size)]


def is_ours(transaction: Any) -> TypeGuard[Transaction]:
    """Whether it is one of ``client.transaction()``, or of a transactional step."""
    return all(callable(getattr(transaction, verb, None)) for verb in ("submit", "known", "savepoint"))


class Uncommitted:
    """The tasks of applications' own transactions, whose commit sends no hint: one that is waited for is looked for.

    Of very many the oldest are forgotten: Schedulers find those at their next poll.
    """

    def __init__(self) -> None:
        self._rings: dict[str, Callable[[], None]] = {}

    def add(self, submitted: Sequence[Submitted], ring: Callable[[], None]) -> None:
        """Have Schedulers look for these tasks, by ``ring``, once a client waits for them."""
        for each in submitted[-REMEMBERED:]:
            self._rings[each.uid] = ring
        while len(self._rings) > REMEMBERED:
            self._rings.pop(next(iter(self._rings)))

    def look_for(self, uid: str) -> bool:
        """Have Schedulers look for this task, if it is such a one; whether it is."""
        ring = self._rings.pop(uid, None)
        if ring is not None:
            ring()
        return ring is not None
