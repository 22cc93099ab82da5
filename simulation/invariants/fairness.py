"""S30 on every claim: the highest priority first, within it the fairness keys in turn, within a key the oldest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from simulation.invariants.history import Act, Change, Mirror
from simulation.invariants.watched_rows import TaskRow

FREE = frozenset({"pending", "undoing"})
FairnessLine = tuple[int, str | None]
"""Tasks of one priority and fairness key."""


class Fairness:
    """Follows what each Scheduler claims, and what it leaves; all Schedulers of a simulation serve all workflows."""

    def __init__(self, mirror: Mirror, broken: Callable[[str, str], None]) -> None:
        self._mirror = mirror
        self._broken = broken
        self._passed: dict[tuple[str, FairnessLine], Counter[str | None]] = {}
        """How many turns each key had since another, that was there all the while, had its last."""

    def committed(self, entries: list[Change], verb: Act) -> None:
        """Check a transaction; the mirror has followed it already."""
        claimed = [entry.after for entry in entries if _is_claim(entry)] if verb.name == "claim" else []
        if not claimed or verb.instance is None:
            return
        left = [task for task in self._mirror.tasks.values() if _is_free(task)]
        self._check_priority(claimed, left)
        self._check_age(claimed, left)
        for priority in {task.priority for task in claimed}:
            self._check_turns(verb.instance, priority, claimed, left, verb.but)

    def _check_priority(self, claimed: list[TaskRow], left: list[TaskRow]) -> None:
        lowest = min(claimed, key=lambda task: task.priority)
        highest = max(left, key=lambda task: task.priority, default=None)
        if highest is not None and highest.priority > lowest.priority:
            self._broken("S30", f"{lowest.id} ({lowest.priority}) was claimed before {highest.id} ({highest.priority})")

    def _check_age(self, claimed: list[TaskRow], left: list[TaskRow]) -> None:
        oldest: dict[FairnessLine, str] = {}
        for task in left:
            oldest[_line(task)] = min(task.uid, oldest.get(_line(task), task.uid))
        for task in claimed:
            if task.uid > oldest.get(_line(task), task.uid):
                self._broken("S30", f"{task.id} was claimed before {oldest[_line(task)]}, which is older")

    def _check_turns(
        self, instance: str, priority: int, claimed: list[TaskRow], left: list[TaskRow], but: Iterable[str | None]
    ) -> None:
        turns = Counter(task.fairness_key for task in claimed if task.priority == priority)
        waiting = {task.fairness_key for task in left if task.priority == priority} - set(but)
        kept = {}
        for key in waiting:
            name = (instance, (priority, key))
            before = self._passed.get(name, Counter())
            passed = turns - Counter(dict.fromkeys(turns, turns[key])) if turns[key] else before + turns
            passed.pop(key, None)
            kept[name] = passed
            if any(count > 1 for count in passed.values()):
                self._broken("S30", f"{instance} passed over key {key} of priority {priority}: {dict(passed)}")
        gone = [name for name in self._passed if name[0] == instance and name[1][0] == priority]
        for name in gone:
            del self._passed[name]
        self._passed |= kept


def _is_claim(entry: Change) -> bool:
    _, before, after = entry
    return entry.table == "task" and None not in (before, after) and before.locked_by is None and after.locked_by


def _is_free(task: TaskRow) -> bool:
    return task.locked_by is None and task.wake_at is None and task.state in FREE


def _line(task: TaskRow) -> FairnessLine:
    return task.priority, task.fairness_key
