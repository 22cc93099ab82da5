"""The possible acts on a task that needs attention, before they are checked against the store's rules."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from stepward.client import TaskStatus
from stepward.model import failures
from stepward.model.effects import undo_key
from stepward.model.records import Step, Task
from stepward.model.states import StepKind, StepState, TaskState
from stepward.model.tasks.directives import TRIED
from stepward.model.tasks.stopped_tasks import is_stopped
from stepward.payload.secret_values import MARKED
from stepward.store.contract import Directive, Doubt, Later
from stepward.store.rules.directives import allowed_directives
from stepward.store.rules.directives.concerned_steps import failed_children

SIGNAL = "signal "
UPDATE = "update "
INPUT = "--input"
UNREADABLE = "InvalidPayload"
ENDLESS = "HistoryTooLong"
"""An error that every resubmission meets again at once."""
HANGS = "Hangs"
"""The error of code that blocked event loops."""
EDITABLE = frozenset({StepKind.OPERATION, StepKind.LOCAL, StepKind.TRANSACTION})
NEW_DEADLINE = ("--complete-by", "1h")
LONGEST_ARGUMENTS = 200
"""Most characters of a step's arguments within a shown command."""
MOST_CAUGHT = 3
"""Most caught failures whose repairs are shown, the latest ones."""
DOUBTS = {
    None: ((), ""),
    Doubt.UNDO: (("--undo-first",), "; first undo the attempts in doubt"),
    Doubt.DID_NOT_HAPPEN: (("--did-not-happen",), "; you checked that it did not happen"),
}
LATERS = {
    None: ((), ""),
    Later.UNDO: (("--later", "undo"), "; first undo the steps after it"),
    Later.KEEP: (("--later", "keep"), "; keep the steps after it"),
}
SETTLED: tuple[tuple[Doubt | None, ...], ...] = ((None,), (Doubt.UNDO, Doubt.DID_NOT_HAPPEN))
KEPT: tuple[tuple[Later | None, ...], ...] = ((None,), (Later.UNDO, Later.KEEP))


class Choice(Struct, frozen=True):
    """A command without its options, its meaning, and its check by the store, if the store can refuse it."""

    words: tuple[str, ...]
    meaning: str
    directive: Directive | None = None

    def command(self, *, payloads: bool) -> str:
        """The command line; without ``payloads`` the step's arguments in it are left out."""
        words = list(self.words)
        if not payloads and INPUT in words:
            words[words.index(INPUT) + 1] = "[…]"
        return shlex.join(["stepward", *words])


def choices(record: Task, status: TaskStatus, steps: Sequence[Step]) -> list[Choice]:
    """The possible acts, in the order in which they are shown."""
    id = record.id
    if status.state is TaskState.ERROR:
        return _of_error(record, steps)
    if status.state in TRIED and is_stopped(record):
        return _of_stopped(id)
    if status.state is TaskState.SUSPENDED:
        stop = Choice(("cancel", id), "stop, and undo its steps", _asked("cancel"))
        return [Choice(("resume", id), "continue", _asked("resume")), stop]
    waits_for = status.waits_for or ""
    if status.state is TaskState.WAITING and waits_for.startswith(SIGNAL):
        name = waits_for.removeprefix(SIGNAL).partition(",")[0]
        return [Choice(("signal", id, name, "JSON"), "send the signal that it waits for")]
    if status.state is TaskState.WAITING and waits_for.startswith(UPDATE):
        name = waits_for.removeprefix(UPDATE).partition(",")[0]
        return [Choice(("update", id, name, "JSON"), "ask for the update that it waits for, and see its answer")]
    return []


def variants(record: Task, choice: Choice, now: float) -> Iterator[list[Choice]]:
    """The choice with the options that it may need, as lists: the first list with a working choice is enough."""
    asked = choice.directive
    if asked is None or asked.verb not in ("resubmit", "mark_done"):
        yield [choice]
        return
    deadline = now + 3600.0 if allowed_directives.is_past_deadline(record, now) else None
    for doubts in SETTLED if asked.verb == "resubmit" else SETTLED[:1]:
        for laters in KEPT:
            yield [_worded(choice, asked, doubt, later, deadline) for doubt in doubts for later in laters]


def _worded(
    choice: Choice, asked: Directive, doubt: Doubt | None, later: Later | None, deadline: float | None
) -> Choice:
    (doubt_words, doubt_meaning), (later_words, later_meaning) = DOUBTS[doubt], LATERS[later]
    end = () if deadline is None else NEW_DEADLINE
    return Choice(
        (*choice.words, *doubt_words, *later_words, *end),
        choice.meaning + doubt_meaning + later_meaning,
        msgspec.structs.replace(asked, doubt=doubt, later=later, deadline=deadline),
    )


def _of_stopped(id: str) -> list[Choice]:
    """The acts where the code does not fit the record."""
    again = "try again at once; it does so by itself when code that fits is served"
    return [
        Choice(("resubmit", id), again, _asked("resubmit")),
        Choice(("undo", id), "undo its steps, from the record", _asked("undo")),
        Choice(("cancel", id), "stop, and undo its steps", _asked("cancel")),
    ]


