"""The store's own record: steps without gaps, each attempt decided once, and a chain of audits that holds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from torture.books import RecordedStep, Records

RESTS = frozenset({"completed", "undone", "failed"})
NEVER_BEGUN = "skipped"


def history(books: Records) -> Iterator[str]:
    """Every task's steps tell one story."""
    steps: defaultdict[tuple[str, int], list[RecordedStep]] = defaultdict(list)
    for step in books.steps:
        steps[step.task, step.run].append(step)
    known = {task.uid for task in books.tasks}
    for (uid, run), found in steps.items():
        if uid not in known:
            yield f"{uid}: has steps, and is no task"
        yield from _run(f"{uid}/{run}", found)
    for decision, count in Counter((d.task, d.run, d.step, d.attempt) for d in books.decisions).items():
        if count > 1:
            yield f"{decision}: expected one decision on an attempt, found {count}"
    if books.unchained:
        yield f"the audit's chain is broken at {books.unchained} places"


def _run(name: str, steps: list[RecordedStep]) -> Iterator[str]:
    own = sorted(step.number for step in steps if step.kind != "undo")
    if own != list(range(1, len(own) + 1)):
        yield f"{name}: expected steps numbered without a gap, found {own}"
    ordinals = sorted(step.ordinal for step in steps if step.ordinal is not None)
    if ordinals != list(range(1, len(ordinals) + 1)):
        yield f"{name}: expected outcomes delivered as 1, 2, …, found {ordinals}"
    for step in steps:
        if step.kind not in ("operation", "undo") or step.state == NEVER_BEGUN:
            continue
        if step.state not in RESTS or step.finished_at is None:
            yield f"{name}/{step.key}: expected it over, found {step.state}"
        elif step.attempt < 1:
            yield f"{name}/{step.key}: is {step.state} without an attempt"
