"""An open transaction in which application rows, submissions and a step's outcome commit together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from msgspec.structs import astuple, replace

from stepward.model.pipeline_plan import NO_PLANS, Plans
from stepward.model.records import Task
from stepward.model.tasks.key_rules import KeyRule
from stepward.store.contract import Finish, Submitted
from stepward.store.transaction_scopes import Scope
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.flow_control import keyed_submissions
from stepward.store.verbs.tasks import live_values, new_tasks

T = TypeVar("T")

ROLLED_BACK = "transaction: expected it open, found it rolled back by an earlier statement; leave it"
ENDED_BY_STATEMENT = "transaction: expected statements within it, found one that ends it; leave that to Stepward"


class OpenTransaction(ABC):
    """Implements ``Transaction`` without the application's own statements and savepoints."""

    def __init__(self, connection: VerbConnection, scope: Scope) -> None:
        self._verbs = connection
        self._scope = scope

    async def submit(self, tasks: Sequence[Task], plans: Plans = NO_PLANS) -> list[Submitted]:
        self._check_open()
        # Before anything is inserted: the application may catch the error and commit.
        await self._translated(new_tasks.check_shards(self._verbs, [task.id for task in tasks]))
        return await self._translated(new_tasks.insert(self._verbs, tasks, plans))

    async def submit_keyed(
        self, tasks: Sequence[Task], rule: KeyRule, plans: Plans = NO_PLANS, *, actor: str
    ) -> list[Submitted]:
        self._check_open()
        return await self._translated(keyed_submissions.submit(self._verbs, tasks, rule, plans, actor))

    async def known(self, ids: Sequence[str]) -> set[str]:
        self._check_open()
        return {row[0] for row in await self._translated(self._verbs.rows("keyed.known", list(ids)))}

    async def finish(self, instance: str, finish: Finish, written: bytes | None = None) -> bool:
        """Commits; raises InstanceFenced if the instance is dead."""
        self._check_open()
        return await self._translated(self._finish(instance, finish, written))

    async def _finish(self, instance: str, finish: Finish, written: bytes | None) -> bool:
        await self._prove(instance)
        if not await self._verbs.rows("turn.held_forward", finish.task, instance):
            return False
        if await self._verbs.change_each("turn.finish", [astuple(replace(finish, ordinal=None))]) != 1:
            return False
        await live_values.write(self._verbs, finish.task, written, finish.finished_at)
        return True

    def _check_open(self) -> None:
        self._scope.check()

    async def _translated(self, work: Awaitable[T]) -> T:
        """The result of work on the store's own rows; errors of the driver are translated into Stepward's."""
        return await work

    @abstractmethod
    async def _prove(self, instance: str) -> None:
        """Raises InstanceFenced unless the instance is alive, and keeps it so until the transaction ends."""
