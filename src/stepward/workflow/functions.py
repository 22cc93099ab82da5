"""Functions for workflow code: time, chance, side effects, signals, the next run, its task."""

from __future__ import annotations

import inspect
import logging
import uuid as uuids
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn, TypeVar, overload

from stepward.durations import Duration, seconds
from stepward.errors import InvalidPayload, Refused
from stepward.model.action import current_caller
from stepward.model.records import Task
from stepward.model.tasks.attributes import SET_ATTRIBUTES, AttributeValue, encoded, merged
from stepward.model.tasks.updates import refuse_update_name
from stepward.payload import decode
from stepward.workflow import recorded_values
from stepward.workflow.control_flow import ContinueAsNew
from stepward.workflow.definition import NAME as SIGNAL_NAME
from stepward.workflow.event_loop.loop import WorkflowLoop
from stepward.workflow.run_commands import Run
from stepward.workflow.waits.signal_waits import wait_for_signal

T = TypeVar("T")
LOGGER = "stepward.workflow"


@dataclass(frozen=True, slots=True)
class CurrentTask:
    """The task that runs; ``run`` counts from 1 by ``continue_as_new``."""

    id: str
    uid: str
    workflow: str
    version: str
    run: int
    labels: dict[str, str]
    replaying: bool


def now() -> datetime:
    """The time of the last outcome delivered, in UTC; it stands still while the workflow computes."""
    return datetime.fromtimestamp(run_of("now()").loop.now, UTC)


def random() -> float:
    """A number from 0 to 1, the same in every replay."""
    return run_of("random()").chance().random()


def uuid4() -> uuids.UUID:
    """A random UUID, the same in every replay."""
    return uuids.UUID(int=run_of("uuid4()").chance().getrandbits(128), version=4)


def side_effect(fn: Callable[[], T]) -> T:
    """Call the plain function ``fn`` once and record what it returns, as JSON; replays give the record.

    For quick reads of the world around (a setting, a clock). What ``fn`` raises is not recorded.
    """
    run = run_of("side_effect()")
    if inspect.iscoroutinefunction(fn):
        raise InvalidPayload("side_effect: expected a plain function, found an async one; make it a step instead")
    value: T = decode(recorded_values.side_effect(run, fn), "side_effect")
    return value


def set_attributes(**values: AttributeValue | None) -> None:
    """Replace search attributes of this task, committed with the turn; None takes one away, others stay.

    Raises Refused for a name or a value that is none, or for too many.
    """
    run = run_of("set_attributes()")
    recorded_values.side_effect(run, lambda: _set(run.task, values), SET_ATTRIBUTES)


def _set(task: Task, values: Mapping[str, AttributeValue | None]) -> object:
    """Change the task in memory, as the Scheduler commits it; what of it was set, for the record."""
    task.attributes = merged(task.attributes, values)
    kept = {name: value for name, value in values.items() if value is not None}
    return {**dict.fromkeys(values), **decode(encoded(kept), SET_ATTRIBUTES, dict[str, Any])}


def patched(id: str) -> bool:
    """Whether workflow code goes its new way at this place: False for tasks that passed it with the old code.

    True beyond the record, where a marker is recorded, and wherever that marker is; False where the record has
    something else. Each call decides for itself: in a loop, old turns stay old and new ones are new.
    """
    if not SIGNAL_NAME.fullmatch(id):
        raise Refused(f"patched: expected an id of 1 to 200 of A-Z a-z 0-9 . _ : -, found {id[:60]!r}")
    return recorded_values.patched(run_of("patched()"), id)


@overload
async def wait_for(name: str, *, timeout: Duration | None = None) -> Any: ...
@overload
async def wait_for(name: str, *, timeout: Duration | None = None, type: type[T]) -> T: ...
@overload
async def wait_for(name: str, *, timeout: Duration | None = None, type: Any) -> Any: ...
async def wait_for(name: str, *, timeout: Duration | None = None, type: Any = Any) -> Any:  # noqa: A002
    """The payload of the next signal ``name``, as ``type``; each signal is taken once, in order.

    Raises TimeoutError when none came within ``timeout``, InvalidPayload when it does not fit ``type``.
    """
    run = run_of("wait_for()")
    if not SIGNAL_NAME.fullmatch(name):
        raise Refused(f"wait_for: expected a signal's name of 1 to 200 of A-Z a-z 0-9 . _ : -, found {name[:60]!r}")
    refuse_update_name(name)
    limit = None if timeout is None else seconds(timeout, "wait_for timeout", zero=True)
    return decode(await wait_for_signal(run, name, limit), f"signal {name}", type)


def continue_as_new(*args: Any, **kwargs: Any) -> NoReturn:
    """End this run and start the next with these arguments and an empty history, in one commit."""
    run = run_of("continue_as_new()")
    raise ContinueAsNew(run.workflow.signature.pack(args, kwargs, limit=run.payload_limit))


def current_task() -> CurrentTask:
    """The task whose workflow code runs now."""
    run = run_of("current_task()")
    task = run.task
    labels = decode(task.labels, "labels", dict[str, str])
    return CurrentTask(task.id, task.uid, task.workflow, task.version, task.run, labels=labels, replaying=run.replaying)


class WorkflowLogger(logging.LoggerAdapter[logging.Logger]):
    """A logger for workflow code: silent while replaying; each record carries the task's id and workflow."""

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802  the name is logging's
        """Whether an observer listens, and it was not logged before."""
        run = current_run()
        return (run is None or not run.replaying) and super().isEnabledFor(level)

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Add the task to the record's extra fields."""
        run = current_run()
        if run is not None:
            extra = {"task_id": run.task.id, "workflow": run.task.workflow}
            kwargs["extra"] = extra | dict(kwargs.get("extra") or {})
        return msg, kwargs


def workflow_logger(name: str = LOGGER) -> WorkflowLogger:
    """A logger of that name for workflow code."""
    return WorkflowLogger(logging.getLogger(name))


logger = workflow_logger()


def run_of(what: str) -> Run:
    """The run whose workflow code calls ``what``. Raises Refused elsewhere."""
    run = current_run()
    if run is None:
        raise Refused(f"{what} is for workflow code only; found no running workflow; call it inside one")
    return run


def current_run() -> Run | None:
    """The run whose workflow code runs now; None elsewhere."""
    loop = current_caller()
    if isinstance(loop, WorkflowLoop) and isinstance(loop.engine, Run):
        return loop.engine
    return None
