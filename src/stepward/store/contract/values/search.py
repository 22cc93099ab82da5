"""Searches of tasks, and their results."""

from __future__ import annotations

from msgspec import Struct

from stepward.model.records import Task
from stepward.store.search.conditions import EVERY_TASK, Condition
from stepward.store.search.statements import TaskKey


class TaskSearch(Struct, frozen=True, kw_only=True):
    """The condition, the position to begin after, and the order of a listing."""

    condition: Condition = EVERY_TASK
    newest_first: bool = True
    limit: int = 100
    after: TaskKey | None = None
    """Only tasks after this position."""


class FoundTasks(Struct, frozen=True):
    """Tasks in order, without their payloads."""

    tasks: list[Task]
    after: TaskKey | None
    """The position to continue after; None at the end."""


class TaskCount(Struct, frozen=True):
    """The number of tasks that a search finds."""

    number: int
    is_exact: bool
    """False for an estimate from a sample, made where there are 10,000 or more, or where counting would take long."""
