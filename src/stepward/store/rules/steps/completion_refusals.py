"""The audit of completions; of refused ones so many in an hour, and fewer of one task, and the rest is counted."""

from __future__ import annotations

import msgspec

from stepward.model.records import Alert, Audit, Task
from stepward.model.states import StepState
from stepward.store.contract import Completion, Refusal, RefusalReason

UNPROVEN = frozenset({RefusalReason.FORGED, RefusalReason.FOREIGN, RefusalReason.UNREADABLE})
"""What such a token says of itself may be of any task."""
MOST_REFUSALS = 100
"""Refused completions of one hour that are audited; more are counted by an alert."""
MOST_REFUSALS_EACH = 10
"""Of these, those of one task; a token that is not genuine is of none, and such ones share this many."""
LONGEST_NAME = 300
"""Most characters of the names in a refused completion, which are not verified."""
REFUSALS_SECONDS = 3_600.0
MANY_REFUSED = "refused_completions"
"""The kind of that alert, and where the store keeps the count of the hour."""


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
