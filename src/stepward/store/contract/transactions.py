"""Open transactions: of the store's own, in which application rows commit too, and of an application's connection."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from msgspec import Struct

from stepward.model.plan import NO_PLANS, Plans
from stepward.model.records import Task
from stepward.store.contract.values.change_rows import Finish

WaitForHook = Callable[[Coroutine[Any, Any, None]], None]
"""Runs a coroutine where the store's own connections are used, and waits for its end."""


class ExternalTransaction(Protocol):
    """An application's own open transaction, on its own connection to the database in which the store stands."""

    async def submit(self, parts: Sequence[Sequence[Task]], plans: Plans = NO_PLANS) -> list[Submitted]:
        """As ``ClientStore.submit`` of one part after the other, within that transaction.

        Raises TaskConflict; whatever is raised leaves nothing of any part, and the rest of the transaction as it was.
        """
        ...

    def submit_blocking(self, parts: Sequence[Sequence[Task]], plans: Plans, wait: WaitForHook) -> list[Submitted]:
        """The same, in this thread."""
        ...

    def ring(self) -> None:
        """Have Schedulers look whether it has committed."""
        ...


class StepTransaction(Protocol):
    """The connection that a transactional step is given; its rows and the step's outcome commit together."""

    async def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement and return its rows."""
        ...


class Transaction(StepTransaction, Protocol):
    """An open transaction in which application rows and Stepward's own commit together."""

    async def submit(self, tasks: Sequence[Task], plans: Plans = NO_PLANS) -> list[Submitted]:
        """As ``ClientStore.submit``, within this transaction."""
        ...

    async def known(self, ids: Sequence[str]) -> set[str]:
        """Those of the ids that a task has."""
        ...

    def savepoint(self) -> AbstractAsyncContextManager[None]:
        """A part that is rolled back by itself when an exception leaves it."""
        ...

    async def finish(self, instance: str, finish: Finish) -> bool:
        """Record a step's outcome (ordinal None); False, with nothing changed, if the attempt is no longer it, or the
        task's undo has begun."""
        ...


class Submitted(Struct, frozen=True):
    """``created`` is False when a task of that id was there already; ``same`` whether its submission was equal."""

    uid: str
    id: str
    created: bool
    same: bool
