"""A handle on one task: what became of it, and what may be done with it."""

from __future__ import annotations

import asyncio
import getpass
import json
import typing
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, Protocol

from msgspec import Struct

from stepward.client.overdue import not_ended
from stepward.client.progress import TaskProgress, progress_of
from stepward.client.repairs import RepairPreview, preview_of
from stepward.client.submitting.validation import Id, deadline, one_of
from stepward.durations import Duration, seconds
from stepward.errors import StepwardError, TaskCancelled, TaskFailed, TaskUndone
from stepward.model import failures
from stepward.model.effects import never_ran
from stepward.model.plan import Plan
from stepward.model.records import Step, Task
from stepward.model.states import TASK_ENDS, StepState, TaskState
from stepward.payload import decode, encode, readable
from stepward.store.contract import ClientStore, Directive, Doubt, Later, Tally

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    R = TypeVar("R", default=Any)
else:
    R = typing.TypeVar("R")
"""What the workflow returns: Any for a task that is known by name or id alone."""


class HandleClient(Protocol):
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

    async def signal(self, id: str, name: str, body: bytes, signal_id: Id | None, by: str | None = None) -> bool:
        """Put a signal into the task's inbox; the audit names ``by``."""
        ...


class Unset:
    """Says that an argument was not given, where None is a value."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset()
LOOK_SECONDS = 1.0
"""Most seconds spent on finding out why a task has not ended in time."""
AT_WORK = frozenset({StepState.RUNNING, StepState.TO_REPEAT})
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
    """By when what it does now must be complete, in seconds of the store's clock; None while nobody works on it."""
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
    progress: TaskProgress
    created_at: float
    started_at: float | None
    finished_at: float | None
    deadline: float | None
    """By when the whole task is to end, if its submission or its workflow says so."""


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
    generation: int
    """Counts how often it was asked for anew under another idempotency key."""
    set_aside_at: float | None
    """Since when a repair has taken it out of what is replayed; what it did still counts for undo."""


class TaskHandle(Generic[R]):
    """One task of a client; every method looks at the store anew."""

    def __init__(self, client: HandleClient, id: str, uid: str | None = None, result: Any = Any) -> None:
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
        try:
            async with asyncio.timeout(limit) as waiting:
                task = await self._client.wait_for_end(await self._task_uid())
        except TimeoutError:
            if limit is None or not waiting.expired():
                raise
            raise await self._not_ended(limit) from None
        result: R = self._unwrap(task)
        return result

    async def status(self) -> TaskStatus:
        """Where the task stands now."""
        task = await self._client.record(self.id)
        plan = await self._client.plan(task.workflow, task.version)
        (tally,) = await self._client.store.tallies([task.uid], [stage.key for stage in plan or ()])
        return status_of(task, tally, plan)

    async def steps(self) -> list[StepRecord]:
        """Every step that was asked for or that a plan names, in order."""
        task = await self._client.record(self.id)
        return [_step(step, task) for step in await self._client.store.steps(self.id)]

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

    async def resubmit(
        self,
        step: str | None = None,
        input: Any = UNSET,
        *,
        doubt: Doubt | str | None = None,
        later: Later | str | None = None,
        complete_by: datetime | Duration | None = None,
    ) -> TaskState:
        """Go on with a task in error: repeat the step that failed (or ``step``), with edited arguments if given.

        ``input`` is the list of the step's arguments. ``doubt`` settles attempts that maybe acted: ``"undo"`` them
        first, or ``"did_not_happen"`` is your word; an edited input needs it while there are any. ``later`` says what
        becomes of what the workflow did after it was told the failure: ``"undo"`` that first, or ``"keep"`` it; see
        ``preview``. A task past its own complete-by needs a new ``complete_by``. Raises IllegalTransition with the
        choices where one of them is missing.
        """
        edited = None if isinstance(input, Unset) else encode(input, "edited input", limit=self._client.limit)
        words = {"doubt": one_of(Doubt, doubt, "doubt"), "later": one_of(Later, later, "later")}
        by = self._deadline(complete_by)
        return await self._direct("resubmit", step=step, input=edited, deadline=by, **words)

    async def mark_done(
        self,
        step: str,
        result: Any,
        *,
        later: Later | str | None = None,
        complete_by: datetime | Duration | None = None,
    ) -> TaskState:
        """Record ``result`` for a step that somebody did by hand, and go on with the task in error.

        The options are those of ``resubmit``. A signal that was taken gets another payload in the same way.
        """
        body = encode(result, f"result of {step}", limit=self._client.limit)
        said = {"later": one_of(Later, later, "later"), "deadline": self._deadline(complete_by)}
        return await self._direct("mark_done", step=step, result=body, **said)

    async def preview(self, step: str | None = None) -> RepairPreview:
        """What ``resubmit`` or ``mark_done`` of the step that failed (or ``step``) would do to the record."""
        return preview_of(await self._client.record(self.id), await self._client.store.steps(self.id), step)

    async def signal(self, name: str, payload: Any = None, id: Id | None = None, *, by: str | None = None) -> bool:
        """Give the task a signal; one with an ``id`` seen before is dropped (False).

        With ``by`` it is audited under that name; leave it out where signals are many.
        """
        body = encode(payload, f"signal {name}", limit=self._client.limit)
        return await self._client.signal(self.id, name, body, id, by)

    def _deadline(self, complete_by: datetime | Duration | None) -> float | None:
        return deadline(complete_by, None, self._client.store.now())

    async def _direct(self, verb: str, **more: Any) -> TaskState:
        return await self._client.direct(self.id, Directive(verb=verb, actor=actor(), **more))

    async def _not_ended(self, limit: float) -> TimeoutError:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return not_ended(
                    self.id, limit, await self._client.record(self.id), await self._client.store.instances()
                )
        except (StepwardError, TimeoutError):
            return not_ended(self.id, limit, None, [])

    async def _task_uid(self) -> str:
        if self._uid is None:
            self._uid = (await self._client.record(self.id)).uid
        return self._uid

    def _unwrap(self, task: Task) -> Any:
        if task.state is TaskState.PROCESSED:
            return decode(task.output or b"null", f"result of {task.id}", self._result)
        cause = failures.read(task.error)
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


