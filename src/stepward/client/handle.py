"""A handle on one task: what became of it, and what may be done with it."""

from __future__ import annotations

import asyncio
import getpass
import typing
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from sys import modules
from typing import TYPE_CHECKING, Any, Generic

from msgspec.structs import replace

from stepward.client.live.client_ports import HandleClient
from stepward.client.live.live_values import UNSET, Unset, published_value, stream_values
from stepward.client.live.update_requests import answered, asked, result_of
from stepward.client.repairs import RepairPreview, preview_of
from stepward.client.submitting.act_arguments import one_of
from stepward.client.submitting.forks import ForkOptions
from stepward.client.submitting.in_transaction import KnownWorkflow
from stepward.client.submitting.submission_checks import Id, deadline
from stepward.client.submitting.submission_checks import priority as checked_priority
from stepward.client.task_status import StepRecord, TaskStatus, followed, status_of, step_record
from stepward.client.waiting.wait_hindrances import WaitView, lacks_agent, not_ended
from stepward.client.waiting.wait_warnings import LOOK_SECONDS, WaitWarning
from stepward.durations import Duration, seconds
from stepward.errors import StepwardError, TaskCancelled, TaskFailed, TaskUndone
from stepward.model import failures
from stepward.model.records import Task
from stepward.model.states import TaskState
from stepward.model.tracing.submission_span import API, lead_to
from stepward.payload import decode, encode
from stepward.store.contract import Directive, Doubt, Later, Submitted
from stepward.workflow.definition import Workflow

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    R = TypeVar("R", default=Any)
else:
    R = typing.TypeVar("R")
"""What the workflow returns: Any for a task that is known by name or id alone."""


