from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stepward.console.timeline.axis import TimeAxis
from stepward.console.timeline.layout import drawn_timeline
from stepward.console.timeline.rows import MOST_ROWS, timeline_rows
from stepward.console.timeline.spans import MarkKind, SpanEnd, SpanKind
from stepward.model.records import Audit, Step, Task
from stepward.model.states import StepKind, StepState, TaskState

BEGAN = 1_000.0


def task(**fields: Any) -> Task:
    usual = {"uid": "u", "id": "order", "workflow": "w", "version": "1", "created_at": BEGAN, "started_at": BEGAN}
    return Task(**{**usual, **fields})


def step(key: str, number: int = 1, **fields: Any) -> Step:
    usual = {"kind": StepKind.OPERATION, "state": StepState.COMPLETED, "attempt": 1, "agent": "pay"}
    return Step(task="u", run=1, key=key, number=number, name=key.partition("/")[0], **{**usual, **fields})


def decision(act: str, attempt: int, at: float, key: str = "charge/1") -> Audit:
    details = msgspec.json.encode({"run": 1, "attempt": attempt})
    return Audit(number=attempt, at=at, actor="supervisor", act=act, task="u", step=key, details=details)


def test_a_wait_for_room_is_apart_from_the_attempt() -> None:
    first = step("reserve/1", 1, started_at=BEGAN, finished_at=BEGAN + 2, ordinal=1, asked=1)
    second = step("charge/1", 2, started_at=BEGAN + 5, finished_at=BEGAN + 6)
    _, row = timeline_rows(task(state=TaskState.PROCESSED, finished_at=BEGAN + 6), [first, second], [], BEGAN + 9)
    assert [(span.kind, span.start, span.end) for span in row.spans] == [
        (SpanKind.ROOM, BEGAN + 2, BEGAN + 5),
        (SpanKind.ATTEMPT, BEGAN + 5, BEGAN + 6),
    ]


def test_each_attempt_that_was_given_up_has_its_bar_and_the_decision_its_mark() -> None:
    charge = step(
        "charge/1",
        attempt=3,
        failure_count=2,
        complete_seconds=1.0,
        started_at=BEGAN + 3_610,
        finished_at=BEGAN + 3_611,
    )
    audits = [decision("repeat", 1, BEGAN + 1.2), decision("repeat", 2, BEGAN + 4)]
    ended = task(state=TaskState.PROCESSED, finished_at=BEGAN + 3_611)
    (row,) = timeline_rows(ended, [charge], audits, BEGAN + 9_000)
    bars = [span for span in row.spans if span.kind is SpanKind.ATTEMPT]
    assert [(bar.attempt, bar.outcome, bar.is_about) for bar in bars] == [
        (1, SpanEnd.DOUBT, True),
        (2, SpanEnd.DOUBT, True),
        (3, SpanEnd.DONE, False),
    ]
    assert [mark.word for mark in row.marks if mark.kind is MarkKind.DECISION] == ["repeat", "wait 1h"]


def test_an_undo_stands_below_what_it_undoes() -> None:
    made = step("charge/1", 1, state=StepState.UNDONE, started_at=BEGAN, finished_at=BEGAN + 1)
    later = step("send/1", 2, started_at=BEGAN + 1, finished_at=BEGAN + 2)
    undo = step("charge/1~undo", 1, kind=StepKind.UNDO, started_at=BEGAN + 3, finished_at=BEGAN + 4)
    rows = timeline_rows(task(state=TaskState.UNDONE, finished_at=BEGAN + 4), [later, undo, made], [], BEGAN + 9)
    assert [(row.key, row.depth) for row in rows] == [("charge/1", 0), ("charge/1~undo", 1), ("send/1", 0)]


def test_many_steps_of_one_name_are_one_row_until_they_are_asked_for() -> None:
    steps = [step(f"reserve/{n}", n, started_at=BEGAN + n, finished_at=BEGAN + n + 1) for n in range(1, MOST_ROWS * 2)]
    steps[10] = step("reserve/11", 11, state=StepState.FAILED, started_at=BEGAN, finished_at=BEGAN + 1)
    rows = timeline_rows(task(), steps, [], BEGAN + 500)
    assert rows[0].group == f"reserve × {len(steps)}: {len(steps) - 1} done, 1 failed"
    assert [row.key for row in rows[1:]] == ["reserve/11"]
    assert len(timeline_rows(task(), steps, [], BEGAN + 500, opened={"reserve"})) == len(steps)


def test_long_stretches_without_events_are_folded() -> None:
    axis = TimeAxis(0.0, 100_000.0, [10.0, 99_990.0])
    (fold,) = axis.folds
    assert (fold.start, fold.end) == (10.0, 99_990.0)
    assert axis.position(10.0) == pytest.approx(48.5)
    assert axis.position(99_990.0) == pytest.approx(51.5)
    assert (axis.position(-5.0), axis.position(200_000.0)) == (0.0, 100.0)


def test_a_part_of_the_time_is_looked_at() -> None:
    steps = [step(f"s/{n}", n, started_at=BEGAN + n * 10, finished_at=BEGAN + n * 10 + 1) for n in range(3)]
    rows = timeline_rows(task(), steps, [], BEGAN + 100)
    drawn = drawn_timeline(rows, TimeAxis(BEGAN + 9, BEGAN + 12, []), now=None, is_zoomed=True)
    attempts = [[bar.left for bar in row.bars if bar.kind is SpanKind.ATTEMPT] for row in drawn.rows]
    assert [len(each) for each in attempts] == [0, 1, 0]
    assert attempts[1][0] == pytest.approx(100 / 3)
