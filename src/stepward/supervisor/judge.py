"""The Supervisor's decisions, pure: what follows for a step or task past its complete-by (R9).

A step climbs its policy's ladder: repeats with a growing backoff up to the threshold, then the long waits, then the
last rung. The decision depends on the store's rows alone: a Supervisor needs no workflow code.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from stepward.errors import InvalidPayload
from stepward.model.failures import EXPIRED, history, read, recorded
from stepward.model.records import Audit, InboxKind
from stepward.model.states import TASK_ENDS, StepKind, StepState, TaskState
from stepward.payload import encode
from stepward.policies import LastRung, LongWait, Supervision
from stepward.store.contract import Decision, ExpiredStep, ExpiredTask, Post, TaskExpiry

Rung = LastRung | float
"""A last rung, or the seconds to wait before the next attempt."""

ACTS: dict[LastRung, str] = {"alert": "fail", "undo": "undo", "raise": "raise"}
POSTS: dict[LastRung, InboxKind] = {
    "alert": InboxKind.FAIL,
    "undo": InboxKind.UNDO,
    "raise": InboxKind.STEP,
}
LONGEST_MESSAGE = 1000


def judge(step: ExpiredStep, now: float, *, actor: str = "supervisor") -> Decision:
    """The one decision on this attempt; ``actor`` is recorded in the audit and the inbox row."""
    failures = step.failure_count + 1
    if step.task_state is TaskState.UNDOING and step.kind != StepKind.UNDO:
        # Undo runs from the records and covers a step in doubt: nothing new begins.
        return _fail(step, now, actor, InboxKind.STEP, "fail")
    rung = _rung(policy_of(step.policy), failures, is_undo=step.kind == StepKind.UNDO)
    if isinstance(rung, float):
        return _repeat(step, now, actor, rung)
    return _fail(step, now, actor, POSTS[rung], ACTS[rung])


def judge_task(task: ExpiredTask, now: float, *, actor: str = "supervisor") -> TaskExpiry | None:
    """The decision on the task; None while it is undoing or after it ended, when deadlines have no effect."""
    if task.state is TaskState.UNDOING or task.state in TASK_ENDS:
        return None
    policy = policy_of(task.policy)
    if policy.at_deadline == "repeat" and task.failure_count < policy.threshold:
        return _again(task, now, actor)
    undo = policy.last == "undo"
    error = encode(_task_error(task), "error of an expired task")
    kind = InboxKind.UNDO if undo else InboxKind.FAIL
    return TaskExpiry(
        task=task.task,
        task_id=task.task_id,
        post=Post(task=task.task, kind=kind, body=error, sender=actor),
        audit=Audit(
            at=now,
            actor=actor,
            act="undo" if undo else "fail",
            task=task.task,
            before=task.state.value,
            after=TaskState.UNDOING.value if undo else TaskState.ERROR.value,
            details=encode({"deadline": task.deadline}, "audit"),
        ),
    )


def _again(task: ExpiredTask, now: float, actor: str) -> TaskExpiry:
    """The pattern's rule: one failure more, a new deadline, and pending, for any Scheduler to claim (R28)."""
    deadline = now + task.allowed
    details = {"failure_count": task.failure_count + 1, "deadline": deadline}
    return TaskExpiry(
        task=task.task,
        task_id=task.task_id,
        post=Post(task=task.task, kind=InboxKind.STEP, sender=actor),
        audit=Audit(
            at=now,
            actor=actor,
            act="repeat",
            task=task.task,
            before=task.state.value,
            after=TaskState.PENDING.value,
            details=encode(details, "audit"),
        ),
        deadline=deadline,
    )


@lru_cache(maxsize=1000)
def policy_of(data: bytes | None) -> Supervision:
    """The registered policy; the default for a workflow that is not registered, or whose policy is damaged."""
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
    known = read(step.error)
    has_failed = _has_failed(step, known)
    return Decision(
        task=step.task,
        run=step.run,
        key=step.key,
        attempt=step.attempt,
        state=StepState.TO_REPEAT,
        # An attempt that failed by itself moved its complete-by up: its pause has begun.
        repeat_at=max(now, step.complete_by + delay) if has_failed else now + delay,
        error=step.error if has_failed else recorded(_expiry(step, known)),
        in_doubt=_in_doubt(step),
        posts=(_post(step, InboxKind.STEP, b"null", actor),),
        audit=_audit(step, now, actor, "repeat", StepState.TO_REPEAT),
    )


def _fail(step: ExpiredStep, now: float, actor: str, kind: InboxKind, act: str) -> Decision:
    error = recorded(_last_error(step))
    return Decision(
        task=step.task,
        run=step.run,
        key=step.key,
        attempt=step.attempt,
        state=StepState.FAILED,
        repeat_at=None,
        error=error,
        in_doubt=_in_doubt(step),
        posts=(_post(step, kind, b"null" if kind is InboxKind.STEP else error, actor),),
        audit=_audit(step, now, actor, act, StepState.FAILED),
    )


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


def _last_error(step: ExpiredStep) -> dict[str, Any]:
    """The error of a step that is given up: that of its last attempt, which failed by itself or ran out of time."""
    known = read(step.error)
    own = known if _has_failed(step, known) else _expiry(step, known)
    data = known.get("data")
    in_doubt = [step.key] if _in_doubt(step) else []
    return {
        **own,
        "message": str(own["message"])[:LONGEST_MESSAGE],
        "data": data if isinstance(data, dict) else {},
        "step": step.key,
        "failures": step.failure_count + 1,
        "maybe_done": bool(in_doubt),
        "in_doubt": in_doubt,
    }


def _has_failed(step: ExpiredStep, known: dict[str, Any]) -> bool:
    """Whether this attempt reported a failure before its complete-by."""
    return known.get("attempt") == step.attempt and known.get("type") != EXPIRED and bool(known.get("message"))


def _expiry(step: ExpiredStep, known: dict[str, Any]) -> dict[str, Any]:
    """The error of an attempt that ran out of time; ``known`` is the last error of earlier attempts."""
    before = known.get("expired")
    count = 1 + (before if isinstance(before, int) else max(0, step.failure_count - bool(known)))
    message = f"{step.key} did not finish within its complete-by {count} time{'s' * (count > 1)}"
    last = _last_reported(known)
    return {
        "message": f"{message}; last error: {last}" if last else message,
        "type": EXPIRED,
        "data": {},
        "maybe_done": _in_doubt(step),
        "attempt": step.attempt,
        **history(known, step.attempt),
        "expired": count,
    }


def _last_reported(known: dict[str, Any]) -> object:
    """The message of the last attempt that reported an error."""
    if known.get("type") != EXPIRED:
        return known.get("message")
    earlier = known.get("earlier")
    reported = [each for each in earlier if each.get("type") != EXPIRED] if isinstance(earlier, list) else []
    return reported[-1].get("message") if reported else None


def _in_doubt(step: ExpiredStep) -> bool:
    """The effect of an abandoned attempt is unknown; a transaction that has not committed had none."""
    return step.kind != StepKind.TRANSACTION


def _task_error(task: ExpiredTask) -> dict[str, Any]:
    return {
        "message": f"task {task.task_id} was not done by its complete-by",
        "type": "TaskExpired",
        "step": None,
        "data": {},
        "maybe_done": False,
        "in_doubt": [],
    }
