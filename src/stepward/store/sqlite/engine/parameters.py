"""Names in braces in this store's ``.sql`` files: parameters by the fields of records."""

from __future__ import annotations

import msgspec

from stepward.model.records import Step, Task
from stepward.model.schedule import Schedule
from stepward.store import rows
from stepward.store.search.listed_columns import listed_columns


def places(record: type[msgspec.Struct]) -> str:
    """A parameter for each field of a record."""
    return ", ".join("?" for _ in record.__struct_fields__)


def filled(record: type[msgspec.Struct], key: int) -> str:
    """The fields of a record after the first ``key`` ones, set to the parameters of their places."""
    fields = enumerate(record.__struct_fields__, 1)
    return ", ".join(f"{name} = ?{place}" for place, name in fields if place > key)


FRAGMENTS = {
    **rows.FRAGMENTS,
    "t_listed": listed_columns(Task, input="x'5b5d'"),
    "task_places": places(Task),
    "step_places": places(Step),
    "step_filled": filled(Step, 3),
    "schedule_places": places(Schedule),
    # Word for word as in the index of claimable tasks.
    "key": "coalesce(fairness_key, '')",
}
"""Beside what every store's may name."""
