"""The listing of tasks: which rows, by which index."""

from __future__ import annotations

from typing import Any

from stepward.model.states import TaskState
from stepward.store.contract import TaskFilter

HELD = "locked_by is not null"
LISTED = "state not in ('processing', 'processed', 'undone', 'cancelled')"
CONDITIONS = {
    TaskState.PROCESSING: HELD,
    TaskState.PENDING: LISTED,
    TaskState.WAITING: LISTED,
    TaskState.SUSPENDED: LISTED,
    TaskState.UNDOING: LISTED,
    TaskState.ERROR: LISTED,
}
"""What lets a listing by state go over live tasks alone; the others are met among the newest."""

HAS_LABEL = (
    "case when position('\\u0000' in convert_from(labels, 'UTF8')) = 0 "
    "then convert_from(labels, 'UTF8')::json ->> {name} = {value} else false end"
)
"""PostgreSQL reads no NUL; a version that let one come in would have broken the listing of all others."""


def listing(select: str, wanted: TaskFilter) -> tuple[str, list[Any]]:
    """The statement that lists those tasks, and its values."""
    conditions, values = ["true"], list[Any]()

    def given(value: object) -> str:
        values.append(value)
        return f"${len(values)}"

    if wanted.state is not None:
        conditions += [CONDITIONS.get(wanted.state, "true"), f"state = {given(wanted.state)}"]
    if wanted.workflow is not None:
        conditions.append(f"workflow = {given(wanted.workflow)}")
    if wanted.label is not None:
        name, value = wanted.label
        conditions.append(HAS_LABEL.format(name=given(name), value=given(value)))
    if wanted.before is not None:
        conditions.append(f"uid < {given(wanted.before)}")
    # Held tasks are sorted: the order of all uids would go over those that ended too.
    order = "uid || ''" if HELD in conditions else "uid"
    return f"{select} where {' and '.join(conditions)} order by {order} desc limit {given(wanted.limit)}", values
