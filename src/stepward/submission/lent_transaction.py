"""The transaction that ``accept`` receives: valid for one message only."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from stepward.errors import Refused
from stepward.model.pipeline_plan import NO_PLANS, Plans
from stepward.model.records import Task
from stepward.model.tasks.key_rules import KeyRule
from stepward.store.contract import Finish, Submitted, Transaction


class LentTransaction:
    """A ``Transaction`` until it is revoked: code that ``accept`` left running must not write into another
    message's part."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._is_over = False

    def take_back(self) -> None:
        """Revoke: from now on every method raises Refused."""
        self._is_over = True

    async def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return await self._still_lent().execute(sql, parameters)

    async def submit(self, tasks: Sequence[Task], plans: Plans = NO_PLANS) -> list[Submitted]:
        return await self._still_lent().submit(tasks, plans)

    async def submit_keyed(
        self, tasks: Sequence[Task], rule: KeyRule, plans: Plans = NO_PLANS, *, actor: str
    ) -> list[Submitted]:
        """As ``Transaction.submit_keyed``."""
        return await self._still_lent().submit_keyed(tasks, rule, plans, actor=actor)

    async def known(self, ids: Sequence[str]) -> set[str]:
        return await self._still_lent().known(ids)

    def savepoint(self) -> AbstractAsyncContextManager[None]:
        return self._still_lent().savepoint()

    async def finish(self, instance: str, finish: Finish, written: bytes | None = None) -> bool:
        return await self._still_lent().finish(instance, finish, written)

    def _still_lent(self) -> Transaction:
        if self._is_over:
            raise Refused("transaction: expected use within accept, found accept over; await what uses it there")
        return self._transaction
