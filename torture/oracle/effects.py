"""What the service did: once under each key and for each step, in order, and taken back newest first."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from stepward.model.states import TaskState
from torture.application.ledger import LedgerEntry
from torture.application.task_kinds import KINDS, Stages
from torture.books import RecordedTask, Records

SLACK_SECONDS = 0.25
"""What lies between an Agent's last look at the clock and the service's own."""
OLD_SECONDS = 30.0
"""How long after the server's clock was moved an attempt may be under way that began before."""


def effects(books: Records) -> Iterator[str]:
    """No effect lost, doubled, out of order, or left where it was to be undone."""
    entries: defaultdict[str, list[LedgerEntry]] = defaultdict(list)
    for entry in books.entries:
        entries[entry.task].append(entry)
    yield from _keys(books)
    yield from _in_time(books)
    tasks = {task.id: task for task in books.tasks}
    for id in entries.keys() - tasks.keys():
        yield f"{id}: took effect, and there is no such task"
    for task in books.tasks:
        yield from _task(task, sorted(entries[task.id], key=lambda entry: entry.number))


def _keys(books: Records) -> Iterator[str]:
    known = {_key(step.task, step.run, step.key, step.generation) for step in books.steps}
    for key, count in Counter(entry.key for entry in books.entries).items():
        if count > 1:
            yield f"{key}: took effect {count} times under one key"
        if key not in known:
            yield f"{key}: took effect, and is the key of no step"


def _in_time(books: Records) -> Iterator[str]:
    """A step that was acknowledged was asked for before its time was over."""
    asked = {call.key for call in books.calls if call.at + _ahead(books, call.at) <= call.complete_by + SLACK_SECONDS}
    for step in books.steps:
        key = _key(step.task, step.run, step.key, step.generation)
        if step.key.startswith("service.act/") and step.answered and key not in asked:
            yield f"{key}: was answered, and no attempt reached the service within its complete-by"


def _ahead(books: Records, at: float) -> float:
    """How far the server's clock was ahead at least, since an attempt that was made then can have begun."""
    earliest = at - OLD_SECONDS
    found = []
    untils = [*(since for since, _, _ in books.times[1:]), math.inf]
    for (since, ahead, rate), until in zip(books.times, untils, strict=False):
        # It drifts evenly, so that it is least at one end.
        ends = max(since, earliest), min(until, at)
        if ends[0] <= ends[1]:
            found += [ahead + (rate - 1) * (end - since) for end in ends]
    return min(found, default=0.0)


def _task(task: RecordedTask, entries: Sequence[LedgerEntry]) -> Iterator[str]:
    kind = KINDS[task.workflow]
    done = [entry for entry in entries if entry.verb == "do"]
    undone = [entry for entry in entries if entry.verb == "undo"]
    for name, found in (("done", done), ("undone", undone)):
        for what, count in Counter(entry.what for entry in found).items():
            if count > 1:
                yield f"{task.id}: {what} was {name} {count} times, under the keys {[entry.key for entry in found]}"
    expected = {what for stage in kind.stages for what in stage}
    whats = {entry.what for entry in done}
    if whats - expected or (kind.is_whole and whats != expected):
        yield f"{task.id}: expected the effects {sorted(expected)}, found {sorted(whats)}"
    if _is_out_of_order(done, kind.stages):
        yield f"{task.id}: expected its effects in the order {kind.stages}, found {[entry.what for entry in done]}"
    yield from _undone(task, done, undone)


def _undone(task: RecordedTask, done: Sequence[LedgerEntry], undone: Sequence[LedgerEntry]) -> Iterator[str]:
    kind = KINDS[task.workflow]
    if kind.end not in (TaskState.UNDONE, TaskState.CANCELLED):
        if undone:
            yield f"{task.id}: is to be {kind.end}, and {[entry.what for entry in undone]} were undone"
        return
    places = {entry.what: entry.number for entry in undone}
    for entry in done:
        if entry.what not in places:
            yield f"{task.id}: is to be {kind.end}, and the effect of {entry.what} stands"
        elif places[entry.what] < entry.number:
            yield f"{task.id}: {entry.what} took effect after its undo"
    if _is_out_of_order(undone, kind.stages[::-1]):
        yield f"{task.id}: expected undos in the order {kind.stages[::-1]}, found {[entry.what for entry in undone]}"


def _is_out_of_order(entries: Sequence[LedgerEntry], stages: Stages) -> bool:
    places = {what: place for place, stage in enumerate(stages) for what in stage}
    found = [places.get(entry.what, 0) for entry in entries]
    return found != sorted(found)


def _key(task: str, run: int, key: str, generation: int) -> str:
    return f"{task}/{run}/{key}" + (f"#{generation}" if generation else "")
