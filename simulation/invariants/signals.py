"""S31 on every commit: each signal is taken once, in order, and leaves its inbox with the step that took it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

from simulation.invariants.history import Change, Mirror
from simulation.invariants.updates import is_rejected
from simulation.invariants.watched_rows import InboxEntry, StepRow
from stepward.model.records import InboxKind
from stepward.model.states import TASK_ENDS, StepKind

TakenSignal = tuple[str, str, bytes]
"""Task, name and payload of a signal."""


class SignalConservation:
    """Compares what leaves inboxes with the steps that are new in the same transaction."""

    def __init__(self, mirror: Mirror, broken: Callable[[str, str], None]) -> None:
        self._mirror = mirror
        self._broken = broken

    def committed(self, entries: list[Change]) -> None:
        """Check a transaction; the mirror has followed it already."""
        gone = [entry.before for entry in entries if entry.table == "inbox" and entry.after is None]
        signals = [row for row in gone if row.kind == InboxKind.SIGNAL]
        took = [entry.after for entry in entries if _is_taking(entry)]
        if not signals and not took:
            return
        left = Counter(map(_of_row, signals))
        taken = Counter(map(_of_step, took))
        for task, name, body in (taken - left).elements():
            self._broken("S31", f"{task} took {body!r} for signal {name}, which was not in its inbox")
        for task, name, body in (left - taken).elements():
            row = self._mirror.tasks.get(task)
            if row is not None and row.state not in TASK_ENDS and not is_rejected(task, name, body, entries):
                self._broken("S31", f"signal {name} {body!r} left the inbox of {task}, and nothing took it")
        self._check_order(signals)

    def _check_order(self, signals: list[InboxEntry]) -> None:
        last: defaultdict[tuple[str, str], int] = defaultdict(int)
        for row in signals:
            last[row.task, row.name] = max(last[row.task, row.name], row.number)
        for row in self._mirror.inbox.values() if last else ():
            if row.kind == InboxKind.SIGNAL and row.number < last.get((row.task, row.name), 0):
                self._broken("S31", f"{row.task} took a later signal {row.name} before {row.body!r}")


def _is_taking(entry: Change) -> bool:
    _, before, after = entry
    is_new = entry.table == "step" and before is None and after is not None
    # What a repair sets aside was taken before; the signal is put back.
    return is_new and after.kind == StepKind.SIGNAL and after.set_aside_at is None


def _of_row(row: InboxEntry) -> TakenSignal:
    return row.task, row.name, row.body


def _of_step(step: StepRow) -> TakenSignal:
    return step.task, step.name.removeprefix("signal:"), step.output or b""
