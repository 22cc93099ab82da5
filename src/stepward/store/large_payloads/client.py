"""The applications' part of a store whose large payloads are kept outside it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from msgspec.structs import replace

from stepward.errors import Refused
from stepward.large_payloads import PayloadKeeper
from stepward.model.pipeline_plan import NO_PLANS, Plans
from stepward.model.records import Step, Task, WorkflowRecord
from stepward.model.states import TaskState
from stepward.model.tasks.key_rules import KeyRule, check_size_under_rule
from stepward.payload.sealed import why_unopened
from stepward.store.contract import (
    ClientStore,
    Completion,
    Directive,
    ExternalTransaction,
    Fork,
    LiveValue,
    Refusal,
    StreamValue,
    Submitted,
    Tally,
    Transaction,
    UpdateAct,
    UpdateRow,
)
from stepward.store.large_payloads.changes import put_row
from stepward.store.large_payloads.histories import fetch_task

Row = TypeVar("Row", Task, Step)


class LargePayloadClient:
    """Implements ``ClientStore`` around another. Raises StoreUnavailable while the object store cannot be reached.

    What ended tasks gave is fetched; reads of tasks and steps give references, as lists would fetch without a bound.
    Values that tasks publish or stream and answers to updates stay in the store. Tasks that are submitted within a
    transaction are given with references.
    """

    def __init__(self, inner: ClientStore, keeper: PayloadKeeper) -> None:
        self._inner = inner
        self._keeper = keeper

    def now(self) -> float:
        return self._inner.now()

    async def completion_key(self, fresh: bytes) -> bytes:
        return await self._inner.completion_key(fresh)

    async def completed_step(self, task: str, run: int, key: str) -> Step | None:
        """As ``ClientStore.completed_step``."""
        return await self._inner.completed_step(task, run, key)

    async def complete(self, completion: Completion) -> Refusal | None:
        return await self._inner.complete(await self._put_completion(completion))

    async def refuse_completion(self, completion: Completion, refusal: Refusal) -> None:
        """As ``ClientStore.refuse_completion``."""
        await self._inner.refuse_completion(await self._put_completion(completion), refusal)

    async def submit(self, tasks: Sequence[Task], plans: Plans = NO_PLANS) -> list[Submitted]:
        """As ``ClientStore.submit``."""
        return await self._inner.submit([await put_row(self._keeper, task.uid, task) for task in tasks], plans)

    async def submit_keyed(
        self, tasks: Sequence[Task], rule: KeyRule, plans: Plans = NO_PLANS, *, actor: str
    ) -> list[Submitted]:
        """As ``ClientStore.submit_keyed``. Raises Refused for a large payload that may come to be another task's."""
        check_size_under_rule(rule, is_large=any(self._keeper.is_large(task.input) for task in tasks))
        put = [await put_row(self._keeper, task.uid, task) for task in tasks]
        return await self._inner.submit_keyed(put, rule, plans, actor=actor)

    async def task(self, id: str) -> Task | None:
        return await self._inner.task(id)

    async def steps(self, id: str) -> list[Step]:
        return await self._inner.steps(id)

    async def tallies(self, uids: Sequence[str], stages: Sequence[str]) -> list[Tally]:
        """As ``ClientStore.tallies``."""
        return await self._inner.tallies(uids, stages)

    async def ended(self, uids: Sequence[str]) -> list[Task]:
        tasks = await self._inner.ended(uids)
        return await asyncio.gather(*(fetch_task(self._keeper, task) for task in tasks))

    async def direct(self, id: str, directive: Directive) -> TaskState:
        """As ``ClientStore.direct``."""
        if self._keeper.is_large(directive.input) or self._keeper.is_large(directive.result):
            owner = await self._owner(id)
            input = None if directive.input is None else await self._keeper.put(owner, directive.input)
            result = None if directive.result is None else await self._keeper.put(owner, directive.result)
            directive = replace(directive, input=input, result=result)
        return await self._inner.direct(id, directive)

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
        """As ``ClientStore.signal``."""
        if self._keeper.is_large(payload):
            payload = await self._keeper.put(await self._owner(id), payload)
        return await self._inner.signal(id, name, payload, signal_id, actor, expected=expected, reason=reason)

    async def live_value(self, task: str, name: str) -> LiveValue | None:
        return await self._inner.live_value(task, name)

    async def live_values(self, task: str) -> list[LiveValue]:
        return await self._inner.live_values(task)

    async def stream_values(self, task: str, name: str, start: int) -> list[StreamValue]:
        """As ``LiveValueStore.stream_values``."""
        return await self._inner.stream_values(task, name, start)

    async def streams(self, task: str) -> dict[str, int]:
        return await self._inner.streams(task)

    async def fork(self, fork: Fork) -> Submitted:
        """As ``ClientStore.fork``; the new task has objects of its own, as those of its origin end with that."""
        owner, task = fork.origin.uid, fork.task
        steps = [await self._moved(owner, task.uid, step, ("input", "output", "error")) for step in fork.steps]
        moved = replace(fork, task=await self._moved(owner, task.uid, task, ("input",)), steps=steps)
        return await self._inner.fork(moved)

    async def ask_update(self, asked: UpdateAct) -> UpdateRow:
        """As ``ClientStore.ask_update``."""
        if self._keeper.is_large(asked.body):
            asked = replace(asked, body=await self._keeper.put(await self._owner(asked.task_id), asked.body))
        return await self._inner.ask_update(asked)

    async def update(self, task: str, id: str) -> UpdateRow | None:
        return await self._inner.update(task, id)

    async def workflow(self, name: str) -> list[WorkflowRecord]:
        return await self._inner.workflow(name)

    async def workflows(self) -> list[WorkflowRecord]:
        return await self._inner.workflows()

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        return self._inner.transaction()

    def external(self, connection: object) -> ExternalTransaction:
        return self._inner.external(connection)

    async def _moved(self, owner: str, other: str, row: Row, names: Sequence[str]) -> Row:
        """The row with objects of another owner in place of those of ``owner``. Raises Refused for one that is gone."""
        moved: dict[str, bytes] = {}
        for name in names:
            data = getattr(row, name)
            if data is not None:
                found = await self._keeper.fetch(owner, data)
                if (why := why_unopened(found)) is not None:
                    raise Refused(f"fork: expected every payload of the record, found that {why}; fork from before it")
                moved[name] = await self._keeper.put(other, found, keeps_fields=name == "error")
        return replace(row, **moved)

    async def _owner(self, id: str) -> str:
        task = await self._inner.task(id)
        return id if task is None else task.uid

    async def _put_completion(self, completion: Completion) -> Completion:
        output, error = completion.output, completion.error
        if not self._keeper.is_large(output) and not self._keeper.is_large(error):
            return completion
        put = self._keeper.put
        return replace(
            completion,
            output=None if output is None else await put(completion.task, output),
            error=None if error is None else await put(completion.task, error, keeps_fields=True),
        )
