"""Writing submissions: alone, many at once, within a transaction, or claimed at once by this process's Scheduler."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from stepward.client.submitting.in_transaction import Prepared, Uncommitted, is_ours
from stepward.client.submitting.options import Options
from stepward.client.submitting.preparation import Preparation
from stepward.client.submitting.validation import Id
from stepward.errors import Refused
from stepward.events import Hints
from stepward.model.plan import Plan
from stepward.model.records import Task
from stepward.store.contract import Borrowed, ClientStore, Submitted, WaitForHook
from stepward.workflow.definition import Workflow

BATCH = 10_000
"""Most rows of one transaction, where several are allowed."""

SubmitLocally = Callable[[Task], "asyncio.Future[Submitted | None] | None"]
"""Lets a Scheduler of this process have a submission born claimed; None when there is none with room."""


class SubmissionWriter:
    """Checks submissions and writes them into one store."""

    def __init__(
        self, store: ClientStore, preparation: Preparation, hints: Hints, submit_locally: SubmitLocally | None
    ) -> None:
        self._store = store
        self._preparation = preparation
        self._hints = hints
        self._submit_locally = submit_locally
        self._uncommitted = Uncommitted()

    async def prepared(
        self, workflow: Workflow[Any, Any] | str, args: tuple[Any, ...], kwargs: Mapping[str, Any], options: Options
    ) -> Prepared:
        """One submission that is checked."""
        known = await self._preparation.known(workflow)
        return Prepared(known, [self._preparation.task(known, args, kwargs, options)], self._preparation.plans)

    async def prepared_many(
        self,
        workflow: Workflow[Any, Any] | str,
        arguments: Sequence[Sequence[Any]],
        ids: Sequence[Id] | None,
        options: Options,
    ) -> Prepared:
        """Submissions that are checked, one for each tuple of arguments."""
        if ids is not None and len(ids) != len(arguments):
            raise Refused(f"ids: expected {len(arguments)}, one for each tuple of arguments, found {len(ids)}")
        known = await self._preparation.known(workflow)
        return Prepared(known, self._preparation.tasks(known, arguments, ids, options), self._preparation.plans)

    async def plan(self, workflow: str, version: str) -> Plan | None:
        """The plan of a pipeline; None for workflow code."""
        return await self._preparation.plan(workflow, version)

    async def write(self, prepared: Prepared) -> list[Submitted]:
        """Write one task in a transaction of its own."""
        (task,) = prepared.tasks
        if self._submit_locally is not None and task.wake_at is None:
            born = self._submit_locally(msgspec.structs.replace(task))
            submitted = await born if born is not None else None
            if submitted is not None:
                return [submitted]
        found = await self._store.submit([task], prepared.plans)
        self._hints.hint()
        return found

    async def write_many(self, prepared: Prepared, *, at_once: bool) -> list[Submitted]:
        """Write all, in one transaction if they are to be there ``at_once``."""
        if at_once:
            async with self._store.transaction() as whole:
                submitted = await prepared.submit(whole, BATCH)
        else:
            submitted = await prepared.submit(self._store, BATCH)
        self._hints.hint()
        return submitted

    async def write_within(self, transaction: object, prepared: Prepared) -> list[Submitted]:
        """Write them within an open transaction, one of ours or the application's own."""
        if is_ours(transaction):
            async with transaction.savepoint():
                return await prepared.submit(transaction, BATCH)
        borrowed = self._store.borrowed(transaction)
        submitted = await prepared.submit_borrowed(borrowed, BATCH)
        self._uncommitted.add(submitted, borrowed.ring)
        return submitted

    def borrowed(self, transaction: object) -> Borrowed:
        """The application's own transaction. Raises Refused for what is none."""
        return self._store.borrowed(transaction)

    def write_blocking(self, borrowed: Borrowed, prepared: Prepared, wait: WaitForHook) -> list[Submitted]:
        """Write them within an application's own transaction, on its connection, in the thread that calls."""
        submitted = prepared.submit_blocking(borrowed, BATCH, wait)
        self._uncommitted.add(submitted, borrowed.ring)
        return submitted

    def look_for(self, uid: str) -> None:
        """Somebody waits for that task: if its transaction is the application's own, Schedulers look for it now."""
        if self._uncommitted.look_for(uid):
            self._hints.hint()