class TaskHandle(Generic[R]):
    """One task of a client; every method reads the store."""

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
        A wait of several seconds logs a warning if no Scheduler serves the workflow, no Agent offers the operation
        that is waited for, or the lease of the task's owner is late.
        """
        limit = None if timeout is None else seconds(timeout, "timeout", zero=True)
        try:
            async with asyncio.timeout(limit) as waiting:
                uid = await self._task_uid()
                with WaitWarning(self._view):
                    task = await self._client.wait_for_end(uid)
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
        (tally,) = await self._client.store.client.tallies([task.uid], [stage.key for stage in plan or ()])
        return status_of(task, tally, plan)

    async def steps(self) -> list[StepRecord]:
        """Every step that was asked for or that a plan names, in order."""
        task = await self._client.record(self.id)
        return [step_record(step, task) for step in await self._client.store.client.steps(self.id)]

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
        failed_children: bool = False,
        doubt: Doubt | str | None = None,
        later: Later | str | None = None,
        complete_by: datetime | Duration | None = None,
        priority: int | None = None,
    ) -> TaskState:
        """Continue a task in error: repeat the step that failed (or ``step``), with edited arguments if given.

        ``input`` is the list of the step's arguments. ``failed_children`` repeats every child task that failed, and
        keeps the others. ``doubt`` settles attempts that may have been executed:
        ``"undo"`` them first, or ``"did_not_happen"`` if you have checked that they were not; an edited input requires
        it while there are any. ``later`` settles the steps that the workflow ran after it received the failure:
        ``"undo"`` them first, or ``"keep"`` them; see ``preview``. A task past its own complete-by needs a new
        ``complete_by``. ``priority`` is its new priority. Raises IllegalTransition with the choices where one of them
        is missing.
        """
        edited = None if isinstance(input, Unset) else encode(input, "edited input", limit=self._client.limit)
        words: dict[str, Any] = {"doubt": one_of(Doubt, doubt, "doubt"), "later": one_of(Later, later, "later")}
        by = self._deadline(complete_by)
        at = None if priority is None else checked_priority(priority)
        words["failed_children"] = failed_children
        return await self._direct("resubmit", step=step, input=edited, deadline=by, priority=at, **words)

    async def fork(
        self,
        from_step: str,
        *,
        args: Sequence[Any] | None = None,
        version: str | None = None,
        id: Id | None = None,
        undo_later: bool = False,
    ) -> TaskHandle[R]:
        """Start a new task from the record of this ended one, which goes on from ``from_step``, and give its handle.

        The steps before it are taken over with their outcomes; what they did stays this task's. ``args`` are other
        arguments, ``version`` is another version of the workflow. With ``undo_later`` the new task first undoes what
        this one did from that step on. Raises IllegalTransition, UnknownWorkflow, TaskConflict.
        """
        options = ForkOptions(step=from_step, args=args, version=version, id=id, undo_later=undo_later)
        made = await self._client.fork(self.id, options)
        return TaskHandle(self._client, made.id, made.uid, self._result)

    async def mark_done(
        self,
        step: str,
        result: Any,
        *,
        later: Later | str | None = None,
        complete_by: datetime | Duration | None = None,
    ) -> TaskState:
        """Record ``result`` for a step that was done by hand, and go on with the task in error.

        The options are those of ``resubmit``. A signal that was taken gets another payload in the same way.
        """
        body = encode(result, f"result of {step}", limit=self._client.limit)
        said = {"later": one_of(Later, later, "later"), "deadline": self._deadline(complete_by)}
        return await self._direct("mark_done", step=step, result=body, **said)

    async def preview(self, step: str | None = None) -> RepairPreview:
        """What ``resubmit`` or ``mark_done`` of the step that failed (or ``step``) would do to the record."""
        return preview_of(await self._client.record(self.id), await self._client.store.client.steps(self.id), step)

    async def signal(self, name: str, payload: Any = None, id: Id | None = None, *, by: str | None = None) -> bool:
        """Give the task a signal; one with an ``id`` seen before is dropped (False).

        With ``by`` it is audited under that name; leave it out where signals are many.
        """
        body = encode(payload, f"signal {name}", limit=self._client.limit)
        return await self._client.signal(self.id, name, body, id, by)

    def events(self) -> AsyncIterator[TaskStatus]:
        """The status of the task now and after each change until it ends, for any number of readers.

        States between two looks are left out; a private response queue (``reply_to``) misses none.
        """
        return followed(self.status, self._client.changes)

    async def update(
        self,
        name: str,
        payload: Any = None,
        *,
        id: Id | None = None,
        timeout: Duration | None = None,
        by: str | None = None,
    ) -> Any:
        """Ask the task for an update, wait for its answer, and give its result; one ``id`` is carried out once.

        With ``by`` it is audited under that name. Raises UpdateRejected if the task rejects it, UpdateUnanswered if the
        task ends without an answer, IllegalTransition if it has ended before, TimeoutError after ``timeout``: the
        update remains then, and another call with the same ``id`` waits for its answer.
        """
        # Checked before it is asked for: what is refused here must not be carried out.
        limit = None if timeout is None else seconds(timeout, "timeout", zero=True)
        found = await asked(self._client, self.id, name, payload, update=id, by=by)
        return result_of(self.id, await answered(self._client, self.id, found, limit))

    async def value(self, name: str, default: Any = UNSET) -> Any:
        """The value that the task has last published under that name, else ``default``.

        Raises ValueNotFound where there is neither.
        """
        return await published_value(self._client, self.id, name, default)

    def stream(self, name: str, start: int = 0) -> AsyncIterator[tuple[int, Any]]:
        """The values of a stream of the task, each behind its position, from position ``start`` on.

        Positions count from 0 without gaps. Ends when the task has ended and everything is read; until then it waits.
        """
        return stream_values(self._client, self.id, name, start)

    def _deadline(self, complete_by: datetime | Duration | None) -> float | None:
        return deadline(complete_by, None, self._client.store.now())

    async def _direct(self, verb: str, **more: Any) -> TaskState:
        return await self._client.direct(self.id, Directive(verb=verb, actor=self._client.actor, **more))

    async def _not_ended(self, limit: float) -> TimeoutError:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return not_ended(self.id, limit, await self._view())
        except (StepwardError, TimeoutError):
            return not_ended(self.id, limit, None)

    async def _view(self) -> WaitView:
        store = self._client.store
        task = await self._client.record(self.id)
        view = WaitView(task=task, instances=await store.operators.instances(), now=store.now())
        return replace(view, steps=await store.client.steps(self.id)) if lacks_agent(view) else view

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


def handles(client: HandleClient, submitted: Sequence[Submitted], known: KnownWorkflow) -> list[TaskHandle[Any]]:
    """A handle on each task of that workflow that was submitted."""
    if API in modules:
        lead_to(each.uid for each in submitted)
    result = known.signature.result_type if isinstance(known, Workflow) else Any
    return [TaskHandle(client, each.id, each.uid, result) for each in submitted]


def actor() -> str:
    """The actor in the audit: the name of the user of this process."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
