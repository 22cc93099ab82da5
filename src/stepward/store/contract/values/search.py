"""Searches of tasks, and what they find."""

from __future__ import annotations

from msgspec import Struct

from stepward.model.records import Task
from stepward.store.search.conditions import EVERY_TASK, Condition
from stepward.store.search.statements import TaskKey


class TaskSearch(Struct, frozen=True, kw_only=True):
    """Which tasks are listed, from where on, and in what order of their creation."""

    condition: Condition = EVERY_TASK
    newest_first: bool = True
    limit: int = 100
    after: TaskKey | None = None
    """Only tasks behind this one."""


class FoundTasks(Struct, frozen=True):
    """Tasks in order, without their payloads."""

    tasks: list[Task]
    after: TaskKey | None
    """From where the search goes on; None where nothing is left."""


class TaskCount(Struct, frozen=True):
    """How many tasks a search is about."""

    number: int
    is_exact: bool
    """False for an estimate from a sample, made where there are 10,000 or more, or where counting would take long."""
