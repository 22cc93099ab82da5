"""A handle on one task: what became of it, and what may be done with it."""

from __future__ import annotations

import asyncio
import getpass
import typing
from typing import TYPE_CHECKING, Any, Generic, Protocol

import msgspec
from msgspec import Struct

from stepward.client.progress import Progress, progress_of
from stepward.durations import Duration, seconds
from stepward.errors import TaskCancelled, TaskFailed, TaskUndone
from stepward.model.plan import Plan
from stepward.model.records import Step, Task
from stepward.model.states import StepState, TaskState
from stepward.payload import decode, encode
from stepward.store.contract import ClientStore, Directive

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    R = TypeVar("R", default=Any)
else:
    R = typing.TypeVar("R")
"""What the workflow returns: Any for a task that is known by name or id alone."""


class Door(Protocol):
    """What a handle needs of its client."""

    @property
    def store(self) -> ClientStore:
        """The store."""
        ...

    @property
    def limit(self) -> int:
        """The payload limit in bytes."""
        ...

    async def record(self, id: str) -> Task:
        """The task's record. Raises TaskNotFound."""
        ...

    async def plan(self, workflow: str, version: str) -> Plan | None:
        """The plan of a pipeline; None for workflow code."""
        ...

    async def wait_for_end(self, uid: str) -> Task:
        """The task once it has ended."""
        ...

    async def direct(self, id: str, directive: Directive) -> TaskState:
        """Carry out a directive."""
        ...

    async def signal(self, id: str, name: str, body: bytes, signal_id: str | None) -> bool:
        """Put a signal into the task's inbox."""
        ...


class Unset:
    """Says that an argument was not given, where None is a value."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset()
PROCESS_STATES = {
    TaskState.PENDING: "Pending",
    TaskState.PROCESSED: "Processed",
    TaskState.ERROR: "Error",
    TaskState.UNDONE: "Undone",
    TaskState.CANCELLED: "Cancelled",
}
"""The pattern's ProcessState; what is none of these is being processed."""


class TaskStatus(Struct, frozen=True, kw_only=True):
    """Where a task stands, under the pattern's names (R22) and ours."""

    id: str
    uid: str
    workflow: str
    version: str
    state: TaskState
    process_state: str
    """The pattern's ProcessState: Pending, Processing, Processed or Error; beyond it Undone and Cancelled."""
    locked_by: str | None
    complete_by: float | None
    """The task's own, else the latest of its running steps; seconds of the store's clock."""
    failure_count: int
    """Expiries of its steps plus takeovers."""
    priority: int
    fairness_key: str | None
    run: int
    waits_for: str | None
    error: dict[str, Any] | None
    labels: dict[str, str]
    steps_done: int
    steps: int
    progress: Progress
    created_at: float
    started_at: float | None
    finished_at: float | None


class StepRecord(Struct, frozen=True, kw_only=True):
    """A step as an operator sees it; payloads are decoded."""

    key: str
    name: str
    run: int
    kind: str
    state: StepState
    attempt: int
    failure_count: int
    complete_by: float | None
    started_at: float | None
    finished_at: float | None
    in_doubt: bool
    input: Any
    """None while a step is only planned."""
    output: Any
    error: Any
    agent: str | None
    progress: Any
    """What the step's code told of its progress last, at ``progress_at``."""
    progress_at: float | None
    deferred_at: float | None
    """Since when it waits to be finished from outside."""


