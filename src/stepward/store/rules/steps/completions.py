"""Decisions on steps that are finished from outside, the same in every store: from records alone."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from stepward.model import failures
from stepward.model.messages.requests import Outcome, RecordedReply
from stepward.model.records import Alert, Audit, InboxKind, Step, Task
from stepward.model.states import StepKind, StepState
from stepward.store.contract import Completion, Post, Refusal, RefusalReason

UNPROVEN = frozenset({RefusalReason.FORGED, RefusalReason.FOREIGN, RefusalReason.UNREADABLE})
"""What such a token says of itself may be of any task."""
NOBODY_WAITS = frozenset({StepState.ABANDONED, StepState.SKIPPED})
MOST_REFUSALS = 100
"""Refused completions of one hour that are audited; more are counted by an alert."""
MOST_REFUSALS_EACH = 10
"""Of these, those of one task; a token that is not genuine is of none, and such ones share this many."""
LONGEST_NAME = 300
"""Most characters of the names in a refused completion, which are not verified."""
REFUSALS_SECONDS = 3_600.0
MANY_REFUSED = "refused_completions"
"""The kind of that alert, and where the store keeps the count of the hour."""


def refusal(completion: Completion, task: Task | None, step: Step | None, now: float) -> Refusal | None:
    """Why the attempt cannot be ended so; None if it can."""
    if task is None or step is None:
        return Refusal(
            RefusalReason.GONE,
            f"completion of {completion.key}: expected a task that is kept, found none; there is nothing to finish",
        )
    found = _found(completion, task, step, now)
    if found is None:
        return None
    reason, words = found
    return Refusal(reason, f"completion of {step.key} of task {task.id}: expected it to run, found {words}")


def settled(completion: Completion, step: Step) -> Completion:
    """A completion as it is recorded: its error tells the truth of this step's every attempt."""
    if completion.error is None:
        return completion
    error = failures.settled(completion.error, attempt=step.attempt, maybe_done=step.in_doubt, before=step.error)
    return msgspec.structs.replace(completion, error=error)


def overtaken(completion: Completion, task: Task) -> Refusal:
    """The refusal when the attempt ended or moved at the same time."""
    message = f"completion of {completion.key} of task {task.id}: expected it to run, found it changed meanwhile"
    return Refusal(RefusalReason.OVER, message)


def told(completion: Completion, now: float) -> Post:
    """What the owner reads of an outcome that is recorded already."""
    reply = RecordedReply(
        task=completion.task,
        run=completion.run,
        key=completion.key,
        attempt=completion.attempt,
        outcome=Outcome.COMPLETED if completion.error is None else Outcome.FAILED,
        output=completion.output,
        error=completion.error,
        recorded_at=now,
    )
    name = f"{completion.run}/{completion.key}"
    return Post(
        task=completion.task,
        kind=InboxKind.REPLY,
        name=name,
        body=msgspec.json.encode(reply),
        sender=completion.actor,
    )


class CompletionRefusals(msgspec.Struct, frozen=True):
    """The refused completions that were audited in the present hour, by the tasks of their tokens."""

    since: float = float("-inf")
    audited: dict[str, int] = {}

    def one_more(self, whose: str, now: float) -> CompletionRefusals | None:
        """With another one; None if it has no room in the audit. The next hour, or a clock that went back, has room."""
        if not 0 <= now - self.since < REFUSALS_SECONDS:
            return CompletionRefusals(now, {whose: 1})
        count = self.audited.get(whose, 0)
        if count >= MOST_REFUSALS_EACH or sum(self.audited.values()) >= MOST_REFUSALS:
            return None
        return CompletionRefusals(self.since, {**self.audited, whose: count + 1})


def principal(task: Task | None, refused: Refusal) -> str:
    """The account of a refused completion: the task, if the token proves it; else one that all unproven tokens
    share."""
    return "" if task is None or refused.reason in UNPROVEN else task.uid


def many_refused(completion: Completion, now: float, before: bytes = b"{}") -> Alert:
    """The one alert on completions that are refused and have no room in the audit; ``before``: its details."""
    count = msgspec.json.decode(before, type=dict[str, int]).get("count", 0) + 1
    message = (
        f"completions are refused: {count:,} beyond the {MOST_REFUSALS} of an hour, and {MOST_REFUSALS_EACH} of one "
        f"task, that are audited, the last of "
        f"{completion.key[:LONGEST_NAME]} by {completion.actor[:LONGEST_NAME]}; see stepward audit"
    )
    return Alert(at=now, kind=MANY_REFUSED, message=message, details=msgspec.json.encode({"count": count}))


def audit(completion: Completion, task: Task | None, refused: Refusal | None) -> Audit:
    """The audit of a completion or of a refused one."""
    after = StepState.COMPLETED if completion.error is None else StepState.FAILED
    details = {"run": completion.run, "attempt": completion.attempt}
    return Audit(
        actor=completion.actor if refused is None else completion.actor[:LONGEST_NAME],
        act=completion.act if refused is None else "refused_completion",
        task=task.uid if task is not None else None,
        step=completion.key if refused is None else completion.key[:LONGEST_NAME],
        before=StepState.RUNNING if refused is None else None,
        after=after if refused is None else None,
        details=msgspec.json.encode(details if refused is None else {**details, "reason": refused.reason}),
    )


def _found(completion: Completion, task: Task, step: Step, now: float) -> tuple[RefusalReason, str] | None:
    if step.attempt != completion.attempt or step.state is StepState.TO_REPEAT:
        return RefusalReason.REPEATED, "that the attempt ran out of time and is repeated; use the token of the next one"
    if step.state is not StepState.RUNNING:
        return _over(step)
    if task.undo_to is not None and step.kind is not StepKind.UNDO:
        return RefusalReason.UNDONE, "that its task is being undone; nothing goes forward any more"
    if step.complete_by is not None and step.complete_by <= now:
        by = datetime.fromtimestamp(step.complete_by, UTC).isoformat(timespec="seconds")
        return RefusalReason.LATE, f"its complete-by, {by}, past"
    return None


def _over(step: Step) -> tuple[RefusalReason, str]:
    if step.state is StepState.UNDONE:
        return RefusalReason.UNDONE, "it undone; nothing goes forward any more"
    if step.state in NOBODY_WAITS:
        return RefusalReason.OVER, f"it {step.state}: its outcome is no longer needed"
    if step.state is StepState.FAILED and _has_expired(step):
        return RefusalReason.LATE, "that it ran out of time and failed; its tokens are worth nothing any more"
    return RefusalReason.USED, f"it {step.state} already; a token is good once"


def _has_expired(step: Step) -> bool:
    return failures.read(step.error).get("type") == failures.EXPIRED
