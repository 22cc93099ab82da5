"""The Supervisor's judgement, pure: what becomes of a step or task past its complete-by (R9).

A step climbs its policy's ladder: repeats after a growing backoff up to the threshold, then the long waits,
then the last rung. All that the judge knows comes from the store's rows: a Supervisor needs no workflow code.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec import Struct

from stepward.errors import InvalidPayload, Refused
from stepward.model.records import Audit, InboxKind
from stepward.model.states import TASK_ENDS, StepKind, StepState, TaskState
from stepward.payload import decode, encode
from stepward.policies import LastRung, LongWait, Supervision
from stepward.store.contract import Decision, ExpiredStep, ExpiredTask, Post

Rung = LastRung | float
"""A last rung, or the seconds to wait before the next attempt."""

ACTS: dict[LastRung, str] = {"alert": "fail", "undo": "undo", "raise": "raise"}
POSTS: dict[LastRung, InboxKind] = {
    "alert": InboxKind.FAIL,
    "undo": InboxKind.UNDO,
    "raise": InboxKind.STEP,
}
LONGEST_MESSAGE = 1000


class TaskVerdict(Struct, frozen=True, kw_only=True):
    """What follows for a task past its own complete-by: the row for its inbox and the audit of it."""

    post: Post
    audit: Audit


def judge(step: ExpiredStep, now: float, *, actor: str = "supervisor") -> Decision:
    """The one decision on this attempt; ``actor`` signs the audit and the inbox row."""
    failures = step.failure_count + 1
    if step.task_state is TaskState.UNDOING and step.kind != StepKind.UNDO:
        # Undo runs from the records and covers a step in doubt: nothing goes forward any more.
        return _fail(step, now, actor, InboxKind.STEP, "fail")
    rung = _rung(policy_of(step.policy), failures, is_undo=step.kind == StepKind.UNDO)
    if isinstance(rung, float):
        return _repeat(step, now, actor, rung)
    return _fail(step, now, actor, POSTS[rung], ACTS[rung])


def judge_task(task: ExpiredTask, now: float, *, actor: str = "supervisor") -> TaskVerdict | None:
    """What follows for the task; None while it is undoing or after it ended, when no deadline reaches it."""
    if task.state is TaskState.UNDOING or task.state in TASK_ENDS:
        return None
    undo = policy_of(task.policy).last == "undo"
    error = encode(_task_error(task), "error of an expired task")
    kind = InboxKind.UNDO if undo else InboxKind.FAIL
    return TaskVerdict(
        post=Post(task=task.task, kind=kind, body=error, sender=actor),
        audit=Audit(
            at=now,
            actor=actor,
            act="undo" if undo else "fail",
            task=task.task,
            before=task.state.value,
            after=TaskState.UNDOING.value if undo else TaskState.ERROR.value,
            details=encode({"complete_by": task.complete_by}, "audit"),
        ),
    )


@lru_cache(maxsize=1000)
def policy_of(data: bytes | None) -> Supervision:
    """The registered policy; the default for a workflow nobody registered, or whose policy is damaged."""
    if data is None:
        return Supervision()
    try:
        return Supervision.from_json(data)
    except InvalidPayload:
        return Supervision()


def _rung(policy: Supervision, failures: int, *, is_undo: bool) -> Rung:
    if failures <= policy.threshold:
        return policy.backoff.delay(failures)
    if is_undo:
        return "alert"
    past, rung = failures - policy.threshold, policy.then
    while isinstance(rung, LongWait):
        if past <= rung.times:
            return rung.delay_seconds
        past, rung = past - rung.times, rung.then
    return rung


def _repeat(step: ExpiredStep, now: float, actor: str, delay: float) -> Decision:
    return Decision(
        task=step.task,
        run=step.run,
        key=step.key,
        attempt=step.attempt,
        state=StepState.TO_REPEAT,
        repeat_at=now + delay,
        error=step.error,
        posts=(_post(step, InboxKind.STEP, b"null", actor),),
        audit=_audit(step, now, actor, "repeat", StepState.TO_REPEAT),
    )


def _fail(step: ExpiredStep, now: float, actor: str, kind: InboxKind, act: str) -> Decision:
    error = _encoded(_step_error(step))
    return Decision(
        task=step.task,
        run=step.run,
        key=step.key,
        attempt=step.attempt,
        state=StepState.FAILED,
        repeat_at=None,
        error=error,
        posts=(_post(step, kind, b"null" if kind is InboxKind.STEP else error, actor),),
        audit=_audit(step, now, actor, act, StepState.FAILED),
    )


def _encoded(error: dict[str, Any]) -> bytes:
    """An error as it is kept; data of an Agent that are too large or too deep keep the judge from nothing."""
    try:
        return encode(error, "error of an expired step")
    except Refused:
        return encode({**error, "data": {}}, "error of an expired step")


def _post(step: ExpiredStep, kind: InboxKind, body: bytes, actor: str) -> Post:
    return Post(task=step.task, kind=kind, name=f"{step.run}/{step.key}", body=body, sender=actor)


def _audit(step: ExpiredStep, now: float, actor: str, act: str, after: StepState) -> Audit:
    details = {"run": step.run, "attempt": step.attempt, "failure_count": step.failure_count + 1}
    return Audit(
        at=now,
        actor=actor,
        act=act,
        task=step.task,
        step=step.key,
        before=StepState.RUNNING.value,
        after=after.value,
        details=encode(details, "audit"),
    )


def _step_error(step: ExpiredStep) -> dict[str, Any]:
    failures = step.failure_count + 1
    last = _last_error(step.error)
    message = f"{step.key} did not finish within its complete-by {failures} time{'s' * (failures > 1)}"
    if last.get("message"):
        message += f"; last error: {last['message']}"
    return {
        "message": message[:LONGEST_MESSAGE],
        "type": "StepExpired",
        "step": step.key,
        "data": last.get("data") or {},
        "maybe_done": True,
        "in_doubt": [step.key],
    }


def _last_error(error: bytes | None) -> dict[str, Any]:
    if error is None:
        return {}
    try:
        found: dict[str, Any] = decode(error, "error of a step", dict[str, Any])
    except InvalidPayload:
        return {}
    return found


def _task_error(task: ExpiredTask) -> dict[str, Any]:
    return {
        "message": f"task {task.task_id} was not done by its complete-by",
        "type": "TaskExpired",
        "step": None,
        "data": {},
        "maybe_done": False,
        "in_doubt": [],
    }
