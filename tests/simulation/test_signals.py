"""The checker of signals can fail: one taken twice, lost, changed, or taken before an earlier one."""

from __future__ import annotations

import pytest

from simulation.invariants.history import Change, Mirror
from simulation.invariants.signals import SignalConservation
from simulation.invariants.watched_rows import InboxEntry, StepRow, TaskRow

FIRST = InboxEntry(1, "t", "signal", "go", b"1")
SECOND = InboxEntry(2, "t", "signal", "go", b"2")
TASK = TaskRow._make([None] * len(TaskRow._fields))._replace(uid="t", state="processing")


def gone(row: InboxEntry) -> Change:
    return Change("inbox", row, None)


def took(body: bytes, *, set_aside_at: float | None = None) -> Change:
    step = StepRow._make([None] * len(StepRow._fields))._replace(task="t", run=1, kind="signal", name="go", output=body)
    return Change("step", None, step._replace(set_aside_at=set_aside_at))


@pytest.mark.parametrize(
    ("entries", "left", "state", "broken"),
    [
        ([gone(FIRST), took(b"1")], [SECOND], "processing", None),
        ([gone(FIRST), gone(SECOND), took(b"1"), took(b"2")], [], "processing", None),
        ([gone(FIRST), gone(SECOND)], [], "processed", None),
        ([took(b"1", set_aside_at=7.0)], [FIRST], "pending", None),
        ([took(b"1")], [FIRST], "processing", "t took b'1' for signal go, which was not in its inbox"),
        ([gone(FIRST), took(b"3")], [], "processed", "t took b'3' for signal go, which was not in its inbox"),
        ([gone(FIRST)], [], "processing", "signal go b'1' left the inbox of t, and nothing took it"),
        ([gone(SECOND), took(b"2")], [FIRST], "processing", "t took a later signal go before b'1'"),
    ],
)
def test_what_may_become_of_signals(entries: list[Change], left: list[InboxEntry], state: str, broken: str) -> None:
    mirror, told = Mirror(), list[str]()
    mirror.tasks["t"] = TASK._replace(state=state)
    mirror.inbox = {row.number: row for row in left}
    SignalConservation(mirror, lambda invariant, text: told.append(text)).committed(entries)
    assert told == ([] if broken is None else [broken])
