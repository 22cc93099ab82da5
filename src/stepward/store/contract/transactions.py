"""Open transactions: on the store's connections, with rows of the application, and on an application's connection."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from msgspec import Struct

from stepward.model.pipeline_plan import NO_PLANS, Plans
from stepward.model.records import Task
from stepward.model.tasks.key_rules import KeyRule
from stepward.store.contract.values.change_rows import Finish

WaitForHook = Callable[[Coroutine[Any, Any, None]], None]
"""Runs a coroutine where the store's own connections are used, and waits for its result."""


class ExternalTransaction(Protocol):
    """An application's open transaction, on its own connection to the store's database."""

    async def submit(self, parts: Sequence[Sequence[Task]], plans: Plans = NO_PLANS) -> list[Submitted]:
        """As ``ClientStore.submit`` for one part after the other, within that transaction.

        Raises TaskConflict; after any error nothing of any part is left, and the rest of the transaction is unchanged.
        """
        ...

    def submit_blocking(self, parts: Sequence[Sequence[Task]], plans: Plans, wait: WaitForHook) -> list[Submitted]:
        """The same, in the calling thread."""
        ...

    def ring(self) -> None:
        """Notifies Schedulers that the transaction may have committed."""
        ...


class StepTransaction(Protocol):
    """The connection that a transactional step is given; its rows and the step's outcome commit together."""

    async def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Runs one statement and returns its rows."""
        ...


class Transaction(StepTransaction, Protocol):
    """An open transaction in which application rows and Stepward's own commit together."""

    async def submit(self, tasks: Sequence[Task], plans: Plans = NO_PLANS) -> list[Submitted]:
        """As ``ClientStore.submit``, within this transaction."""
        ...

    async def submit_keyed(
        self, tasks: Sequence[Task], rule: KeyRule, plans: Plans = NO_PLANS, *, actor: str
    ) -> list[Submitted]:
        """As ``ClientStore.submit_keyed``, within this transaction."""
        ...

    async def known(self, ids: Sequence[str]) -> set[str]:
        """Those of the ids that belong to a task, or to a submission that joined one."""
        ...

    def savepoint(self) -> AbstractAsyncContextManager[None]:
        """A savepoint, which is rolled back when an exception leaves the block."""
        ...

    async def finish(self, instance: str, finish: Finish, written: bytes | None = None) -> bool:
        """Records a step's outcome (ordinal None) and the values that it wrote; False, with nothing changed, if another
        attempt is running, or the task's undo has begun."""
        ...


class Submitted(Struct, frozen=True):
    """``created`` is False when a task with that id existed already; ``same`` says whether its submission was equal.

    ``joined`` says that a rule for the key gave the submission to this task.
    """

    uid: str
    id: str
    created: bool
    same: bool
    joined: bool = False
