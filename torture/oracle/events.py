"""The events received about each posted task: complete and in order, as the store has them."""

from __future__ import annotations

from collections.abc import Iterator

from stepward.model.states import TaskState
from torture.application.task_kinds import KINDS
from torture.books import HeardEvent, RecordedStep, RecordedTask, Records

FIRST = ["stepward.request.received", "stepward.task.started"]
LAST = {TaskState.PROCESSED: "completed", TaskState.UNDONE: "undone", TaskState.ERROR: "failed"}
OUTCOMES = ("stepward.step.completed", "stepward.step.failed")
AWAITED = frozenset({"operation", "local", "transaction", "child"})
"""Kinds of steps whose outcomes are events."""


def events(books: Records) -> Iterator[str]:
    """Gapless and in order, and doubles are alike."""
    heard: dict[str, list[HeardEvent]] = {}
    for event in books.heard:
        known = heard.setdefault(event.subject, [])
        if event.sequence <= len(known):
            if known[event.sequence - 1] != event:
                yield f"{event.subject}: event {event.sequence} came again as another"
        elif event.sequence > len(known) + 1:
            yield f"{event.subject}: event {event.sequence} was heard after {len(known)}"
        else:
            known.append(event)
    steps: dict[str, list[RecordedStep]] = {}
    for step in books.steps:
        steps.setdefault(step.task, []).append(step)
    for task in books.tasks:
        yield from _told(task, heard.pop(task.id, []), steps.get(task.uid, []))
    for subject in heard:
        yield f"{subject}: was told of, and is no task"


def _told(task: RecordedTask, heard: list[HeardEvent], steps: list[RecordedStep]) -> Iterator[str]:
    if [event.id for event in heard] != [f"{task.uid}/{n}" for n in range(1, task.events + 1)]:
        yield f"{task.id}: told {task.events} events, and {len(heard)} were heard"
    if task.reply_to is None or not heard:
        return
    types = [event.type for event in heard]
    last = f"stepward.task.{LAST[KINDS[task.workflow].end]}"
    if types[:2] != FIRST or types[-1] != last:
        yield f"{task.id}: expected {FIRST} first and {last} last, found {types}"
    delivered = sorted((s for s in steps if s.ordinal is not None and s.kind in AWAITED), key=lambda s: s.ordinal or 0)
    told = [event.step for event in heard if event.type in OUTCOMES]
    if told != [step.key for step in delivered]:
        yield f"{task.id}: expected word of {[step.key for step in delivered]}, found {told}"
