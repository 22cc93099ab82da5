"""The part of the store that works on an application's own open transaction."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from stepward.model.plan import NO_PLANS, Plans
from stepward.model.records import Task
from stepward.store.contract.scheduler import Submitted

WaitForHook = Callable[[Coroutine[Any, Any, None]], None]
"""Runs a coroutine where the store's own connections are used, and waits for its end."""


class Borrowed(Protocol):
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
