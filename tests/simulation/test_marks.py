"""Results that an operator recorded are kept apart from those of a program: no rule expects their effects."""

from __future__ import annotations

from simulation.invariants.history import Act, Change, Mirror
from simulation.invariants.rules import Rules
from simulation.invariants.watched_rows import StepRow
from simulation.trace import Trace

STEP = StepRow._make([None] * len(StepRow._fields))._replace(task="t", run=1, key="booked/1", attempt=2, generation=1)
FAILED = STEP._replace(state="failed")
DONE = STEP._replace(state="completed", kind="transaction", output=b"1")
ASIDE = DONE._replace(key="booked/1~1", set_aside_at=5.0)


def marked(verb: str, *entries: Change) -> set[str]:
    trace = Trace(lambda: 0.0, lambda: None)
    rules = Rules(Mirror(), trace, lambda: 0.0)
    rules.committed(list(entries), Act(verb, None))
    assert trace.violations == []
    return rules.marked


def test_a_result_given_by_hand_is_known_by_its_key() -> None:
    assert marked("direct", Change("step", FAILED, None), Change("step", None, DONE)) == {"t/1/booked/1#1"}


def test_what_a_program_completed_is_not() -> None:
    assert marked("transaction", Change("step", STEP._replace(state="running"), DONE)) == set()


def test_what_a_repair_sets_aside_is_not() -> None:
    assert marked("direct", Change("step", DONE, None), Change("step", None, ASIDE)) == set()