class TaskHandle(Generic[R]):
    """One task of a client; every method looks at the store anew."""

    def __init__(self, client: Door, id: str, uid: str | None = None, result: Any = Any) -> None:
        self._client = client
        self._uid = uid
        self._result = result
        self.id = id

    def __repr__(self) -> str:
        return f"<task {self.id}>"

    async def result(self, timeout: Duration | None = None) -> R:
        """Wait for the end and give the workflow's result.

        Raises TaskFailed, TaskUndone or TaskCancelled with the recorded cause, TimeoutError after ``timeout``.
        """
        limit = None if timeout is None else seconds(timeout, "timeout", zero=True)
        async with asyncio.timeout(limit):
            task = await self._client.wait_for_end(await self._task_uid())
        result: R = self._unwrap(task)
        return result

    async def status(self) -> TaskStatus:
        """Where the task stands now."""
        task = await self._client.record(self.id)
        steps = await self._client.store.steps(self.id)
        return status_of(task, steps, await self._client.plan(task.workflow, task.version))

    async def steps(self) -> list[StepRecord]:
        """Every step that was asked for or that a plan names, in order."""
        await self._client.record(self.id)
        return [_step(step) for step in await self._client.store.steps(self.id)]

    async def cancel(self) -> TaskState:
        """Stop the task, undo what it did, and end ``cancelled``."""
        return await self._direct("cancel")

    async def undo(self) -> TaskState:
        """Undo the task, even one that is processed."""
        return await self._direct("undo")

    async def suspend(self) -> TaskState:
        """Let nothing more of the task start until ``resume``."""
        return await self._direct("suspend")

    async def resume(self) -> TaskState:
        """Go on with a suspended task."""
        return await self._direct("resume")

    async def resubmit(self, step: str | None = None, input: Any = UNSET) -> TaskState:
        """Go on with a task in error: repeat the step that failed (or ``step``), with edited arguments if given.

        ``input`` is the list of the step's arguments.
        """
        edited = None if isinstance(input, Unset) else encode(input, "edited input", limit=self._client.limit)
        return await self._direct("resubmit", step=step, input=edited)

    async def mark_done(self, step: str, result: Any) -> TaskState:
        """Record ``result`` for a step that somebody did by hand, and go on with the task in error."""
        body = encode(result, f"result of {step}", limit=self._client.limit)
        return await self._direct("mark_done", step=step, result=body)

    async def signal(self, name: str, payload: Any = None, id: str | None = None) -> bool:
        """Give the task a signal; one with an ``id`` seen before is dropped (False)."""
        body = encode(payload, f"signal {name}", limit=self._client.limit)
        return await self._client.signal(self.id, name, body, id)

    async def _direct(self, verb: str, **more: Any) -> TaskState:
        return await self._client.direct(self.id, Directive(verb=verb, actor=actor(), **more))

    async def _task_uid(self) -> str:
        if self._uid is None:
            self._uid = (await self._client.record(self.id)).uid
        return self._uid

    def _unwrap(self, task: Task) -> Any:
        if task.state is TaskState.PROCESSED:
            return decode(task.output or b"null", f"result of {task.id}", self._result)
        cause = msgspec.json.decode(task.error) if task.error else {}
        why = f": {cause['message']}" if cause.get("message") else ""
        if task.state is TaskState.UNDONE:
            raise TaskUndone(f"task {task.id} was undone{why}", cause=cause)
        if task.state is TaskState.CANCELLED:
            raise TaskCancelled(f"task {task.id} was cancelled{why}", cause=cause)
        raise TaskFailed(f"task {task.id} is in error{why}; resubmit, undo or cancel it", cause=cause)


def actor() -> str:
    """Who acts, for the audit: the name of the user of this process."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


def status_of(task: Task, steps: list[Step], plan: Plan | None = None) -> TaskStatus:
    """The status that a task's record and its steps make."""
    running = [s.complete_by for s in steps if s.state is StepState.RUNNING and s.complete_by is not None]
    return TaskStatus(
        id=task.id,
        uid=task.uid,
        workflow=task.workflow,
        version=task.version,
        state=task.state,
        process_state=PROCESS_STATES.get(task.state, "Processing"),
        locked_by=task.locked_by,
        complete_by=task.complete_by if task.complete_by is not None else max(running, default=None),
        failure_count=task.failure_count,
        priority=task.priority,
        fairness_key=task.fairness_key,
        run=task.run,
        waits_for=task.waits_for,
        error=msgspec.json.decode(task.error) if task.error else None,
        labels=msgspec.json.decode(task.labels),
        progress=progress_of(steps, plan),
        steps_done=sum(s.state in (StepState.COMPLETED, StepState.UNDONE) for s in steps),
        steps=len(steps),
        created_at=task.created_at,
        started_at=task.started_at,
        finished_at=task.finished_at,
    )


def _step(step: Step) -> StepRecord:
    return StepRecord(
        key=step.key,
        name=step.name,
        run=step.run,
        kind=str(step.kind),
        state=step.state,
        attempt=step.attempt,
        failure_count=step.failure_count,
        complete_by=step.complete_by,
        started_at=step.started_at,
        finished_at=step.finished_at,
        in_doubt=step.in_doubt,
        input=msgspec.json.decode(step.input) if step.input else None,
        output=msgspec.json.decode(step.output) if step.output is not None else None,
        error=msgspec.json.decode(step.error) if step.error else None,
        agent=step.agent,
        progress=msgspec.json.decode(step.progress) if step.progress is not None else None,
        progress_at=step.progress_at,
        deferred_at=step.deferred_at,
    )
