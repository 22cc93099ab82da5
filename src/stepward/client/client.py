"""The client: submits tasks and gives handles on them, with or without the application's code."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Unpack

import msgspec

from stepward.client.agents import AgentStatus, check_known, statuses
from stepward.client.completion import Completions
from stepward.client.handle import R, TaskHandle, TaskStatus, actor, status_of
from stepward.client.queues.events import Readers, StatusEvents
from stepward.client.queues.places import queues_beside
from stepward.client.repairs import refuse_unfit
from stepward.client.submitting import validation
from stepward.client.submitting.in_transaction import Prepared, Uncommitted, is_ours
from stepward.client.submitting.options import Options
from stepward.client.submitting.preparation import KnownWorkflow, Preparation
from stepward.client.waiting import Endings, Lookout
from stepward.clock import Environment
from stepward.durations import Duration
from stepward.errors import Refused, ScheduleNotFound, TaskNotFound
from stepward.events import Hints
from stepward.model.action import current_caller
from stepward.model.plan import Plan
from stepward.model.records import Alert, Audit, DeadLetter, Instance, Schedule, Task
from stepward.model.states import TaskState
from stepward.model.submit_options import SubmitOptions
from stepward.payload import PAYLOAD_BYTES
from stepward.schedules import timetable
from stepward.store.change_watcher import ChangeWatcher
from stepward.store.contract import Borrowed, Directive, Store, Submitted, TaskFilter, Transaction, WaitForHook
from stepward.store.opening import open_store
from stepward.store.rules.rewinding import named_step
from stepward.store.rules.verdicts import check_same
from stepward.transport.queues.queues import AppQueues
from stepward.workflow.definition import Workflow
from stepward.workflow.registry import Registry

SIGNAL_NAME = re.compile(r"[A-Za-z0-9._:-]{1,200}")
BATCH = 10_000
POLL = 1.0

NOT_ENTERED = (
    "client: expected use within `async with app.client() as client`, found it not entered yet; enter it first"
)
CLOSED = "client: expected use within `async with app.client() as client`, found it closed; open another"

Birth = Callable[[Task], "asyncio.Future[Submitted | None] | None"]
"""Lets a Scheduler of this process have a submission born claimed; None when there is none with room."""


class Client:
    """A connection to an application's state store; use it as ``async with Client(address, app=name)``.

    With ``transport``, a broker's address, response queues are read from there.
    """

    def __init__(
        self,
        store: str | Store,
        *,
        app: str,
        registry: Registry | None = None,
        environment: Environment | None = None,
        hints: Hints | None = None,
        queues: AppQueues | None = None,
        transport: str | None = None,
        endings: Endings | None = None,
        birth: Birth | None = None,
        payload_bytes: int = PAYLOAD_BYTES,
    ) -> None:
        self._environment = environment or Environment()
        self._owns_store = isinstance(store, str)
        opened = open_store(store, app=app, environment=self._environment) if isinstance(store, str) else store
        self._store: Store = opened
        self._missing = NOT_ENTERED if self._owns_store else None
        """What keeps the client from being used, if anything; one on a store that is open may be used at once."""
        self.app = app
        self.limit = payload_bytes
        self._preparation = Preparation(opened, app, registry or Registry([], []), self._environment, payload_bytes)
        self._hints = hints or Hints()
        self._operations = registry.operations if registry is not None else {}
        self._completions = Completions(opened, app, self._environment, self._hints, payload_bytes, self._operations)
        self._owns_queues = queues is None
        self._queues = queues or self._own_queues(transport)
        self._readers = Readers(self._queues)
        self._birth = birth
        self._uncommitted = Uncommitted()
        self._lookout = Lookout(opened, endings or Endings(), self._hints, POLL)
        self._watcher = ChangeWatcher(opened, self._hints) if self._owns_store else None

    async def __aenter__(self) -> Client:
        _refuse_in_workflow("app.client()")
        if self._owns_store:
            await self._store.open()
        if self._watcher is not None:
            self._watcher.start()
        self._missing = None
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._missing = CLOSED
        await self._lookout.stop()
        if self._watcher is not None:
            await self._watcher.stop()
        await self._readers.close()
        if self._owns_queues:
            await self._queues.close()
        if self._owns_store:
            await self._store.close()

    @property
    def store(self) -> Store:
        """The store. Raises Refused unless the client is open."""
        if self._missing is not None:
            raise Refused(self._missing)
        return self._store

    async def submit(
        self,
        workflow: Workflow[Any, R] | str,
        *args: Any,
        id: validation.Id | None = None,
        priority: int = 5,
        complete_by: datetime | Duration | None = None,
        delay: Duration | None = None,
        reply_to: str | None = None,
        transaction: object = None,
        labels: Mapping[str, str] | None = None,
        fairness_key: str | None = None,
        **kwargs: Any,
    ) -> TaskHandle[R]:
        """Have a workflow run once; returns when that is durable.

        An ``id`` that exists gives its task and starts nothing; raises TaskConflict if its arguments differ. With
        ``transaction`` the task exists only if that commits: one of ``client.transaction()``, or on PostgreSQL an open
        connection or session of asyncpg, psycopg 3, SQLAlchemy 2 or Django on the store's database.
        """
        options = Options(
            id=id,
            priority=priority,
            complete_by=complete_by,
            delay=delay,
            reply_to=reply_to,
            labels=labels,
            fairness_key=fairness_key,
        )
        prepared = await self.prepared(workflow, args, kwargs, options)
        if transaction is None:
            submitted = [await self._submit(prepared)]
        else:
            submitted = await self._submit_within(transaction, prepared)
        return self.handles(submitted, prepared.known)[0]

    async def submit_many(
        self,
        workflow: Workflow[Any, R] | str,
        arguments: Sequence[Sequence[Any]],
        *,
        ids: Sequence[validation.Id] | None = None,
        transaction: object = None,
        **options: Unpack[SubmitOptions],
    ) -> list[TaskHandle[R]]:
        """Submit a task for each tuple of arguments; nothing if one of them does not fit, or its id is another task's.

        With ``ids`` all are one transaction, without it 10,000 rows are.
        """
        prepared = await self.prepared_many(workflow, arguments, ids, Options(**options))
        if transaction is not None:
            return self.handles(await self._submit_within(transaction, prepared), prepared.known)
        if ids is None:
            submitted = await prepared.submit(self.store, BATCH)
        else:
            async with self.store.transaction() as whole:
                submitted = await prepared.submit(whole, BATCH)
        self._hints.hint()
        return self.handles(submitted, prepared.known)

    def events(self, queue: str) -> StatusEvents:
        """What tasks tell the private response queue ``queue``, in order per task, from where its reader left off.

        The queue has one reader at a time; an event counts as dealt with once the next one is asked for.
        """
        self._check("client.events()")
        return self._readers.open(validation.own_queue(queue, self.app))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """A connection of ours in which application rows and tasks commit together; an exception rolls back."""
        self._check("client.transaction()")
        async with self.store.transaction() as transaction:
            yield transaction
        self._hints.hint()

    def task(self, id: validation.Id) -> TaskHandle:
        """A handle on the task of that id; whether there is one shows when it is used."""
        return TaskHandle(self, validation.known_id(id))

    async def tasks(
        self,
        state: TaskState | str | None = None,
        workflow: str | None = None,
        label: tuple[str, str] | None = None,
        limit: int = 100,
    ) -> list[TaskStatus]:
        """Tasks, newest first."""
        wanted = TaskFilter(
            state=_state(state),
            workflow=validation.wanted_workflow(workflow),
            label=validation.wanted_label(label),
            limit=validation.listed(limit),
        )
        return await self._statuses(await self.store.tasks(wanted))

    async def alerts(self, limit: int = 100, open_only: bool = True) -> list[Alert]:
        """What operators were told, newest first."""
        return await self.store.alerts(limit, open_only)

    async def acknowledge(self, number: int) -> bool:
        """Mark an alert as seen."""
        return await self.store.acknowledge(number, actor())

    async def schedules(self) -> list[Schedule]:
        """The recurring tasks, by name."""
        return await self.store.schedules()

    async def pause_schedule(self, schedule: str) -> bool:
        """Fire that recurring task no more; False if it is paused already. Raises ScheduleNotFound."""
        await self._schedule(schedule)
        return await self.store.pause_schedule(schedule, actor())

    async def resume_schedule(self, schedule: str) -> bool:
        """Fire a paused recurring task again, from its next nominal time on. Raises ScheduleNotFound."""
        found = await self._schedule(schedule)
        next_at = timetable(found.cron, found.timezone).after(self.store.now())
        return await self.store.resume_schedule(schedule, next_at, actor())

    async def remove_schedule(self, schedule: str) -> None:
        """Forget a recurring task that no application declares any more. Raises ScheduleNotFound."""
        await self._schedule(schedule)
        await self.store.remove_schedule(schedule, actor())

    async def dead_letters(self, limit: int = 100) -> list[DeadLetter]:
        """Messages that nobody could use, newest first."""
        return await self.store.dead_letters(limit)

    async def put_back(self, *numbers: int) -> list[int]:
        """Put dead letters back into their queues, as new; the numbers of those that were there."""
        found = await self.store.put_back(numbers, actor())
        self._hints.hint()
        return found

    async def discard(self, *numbers: int) -> list[int]:
        """Throw dead letters away; the numbers of those that were there."""
        return await self.store.discard(numbers, actor())

    async def instances(self) -> list[Instance]:
        """The live actors, and those that died within the hour."""
        return await self.store.instances()

    async def agents(self) -> list[AgentStatus]:
        """The Agents that are served, or that steps wait for, by name."""
        return statuses(await self.store.instances(), await self.store.standings(), self.store.now())

    async def suspend_agent(self, name: str, note: str | None = None) -> bool:
        """Ask nothing more of that Agent: what is under way ends by itself, and steps wait, with no failure counted.

        False if it is suspended already. Raises AgentNotFound.
        """
        why = validation.note(note)
        check_known(name, await self.store.standings())
        is_new = await self.store.suspend_agent(name, why, actor())
        self._hints.hint()
        return is_new

    async def resume_agent(self, name: str) -> bool:
        """Ask a suspended Agent again, a little more each moment; False if it is at work. Raises AgentNotFound.

        A breaker that is open is closed too, if only instances in other languages are left, which cannot probe.
        """
        check_known(name, await self.store.standings())
        was_suspended = await self.store.resume_agent(name, actor())
        self._hints.hint()
        return was_suspended

    async def audits(self, id: validation.Id | None = None, limit: int = 100) -> list[Audit]:
        """Who did what to a task, or to all, newest first."""
        return await self.store.audits(None if id is None else validation.known_id(id), limit)

    async def record(self, id: validation.Id) -> Task:
        """The task's record. Raises TaskNotFound."""
        self._check("client.task()")
        known = validation.known_id(id)
        task = await self.store.task(known)
        if task is None:
            raise TaskNotFound(f"task {known[:200]!r}: expected an id that was submitted, found none such")
        return task

    async def plan(self, workflow: str, version: str) -> Plan | None:
        """The plan of a pipeline; None for workflow code."""
        return await self._preparation.plan(workflow, version)

    async def wait_for_end(self, uid: str) -> Task:
        """The task once it has ended."""
        self._check("client.task()")
        if self._uncommitted.look_for(uid):
            self._hints.hint()
        return await self._lookout.ended(uid)

    async def direct(self, id: validation.Id, directive: Directive) -> TaskState:
        """Carry out an operator's directive; the state after it, or the present one if its owner will act."""
        self._check("client.task()")
        if directive.input is not None or directive.result is not None:
            task = await self.record(id)
            refuse_unfit(named_step(task, await self.store.steps(task.id), directive), directive, self._operations)
        state = await self.store.direct(validation.known_id(id), directive)
        self._hints.hint()
        return state

    async def signal(
        self, id: validation.Id, name: str, body: bytes, signal_id: validation.Id | None, by: str | None = None
    ) -> bool:
        """Put a signal into a task's inbox; the audit names ``by``."""
        self._check("client.task()")
        if not SIGNAL_NAME.fullmatch(name):
            raise Refused(f"signal: expected a name of 1 to 200 of A-Z a-z 0-9 . _ : -, found {name[:60]!r}")
        fresh = await self.store.signal(validation.known_id(id), name, body, validation.signal_id(signal_id), by)
        self._hints.hint()
        return fresh

    async def complete(self, token: str, result: Any = None, *, by: str | None = None) -> None:
        """Finish a step from outside, done with that result; the audit names ``by``. Raises CompletionRefused."""
        self._check("client.complete()")
        await self._completions.complete(token, result, by)

    async def fail(self, token: str, message: str, *, by: str | None = None, **data: Any) -> None:
        """Finish a step from outside, failed for good; the workflow gets a StepFailed. Raises CompletionRefused."""
        self._check("client.fail()")
        await self._completions.fail(token, message, data, by)

    def _check(self, what: str) -> None:
        _refuse_in_workflow(what)
        if self._missing is not None:
            raise Refused(self._missing)

    async def _statuses(self, tasks: Sequence[Task]) -> list[TaskStatus]:
        plans = {(task.workflow, task.version): await self.plan(task.workflow, task.version) for task in tasks}
        stages = sorted({stage.key for plan in plans.values() for stage in plan or ()})
        found = await self.store.tallies([task.uid for task in tasks], stages) if tasks else []
        tallies = {tally.task: tally for tally in found}
        return [status_of(task, tallies[task.uid], plans[task.workflow, task.version]) for task in tasks]

    async def _schedule(self, name: str) -> Schedule:
        for schedule in await self.store.schedules():
            if schedule.name == name:
                return schedule
        raise ScheduleNotFound(f"schedule {name[:100]!r}: expected one that an application declares, found none such")

    def _own_queues(self, transport: str | None) -> AppQueues:
        queues = queues_beside(self._store, transport, self.app, self._environment)
        self._hints.listen(queues.wake)
        return queues

    async def prepared(
        self, workflow: Workflow[Any, Any] | str, args: tuple[Any, ...], kwargs: Mapping[str, Any], options: Options
    ) -> Prepared:
        """A submission that is checked, for ``submit``."""
        self._check("client.submit()")
        known = await self._preparation.known(workflow)
        return Prepared(known, [self._preparation.task(known, args, kwargs, options)], self._preparation.plans)

    async def prepared_many(
        self,
        workflow: Workflow[Any, Any] | str,
        arguments: Sequence[Sequence[Any]],
        ids: Sequence[validation.Id] | None,
        options: Options,
    ) -> Prepared:
        """Submissions that are checked, for ``submit_many``."""
        if ids is not None and len(ids) != len(arguments):
            raise Refused(f"ids: expected {len(arguments)}, one for each tuple of arguments, found {len(ids)}")
        self._check("client.submit()")
        known = await self._preparation.known(workflow)
        return Prepared(known, self._preparation.tasks(known, arguments, ids, options), self._preparation.plans)

    def submit_blocking(self, borrowed: Borrowed, prepared: Prepared, wait: WaitForHook) -> list[TaskHandle[Any]]:
        """Submit within an application's own transaction, on its connection, in the thread that calls."""
        submitted = prepared.submit_blocking(borrowed, BATCH, wait)
        self._uncommitted.add(submitted, borrowed.ring)
        return self.handles(submitted, prepared.known)

    def handles(self, submitted: Sequence[Submitted], known: KnownWorkflow) -> list[TaskHandle[Any]]:
        """A handle on each task. Raises TaskConflict if one is not what its id was asked for."""
        check_same(submitted)
        return [self._handle(each, known) for each in submitted]

    async def _submit_within(self, transaction: object, prepared: Prepared) -> list[Submitted]:
        if is_ours(transaction):
            async with transaction.savepoint():
                return await prepared.submit(transaction, BATCH)
        borrowed = self.store.borrowed(transaction)
        submitted = await prepared.submit_borrowed(borrowed, BATCH)
        self._uncommitted.add(submitted, borrowed.ring)
        return submitted

    async def _submit(self, prepared: Prepared) -> Submitted:
        (task,) = prepared.tasks
        if self._birth is not None and task.wake_at is None:
            born = self._birth(msgspec.structs.replace(task))
            submitted = await born if born is not None else None
            if submitted is not None:
                return submitted
        submitted = (await self.store.submit([task], prepared.plans))[0]
        self._hints.hint()
        return submitted

    def _handle(self, submitted: Submitted, known: KnownWorkflow) -> TaskHandle[Any]:
        result = known.signature.result_type if isinstance(known, Workflow) else Any
        return TaskHandle(self, submitted.id, submitted.uid, result)


def _refuse_in_workflow(what: str) -> None:
    caller = current_caller()
    if caller is not None:
        caller.refuse(what)


def _state(state: TaskState | str | None) -> TaskState | None:
    if state is None:
        return None
    try:
        return TaskState(state)
    except ValueError:
        raise Refused(f"state: expected one of {', '.join(TaskState)}, found {state!r}") from None