def status_of(task: Task, tally: Tally, plan: Plan | None = None) -> TaskStatus:
    """The status that a task's record and the count of its steps make."""
    return TaskStatus(
        id=task.id,
        uid=task.uid,
        workflow=task.workflow,
        version=task.version,
        state=task.state,
        process_state=PROCESS_STATES.get(task.state, "Processing"),
        locked_by=task.locked_by,
        complete_by=task.complete_by,
        failure_count=task.failure_count,
        priority=task.priority,
        fairness_key=task.fairness_key,
        run=task.run,
        waits_for=task.waits_for,
        error=_error(task.error),
        labels=_labels(task.labels),
        progress=progress_of(tally, plan),
        steps_done=tally.done,
        steps=tally.steps,
        created_at=task.created_at,
        started_at=task.started_at,
        finished_at=task.finished_at,
        deadline=task.deadline,
    )


def _state(step: Step, task: Task) -> StepState:
    """The step's state; one that was at work when its task ended is so no more, whatever its row keeps for a repair."""
    return StepState.ABANDONED if task.state in TASK_ENDS and step.state in AT_WORK else step.state


def _error(error: bytes | None) -> dict[str, Any] | None:
    found = readable(error)
    if found is None or isinstance(found, dict):
        return found
    return {"message": "the recorded error is no object", "type": "Error", "data": {"recorded": found}}


def _labels(labels: bytes) -> dict[str, str]:
    found = readable(labels)
    if not isinstance(found, dict):
        return {}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in found.items()}


def _step(step: Step, task: Task) -> StepRecord:
    return StepRecord(
        key=step.key,
        name=step.name,
        run=step.run,
        kind=str(step.kind),
        state=_state(step, task),
        attempt=step.attempt,
        failure_count=step.failure_count,
        complete_by=step.complete_by,
        started_at=step.started_at,
        finished_at=step.finished_at,
        in_doubt=step.in_doubt or (task.state in TASK_ENDS and step.state in AT_WORK and not never_ran(step)),
        input=readable(step.input),
        output=readable(step.output),
        error=readable(step.error),
        agent=step.agent,
        progress=readable(step.progress),
        progress_at=step.progress_at,
        deferred_at=step.deferred_at,
        generation=step.generation,
        set_aside_at=step.set_aside_at,
    )
