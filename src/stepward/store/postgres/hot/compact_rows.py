"""Rows as they usually are: columns that hold the usual value in all of them are not sent, but stand in the SQL.

Most of what a turn sends is arrays, element by element, and a third of those would say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import msgspec

from stepward.model.records import Step, Task
from stepward.model.states import StepState
from stepward.store.contract import Finish

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
FINISH = {"state": StepState.COMPLETED, "error": None, "in_doubt": False}


class CompactForm:
    """The columns of a record that usually hold one value, and the others."""

    def __init__(self, record: type[msgspec.Struct], values: Mapping[str, Any]) -> None:
        names = record.__struct_fields__
        self.values = tuple(values[name] for name in names if name in values)
        self.others = [name for name in names if name not in values]
        self._compact = itemgetter(*[place for place, name in enumerate(names) if name in values])
        self._sent = [place for place, name in enumerate(names) if name not in values]

    def fits(self, rows: Sequence[Sequence[Any]]) -> bool:
        """Whether all rows hold the usual values."""
        usual, values = self._compact, self.values
        return all(usual(row) == values for row in rows)

    def sent(self, columns: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
        """Of all columns, those that are sent."""
        return [columns[place] for place in self._sent]


COMPACT_FORMS = {
    "insert_step": CompactForm(Step, STEP),
    "insert_task": CompactForm(Task, TASK),
    "finish": CompactForm(Finish, FINISH),
}
"""By the query, which has a second form for them: ``insert_step_compact``."""
