"""How SQLite lists tasks: a listing by state is told its index, as conditions with values hide it from the planner."""

from __future__ import annotations

from stepward.store.verbs.task_listing import ListingSql

LISTING = ListingSql(
    parameter="?",
    every="where true",
    live=(
        "indexed by stepward_task_listed where state <> 'processing' and state <> 'processed' and state <> 'undone' "
        "and state <> 'cancelled'"
    ),
    held="indexed by stepward_task_held where locked_by is not null",
    label="(select value from json_each(cast(labels as text)) where key = {name}) = {value}",
)
