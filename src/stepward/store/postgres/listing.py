"""How PostgreSQL lists tasks: conditions name the partial index that a listing by state goes over."""

from __future__ import annotations

from stepward.model.states import TaskState
from stepward.store.verbs.task_listing import ListingSql

LISTING = ListingSql(
    parameter="$",
    every="where true",
    live="where state not in ('processing', 'processed', 'undone', 'cancelled')",
    held="where locked_by is not null",
    # PostgreSQL reads no NUL; a version that let one come in would have broken the listing of all others.
    label=(
        "case when position('\\u0000' in convert_from(labels, 'UTF8')) = 0 "
        "then convert_from(labels, 'UTF8')::json ->> {name} = {value} else false end"
    ),
    # Sorted: the order of all uids would go over tasks that ended too.
    order={TaskState.PROCESSING: "uid || ''"},
)
