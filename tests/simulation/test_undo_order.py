"""The checker of the order of undo can fail; it goes by the order of delivered outcomes."""

from __future__ import annotations

import pytest

from simulation.invariants.history import Act, Change, Mirror
from simulation.invariants.rules import Rules
from simulation.invariants.watched_rows import StepRow, TaskRow
from simulation.trace import Trace

TASK = TaskRow._make([None] * len(TaskRow._fields))._replace(uid="t", id="task", run=1, undo_to="undone")
STEP = StepRow._make([None] * len(StepRow._fields))._replace(
    task="t", run=1, name="pay.note", kind="operation", state="running", attempt=1, generation=0, has_undo=1, in_doubt=0
)
ASK = STEP._replace(key="ask")
ASKED = ASK._replace(state="completed")
TOLD = ASKED._replace(ordinal=1)
TOLD_LAST = ASKED._replace(ordinal=3)
DOUBT = ASK._replace(state="failed", in_doubt=1)
DOUBT_TOLD = DOUBT._replace(ordinal=1)
SEND = STEP._replace(key="send")
SENT = SEND._replace(state="completed", ordinal=2)
UNDONE = SENT._replace(state="undone")
UNDO = STEP._replace(key="ask~undo", kind="undo", has_undo=0)
OUTSIDE = Act("complete", None)

Course = list[list[StepRow]]


def broken(course: Course) -> list[str]:
    """The errors that the checker finds in commits that leave these rows."""
    mirror, trace = Mirror(), Trace(lambda: 1.0, lambda: None)
    rules = Rules(mirror, trace, lambda: 1.0)
    for rows in course:
        rules.committed([Change("step", mirror.steps.get(row[:3]), row) for row in rows], OUTSIDE)
    mirror.tasks["t"] = TASK
    rules.committed([Change("step", None, UNDO)], OUTSIDE)
    return trace.violations


@pytest.mark.parametrize(
    "course",
    [
        pytest.param([[ASK, SEND], [SENT], [TOLD_LAST]], id="it was told last"),
        pytest.param([[ASK], [ASKED], [SEND], [SENT], [TOLD_LAST]], id="it was done first, and told last"),
        pytest.param([[ASK], [ASKED], [SEND], [SENT]], id="it was done first, and never told"),
        pytest.param(
            [[ASK], [DOUBT_TOLD], [DOUBT], [SEND], [SENT], [DOUBT._replace(ordinal=3)]],
            id="it was told anew",
        ),
        pytest.param([[ASK], [TOLD, SEND], [SENT], [UNDONE]], id="the other is undone"),
    ],
)
def test_a_step_is_undone_where_nothing_that_stands_followed_from_it(course: Course) -> None:
    assert not broken(course)


@pytest.mark.parametrize(
    "course",
    [
        pytest.param([[ASK], [TOLD], [SEND], [SENT]], id="the other began afterwards"),
        pytest.param([[ASK], [TOLD, SEND], [SENT]], id="the other began as it was told"),
        pytest.param([[ASK], [ASKED], [TOLD, SEND], [SENT]], id="the other began as it was told what was done"),
        pytest.param([[ASK], [DOUBT_TOLD, SEND], [SENT]], id="it failed, in doubt"),
        pytest.param([[ASK, SEND], [TOLD], [SENT._replace(ordinal=None)]], id="the other was never told"),
        pytest.param(
            [[ASK], [ASKED], [SEND._replace(run=2)], [SENT._replace(run=2)]], id="the other is of a later run"
        ),
    ],
)
def test_a_step_that_is_undone_too_early_is_noticed(course: Course) -> None:
    assert broken(course) == ["S13: t: ask~undo began before send, which came later, was undone"]