def _of_error(record: Task, steps: Sequence[Step]) -> list[Choice]:
    error = failures.read(record.error)
    undo = Choice(("undo", record.id), "undo its steps", _asked("undo"))
    if record.undo_to is not None:
        return _of_undo(record, error, steps)
    if error.get("type") == ENDLESS:
        return [undo]
    if error.get("type") == UNREADABLE:
        return [*_of_unreadable(record, str(error.get("message") or ""), steps), undo]
    step = _named(allowed_directives.blamed(record), steps)
    if step is None or step.state is not StepState.FAILED:
        return [*_of_caught(record, steps), *_of_step(record, None), undo]
    return [*_of_children(record, step, steps), *_of_step(record, step), undo]


def _of_children(record: Task, step: Step, steps: Sequence[Step]) -> list[Choice]:
    """All failed children at once, where the one that the error names is not the only one."""
    count = len(failed_children(record, steps, {})) if step.kind is StepKind.CHILD else 0
    if count < 2:
        return []
    words = ("resubmit", record.id, "--failed-children")
    return [Choice(words, f"repeat the {count:,} child tasks that failed", _asked("resubmit", failed_children=True))]


def _of_caught(record: Task, steps: Sequence[Step]) -> list[Choice]:
    """Steps whose failure the workflow received before it ended with another error: to be repeated they must be
    named."""
    failed = [s for s in steps if s.run == record.run and s.state is StepState.FAILED and s.set_aside_at is None]
    failed = [s for s in failed if s.kind is not StepKind.UNDO and s.ordinal is not None]
    found: list[Choice] = []
    for step in sorted(failed, key=lambda s: s.ordinal or 0)[-MOST_CAUGHT:]:
        again = _asked("resubmit", step=step.key)
        found.append(Choice(("resubmit", record.id, "--step", step.key), f"repeat {step.key}, which failed", again))
        found.append(_by_hand(record, step, f"{step.key} was done by hand: this is the result"))
    return found


def _of_undo(record: Task, error: dict[str, Any], steps: Sequence[Step]) -> list[Choice]:
    step = _named(error.get("step"), steps)
    undo = step if step is None or step.kind is StepKind.UNDO else _named(undo_key(step), steps)
    onward = "continue the undo" if undo is None else f"repeat {undo.key}"
    found = [Choice(("resubmit", record.id), onward, _asked("resubmit"))]
    return found if undo is None else [*found, _by_hand(record, undo)]


def _of_step(record: Task, step: Step | None) -> list[Choice]:
    if step is None:
        return [Choice(("resubmit", record.id), _onward(record), _asked("resubmit"))]
    found = [Choice(("resubmit", record.id), f"repeat {step.key}", _asked("resubmit"))]
    if step.kind in EDITABLE:
        words = ("resubmit", record.id, INPUT, _arguments(step))
        edited = _asked("resubmit", input=step.input)
        found.append(Choice(words, "repeat it with these arguments, edited", edited))
    return [*found, _by_hand(record, step)]


def _onward(record: Task) -> str:
    """Code that raised or blocked does so again until it is fixed: the record is replayed."""
    error = failures.read(record.error)
    place = f" at {error['at']}" if error.get("at") else ""
    is_code = place or error.get("type") == HANGS
    return f"once its code{place} is fixed: continue from the record" if is_code else "continue from the record"


def _arguments(step: Step) -> str:
    """The step's arguments, for editing; nothing if they are too long, unprintable, or hold secrets."""
    text = step.input.decode(errors="replace")
    is_shown = len(text) <= LONGEST_ARGUMENTS and text.isprintable() and MARKED not in step.input
    return text if is_shown else "[…]"


def _of_unreadable(record: Task, message: str, steps: Sequence[Step]) -> list[Choice]:
    """A recorded payload does not fit what the workflow reads: it would be read again."""
    step = _last_of(message, steps)
    if step is None:
        is_own = message.startswith(f"result of {record.workflow}:") or not message.startswith("result of ")
        return _of_step(record, None) if is_own else []
    if step.kind is not StepKind.SIGNAL:
        return [_by_hand(record, step, "give it the right result")]
    drop = ("resubmit", record.id, "--step", step.key)
    return [
        _by_hand(record, step, "give it the payload that it should have had"),
        Choice(drop, "drop it, and wait for another", _asked("resubmit", step=step.key)),
    ]


def _last_of(message: str, steps: Sequence[Step]) -> Step | None:
    """The step whose payload the message is about: ``signal approved: …``, ``result of payments.charge: …``."""
    what = message.partition(":")[0]
    name = f"signal:{what.removeprefix(SIGNAL)}" if what.startswith(SIGNAL) else what.removeprefix("result of ")
    found = [s for s in steps if s.name == name and s.state is StepState.COMPLETED and s.ordinal is not None]
    return max(found, key=lambda s: (s.run, s.ordinal or 0), default=None)


def _by_hand(record: Task, step: Step, meaning: str = "it was done by hand: this is the result") -> Choice:
    return Choice(
        ("mark-done", record.id, step.key, "JSON"), meaning, _asked("mark_done", step=step.key, result=b"null")
    )


def _named(key: object, steps: Sequence[Step]) -> Step | None:
    return max((step for step in steps if step.key == key), key=lambda step: step.run, default=None)


def _asked(verb: str, **more: Any) -> Directive:
    return Directive(verb=verb, actor="", **more)
