"""The applications' part of a store that is made of several: each verb goes to the partition of its task."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NoReturn, TypeVar

from stepward.errors import Refused, TaskNotFound
from stepward.model.pipeline_plan import NO_PLANS, Plans
from stepward.model.records import Step, Task, WorkflowRecord
from stepward.model.states import TaskState
from stepward.model.tasks.key_rules import KeyRule
from stepward.store.contract import (
    ClientStore,
    Completion,
    Directive,
    Fork,
    LiveValue,
    Refusal,
    Store,
    StreamValue,
    Submitted,
    Tally,
    UpdateAct,
    UpdateRow,
)
from stepward.store.partitions.locating.stray_tasks import StrayTasks
from stepward.store.partitions.partition import Partition
from stepward.store.partitions.partition_routing import REFRESH_SECONDS, Partitions
from stepward.store.partitions.placement import drawn_in, shard_of
from stepward.store.rules.refusals import not_found
from stepward.store.store_errors import ShardElsewhere

T = TypeVar("T")


class PartitionedClient:
    """Implements ``ClientStore`` over partitions."""

    def __init__(self, partitions: Partitions, strays: StrayTasks) -> None:
        self._partitions = partitions
        self._strays = strays

    def now(self) -> float:
        return self._partitions.now()

    async def completion_key(self, fresh: bytes) -> bytes:
        """The stores of an application have one key."""
        return await self._partitions.any(lambda store: store.client.completion_key(fresh))

    async def completed_step(self, task: str, run: int, key: str) -> Step | None:
        """As ``CompletionStore.completed_step``."""
        return await self._first(task, lambda client: client.completed_step(task, run, key))

    async def complete(self, completion: Completion) -> Refusal | None:
        return await self._of_step(completion, lambda client: client.complete(completion))

    async def refuse_completion(self, completion: Completion, refusal: Refusal) -> None:
        """As ``CompletionStore.refuse_completion``."""
        await self._of_step(completion, lambda client: client.refuse_completion(completion, refusal))

    async def submit(self, tasks: Sequence[Task], plans: Plans = NO_PLANS) -> list[Submitted]:
        """In one transaction for each store; if one cannot be reached, those of the others are submitted."""
        submitted = await self._strays.submitted(tasks)

        async def rest() -> None:
            await self._submit_rest(tasks, plans, submitted)

        await self._partitions.with_placement(rest)
        return [submitted[place] for place in range(len(tasks))]

    async def _submit_rest(self, tasks: Sequence[Task], plans: Plans, submitted: dict[int, Submitted]) -> None:
        """Submits those that are not yet; raises the failure of a store once the others have theirs."""
        placed: dict[Partition, list[int]] = {}
        for place, task in enumerate(tasks):
            if place in submitted:
                continue
            placed.setdefault(self._partitions.placed(task.id), []).append(place)
        asked = [
            partition.ask(partial(_submit, tasks=[tasks[place] for place in places], plans=plans))
            for partition, places in placed.items()
        ]
        found = await asyncio.gather(*asked, return_exceptions=True)
        failures = [answers for answers in found if isinstance(answers, BaseException)]
        for (partition, places), answers in zip(placed.items(), found, strict=True):
            if not isinstance(answers, BaseException):
                self._partitions.note(answers, partition)
                submitted.update(zip(places, answers, strict=True))
        if failures:
            raise next((each for each in failures if not isinstance(each, ShardElsewhere)), failures[0])

    async def submit_keyed(
        self, tasks: Sequence[Task], rule: KeyRule, plans: Plans = NO_PLANS, *, actor: str
    ) -> list[Submitted]:
        """All tasks of a key are in one store. Raises Refused for an id that was chosen: it may be placed elsewhere."""
        chosen = next((task.id for task in tasks if task.id != task.uid), None)
        if chosen is not None:
            raise Refused(
                f"per_key: expected no id beside it where an application has several stores, found {chosen!r:.100}; "
                "leave the id out: the key finds the task"
            )

        async def at_key() -> list[Submitted]:
            partition = self._partitions.placed_key(rule.key)
            found = await partition.ask(lambda store: store.client.submit_keyed(tasks, rule, plans, actor=actor))
            self._partitions.note(found, partition)
            return found

        return await self._partitions.with_placement(at_key)

    async def task(self, id: str) -> Task | None:
        partition, task = await self._found(id) or (None, None)
        if partition is not None and task is not None:
            self._partitions.note([task], partition)
        return task

    async def steps(self, id: str) -> list[Step]:
        return await self._first(id, lambda client: client.steps(id)) or []

    async def tallies(self, uids: Sequence[str], stages: Sequence[str]) -> list[Tally]:
        """As ``ClientStore.tallies``."""
        await self._partitions.refresh(after=REFRESH_SECONDS)
        asked = self._partitions.split(uids)
        found = await self._partitions.read_those(
            {partition: partial(_tallies, uids=those, stages=stages) for partition, those in asked.items()}
        )
        known = {tally.task: tally for _, tallies in found for tally in tallies if tally.steps}
        return [known.get(uid) or Tally(uid) for uid in uids]

    async def ended(self, uids: Sequence[str]) -> list[Task]:
        await self._partitions.refresh(after=REFRESH_SECONDS)
        asked = self._partitions.split(uids)
        found = await self._partitions.read_those(
            {partition: partial(_ended, uids=those) for partition, those in asked.items()}
        )
        return [task for _, tasks in found for task in tasks]

    async def direct(self, id: str, directive: Directive) -> TaskState:
        """As ``ClientStore.direct``."""
        return await self._of_task(id, lambda client: client.direct(id, directive))

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
        return await self._of_task(
            id,
            lambda client: client.signal(id, name, payload, signal_id, actor, expected=expected, reason=reason),
        )

    async def fork(self, fork: Fork) -> Submitted:
        """A fork is in the store of its origin. Raises Refused for an id that is placed elsewhere."""
        origin, id = fork.origin.id, fork.task.id

        async def beside() -> Submitted:
            home = await self._home(origin)
            if id != fork.task.uid and self._partitions.placed(id) is not home:
                raise Refused(
                    f"fork of task {origin}: expected an id that is placed in partition {home.name}, as its origin is, "
                    f"found {id!r:.100} of {self._partitions.placed(id).name}; leave the id out, or choose another"
                )
            if strays := await self._strays.submitted([fork.task]):
                return strays[0]
            try:
                forked = await home.ask(lambda store: store.client.fork(fork))
            except TaskNotFound:
                if await self._home(origin) is home:
                    raise
                # The origin has left after it was found there.
                raise ShardElsewhere(shard_of(origin)) from None
            self._partitions.note([forked], home)
            return forked

        return await self._partitions.with_placement(beside)

    def uid_beside(self, origin: str, uid: str) -> str:
        """The uid of a fork, so that its id is placed where the origin is."""
        home, shard = self._partitions.where(origin)[0], shard_of(origin)
        return drawn_in(uid, home.shards if shard not in home.shards and home.shards else frozenset({shard}))

    async def ask_update(self, asked: UpdateAct) -> UpdateRow:
        """As ``ClientStore.ask_update``."""
        return await self._of_task(asked.task_id, lambda client: client.ask_update(asked))

    async def update(self, task: str, id: str) -> UpdateRow | None:
        return await self._first(task, lambda client: client.update(task, id))

    async def live_value(self, task: str, name: str) -> LiveValue | None:
        return await self._first(task, lambda client: client.live_value(task, name))

    async def live_values(self, task: str) -> list[LiveValue]:
        return await self._first(task, lambda client: client.live_values(task)) or []

    async def stream_values(self, task: str, name: str, start: int) -> list[StreamValue]:
        """As ``LiveValueStore.stream_values``."""
        return await self._first(task, lambda client: client.stream_values(task, name, start)) or []

    async def streams(self, task: str) -> dict[str, int]:
        return await self._first(task, lambda client: client.streams(task)) or {}

    async def workflow(self, name: str) -> list[WorkflowRecord]:
        found = await self._partitions.read_each(lambda store: store.client.workflow(name))
        return _each_once([record for _, records in found for record in records])

    async def workflows(self) -> list[WorkflowRecord]:
        found = await self._partitions.read_each(lambda store: store.client.workflows())
        return _each_once([record for _, records in found for record in records])

    def transaction(self) -> NoReturn:
        """Refuses: a transaction is of one store, and the tasks in it may be placed in several."""
        raise Refused(
            f"client.transaction(): expected an application with one store, found {len(self._partitions.members)} "
            "partitions; submit without it, or keep an outbox where your rows are"
        )

    def external(self, connection: object) -> NoReturn:
        """Refuses for the same reason."""
        raise Refused(
            f"transaction: expected an application with one store, found {len(self._partitions.members)} partitions; "
            "submit without it, or keep an outbox where your rows are"
        )

    async def _first(self, id: str, verb: Callable[[ClientStore], Awaitable[T]]) -> T | None:
        """The first answer that is not empty; an id may be a uid, which says nothing of the place of a task whose id
        was chosen."""
        return await self._partitions.first(lambda store: verb(store.client), bool, id)

    async def _of_task(self, id: str, verb: Callable[[ClientStore], Awaitable[T]]) -> T:
        """The result of a verb that raises TaskNotFound where the task is not."""
        asked, is_home = self._partitions.where(id)[0], False
        while True:
            try:
                return await asked.ask(lambda store: verb(store.client))
            except TaskNotFound:
                home = await self._home(id)
                if home is asked and is_home:
                    raise
            # The first one asked may be where the task has arrived meanwhile.
            asked, is_home = home, True

    async def _of_step(self, completion: Completion, verb: Callable[[ClientStore], Awaitable[T]]) -> T:
        """The result of a verb on the step of a completion; of an unknown one that of the partition of its id."""
        task = completion.task
        while True:
            members, version = self._partitions.where(task), self._partitions.version
            found = await self._partitions.holder(
                lambda store: store.client.completed_step(task, completion.run, completion.key), task
            )
            result = await (found or members[0]).ask(lambda store: verb(store.client))
            if result and self._partitions.may_move:
                await self._partitions.refresh()
            if not result or version == self._partitions.version:
                return result
            # The step may have left after it was found there.

    async def _home(self, id: str) -> Partition:
        """The partition of the task with that id. Raises TaskNotFound."""
        found = await self._found(id)
        if found is None:
            raise not_found(id)
        return found[0]

    async def _found(self, id: str) -> tuple[Partition, Task | None] | None:
        def look() -> Awaitable[tuple[Partition, Task | None] | None]:
            return self._partitions.looked_for(lambda store: store.client.task(id), bool, id)

        found = await look()
        # It may have been noted where it was before it moved.
        return await look() if found is None and self._partitions.forget(id) else found


async def _submit(store: Store, *, tasks: Sequence[Task], plans: Plans) -> list[Submitted]:
    return await store.client.submit(tasks, plans)


async def _tallies(store: Store, *, uids: Sequence[str], stages: Sequence[str]) -> list[Tally]:
    return await store.client.tallies(uids, stages)


async def _ended(store: Store, *, uids: Sequence[str]) -> list[Task]:
    return await store.client.ended(uids)


def _each_once(records: Sequence[WorkflowRecord]) -> list[WorkflowRecord]:
    """The registrations in their order, each version once."""
    return list({(record.name, record.version): record for record in records[::-1]}.values())[::-1]
