"""Rows as they usually are: columns that hold the usual value in all of them are not sent, but stand in the SQL, and
columns in which they are alike are sent as one value.

Most of what a turn sends is columns, element by element, and two thirds of those would say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import msgspec

from stepward.model.records import Step, Task
from stepward.model.states import StepState
from stepward.store.contract import Finish
from stepward.store.postgres.engine.column_arrays import columns_of

STEP = {
    "failure_count": 0,
    "finished_at": None,
    "repeat_at": None,
    "ordinal": None,
    "output": None,
    "error": None,
    "in_doubt": False,
    "watched": False,
    "generation": 0,
    "progress": None,
    "progress_at": None,
    "deferred_at": None,
    "asked": None,
    "set_aside_at": None,
}
TASK = {
    "fairness_key": None,
    "output": None,
    "error": None,
    "wake_at": None,
    "waits_for": None,
    "undo_to": None,
    "inbox": 0,
    "failure_count": 0,
    "recovery_count": 0,
    "parent": None,
    "parent_run": None,
    "parent_step": None,
    "reply_to": None,
    "finished_at": None,
    "events": 0,
    "deadline": None,
    "hangs": 0,
    "depth": 0,
    "attributes": b"{}",
    "events_to": None,
}
ALIKE_STEPS = (
    "run",
    "kind",
    "state",
    "agent",
    "attempt",
    "complete_seconds",
    "started_at",
    "has_undo",
    "irreversible",
)
"""In which the steps of one turn are often alike, but for their tasks."""
ALIKE_TASKS = ("workflow", "version", "state", "priority", "labels", "run", "locked_by", "complete_by", "started_at")
FINISH = {"state": StepState.COMPLETED, "error": None, "in_doubt": False}


class CompactForm:
    """The columns of a record that usually hold one value, those in which several are often alike, and the others."""

    def __init__(self, record: type[msgspec.Struct], values: Mapping[str, Any], alike: Sequence[str] = ()) -> None:
        names = record.__struct_fields__
        self.values = tuple(values[name] for name in names if name in values)
        self.others = [name for name in names if name not in values]
        self._compact = itemgetter(*[place for place, name in enumerate(names) if name in values])
        self._sent = [place for place, name in enumerate(names) if name not in values]
        self.alike = [name for name in self.others if name in alike]
        self.unlike = [name for name in self.others if name not in alike]
        self._alike = itemgetter(*map(names.index, self.alike)) if alike else None
        self._unlike = list(map(names.index, self.unlike))

    def fits(self, rows: Sequence[Sequence[Any]]) -> bool:
        """Whether all rows hold the usual values."""
        usual, values = self._compact, self.values
        return all(usual(row) == values for row in rows)

    def sent(self, columns: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
        """Of all columns, those that are sent."""
        return [columns[place] for place in self._sent]

    def sent_alike(self, rows: Sequence[Sequence[Any]], columns: Sequence[Sequence[Any]]) -> list[Any] | None:
        """The columns in which rows differ, and the values in which they are alike; None if they are not."""
        if self._alike is None:
            return None
        first, alike = self._alike(rows[0]), self._alike
        if any(alike(row) != first for row in rows):
            return None
        return [*(columns[place] for place in self._unlike), *first]


TASK_FORM = CompactForm(Task, TASK, ALIKE_TASKS)
COMPACT_FORMS = {
    "turn.insert_step": CompactForm(Step, STEP, ALIKE_STEPS),
    "turn.insert_task": TASK_FORM,
    "turn.finish": CompactForm(Finish, FINISH),
    "submission.insert": TASK_FORM,
}
"""By the query, which has a second form for them, ``turn.insert_step_compact``, and some a third, ``_alike``."""


def form_of(query: str, rows: Sequence[Sequence[Any]]) -> tuple[str, list[Any]]:
    """The form of a query that fits rows, of which there is at least one, and the columns and values that it is
    sent."""
    columns, form = columns_of(rows), COMPACT_FORMS.get(query)
    if form is None or not form.fits(rows):
        return query, columns
    if (alike := form.sent_alike(rows, columns)) is not None:
        return f"{query}_alike", alike
    return f"{query}_compact", form.sent(columns)
