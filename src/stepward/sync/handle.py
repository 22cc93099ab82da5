"""A handle on one task, for code without an event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

from stepward.client import (
    UNSET,
    TaskHandle,
    TaskStatus,
)
from stepward.client.handle import R
from stepward.client.repairs import RepairPreview
from stepward.client.submitting.submission_checks import Id
from stepward.client.task_status import StepRecord
from stepward.durations import Duration
from stepward.model.states import TaskState
from stepward.runtime.loop_thread import LoopThread
from stepward.store.contract import Doubt, Later

T = TypeVar("T")


def blocking(thread: LoopThread, items: AsyncIterator[T]) -> Iterator[T]:
    """An iterator that waits in the calling thread for each item."""

    async def following() -> T | None:
        return await anext(items, None)

    while (item := thread.call(following())) is not None:
        yield item


class SyncTaskHandle(Generic[R]):
    """``TaskHandle`` for code without an event loop."""

    def __init__(self, thread: LoopThread, inner: TaskHandle[R]) -> None:
        self._thread = thread
        self._inner = inner
        self.id = inner.id

    def result(self, timeout: Duration | None = None) -> R:
        """Wait for the end; the workflow's result.

        Raises TaskFailed, TaskUndone or TaskCancelled with the recorded cause, TimeoutError after ``timeout``.
        """
        return self._thread.call(self._inner.result(timeout))

    def status(self) -> TaskStatus:
        """The task's status now."""
        return self._thread.call(self._inner.status())

    def steps(self) -> list[StepRecord]:
        """Every step that was started or that a plan names, in order."""
        return self._thread.call(self._inner.steps())

    def cancel(self) -> TaskState:
        """Stop the task, undo its steps, and end ``cancelled``."""
        return self._thread.call(self._inner.cancel())

    def undo(self) -> TaskState:
        """Undo the task, even one that is processed."""
        return self._thread.call(self._inner.undo())

    def suspend(self) -> TaskState:
        """Start nothing more of the task until ``resume``."""
        return self._thread.call(self._inner.suspend())

    def resume(self) -> TaskState:
        """Continue a suspended task."""
        return self._thread.call(self._inner.resume())

    def resubmit(
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
        keeps the others. ``doubt`` settles attempts that may have acted: ``"undo"`` undoes
        them first, ``"did_not_happen"`` states that they did not; an edited input needs it while there are any.
        ``later`` decides about what the workflow did after it received the failure: ``"undo"`` undoes that first,
        ``"keep"`` keeps it; see ``preview``. A task past its own complete-by needs a new ``complete_by``. ``priority``
        is its priority from now on. Raises IllegalTransition with the choices if a needed one is missing.
        """
        said: dict[str, Any] = {"doubt": doubt, "later": later, "complete_by": complete_by, "priority": priority}
        said["failed_children"] = failed_children
        return self._thread.call(self._inner.resubmit(step, input, **said))

    def fork(
        self,
        from_step: str,
        *,
        args: Sequence[Any] | None = None,
        version: str | None = None,
        id: Id | None = None,
        undo_later: bool = False,
    ) -> SyncTaskHandle[R]:
        """Start a new task from the record of this ended one, which continues at ``from_step``; its handle.

        Arguments and errors are those of ``TaskHandle.fork``.
        """
        options: dict[str, Any] = {"args": args, "version": version, "id": id, "undo_later": undo_later}
        return SyncTaskHandle(self._thread, self._thread.call(self._inner.fork(from_step, **options)))

    def mark_done(
        self,
        step: str,
        result: Any,
        *,
        later: Later | str | None = None,
        complete_by: datetime | Duration | None = None,
    ) -> TaskState:
        """Record ``result`` for a step that was done by hand, and continue the task in error.

        The options are those of ``resubmit``. The payload of a received signal is replaced in the same way.
        """
        return self._thread.call(self._inner.mark_done(step, result, later=later, complete_by=complete_by))

    def preview(self, step: str | None = None) -> RepairPreview:
        """The effect on the record of ``resubmit`` or ``mark_done`` of the step that failed (or ``step``)."""
        return self._thread.call(self._inner.preview(step))

    def events(self) -> Iterator[TaskStatus]:
        """The status of the task now and after each change until it ends; blocks until the next one is there."""
        return blocking(self._thread, self._inner.events())

    def update(
        self,
        name: str,
        payload: Any = None,
        *,
        id: Id | None = None,
        timeout: Duration | None = None,
        by: str | None = None,
    ) -> Any:
        """Ask the task for an update and wait for its answer; one ``id`` is carried out once.

        With ``by`` it is audited under that name. Raises UpdateRejected, UpdateUnanswered, IllegalTransition for a task
        that has ended, TimeoutError after ``timeout``: another call with the same ``id`` waits for the answer then.
        """
        return self._thread.call(self._inner.update(name, payload, id=id, timeout=timeout, by=by))

    def value(self, name: str, default: Any = UNSET) -> Any:
        """The value that the task has last published under that name, else ``default``. Raises ValueNotFound."""
        return self._thread.call(self._inner.value(name, default))

    def stream(self, name: str, start: int = 0) -> Iterator[tuple[int, Any]]:
        """The values of a stream of the task, each behind its position; blocks until the next one is there."""
        return blocking(self._thread, self._inner.stream(name, start))

    def signal(self, name: str, payload: Any = None, id: Id | None = None, *, by: str | None = None) -> bool:
        """Send the task a signal; one with an ``id`` seen before is dropped (False).

        With ``by`` it is audited under that name; leave it out where signals are many.
        """
        return self._thread.call(self._inner.signal(name, payload, id, by=by))
