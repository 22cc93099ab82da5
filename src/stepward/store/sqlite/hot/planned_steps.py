"""Planned steps on the rows: recorded whole with their task, in the same transaction."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import astuple

from stepward.model.plan import Plans, planned_steps
from stepward.model.records import Task
from stepward.store.queries import load_queries
from stepward.store.sqlite.engine.connection import Connection
from stepward.store.sqlite.engine.parameters import FRAGMENTS

Q = load_queries(__package__, "planned_steps.sql", FRAGMENTS)


def record(connection: Connection, tasks: Collection[Task], plans: Plans) -> None:
    """Record the plans of those tasks that have one."""
    if plans:
        steps = (step for task in tasks for step in planned_steps(task, plans.get((task.workflow, task.version), ())))
        connection.change_many(Q["record"], map(astuple, steps))
