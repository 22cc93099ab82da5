"""Errors that every store raises alike for what it cannot do."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.errors import IllegalTransition, InstanceFenced, TaskChanged, TaskConflict, TaskNotFound
from stepward.model.records import Task
from stepward.model.tasks.task_version import task_version
from stepward.model.tasks.updates import described
from stepward.store.contract import Submitted, Tally, UpdateRow


def fenced(instance: str) -> InstanceFenced:
    """The instance may write no more."""
    return InstanceFenced(
        f"instance {instance}: expected it alive, found it dead or never registered; register a new one"
    )


def not_found(id: str) -> TaskNotFound:
    """There is no task of that id."""
    return TaskNotFound(
        f"task {id if id.isprintable() else repr(id)}: expected a task of that id, found none; look at the id"
    )


def check_same(submitted: Sequence[Submitted]) -> None:
    """Raises TaskConflict if one of the ids is that of a task with another workflow or other arguments."""
    for each in submitted:
        if not each.same:
            raise id_taken(each.id)


def id_taken(id: str) -> TaskConflict:
    """The id is that of another task."""
    return TaskConflict(
        f"id {id!r}: expected a new id, or the same workflow and arguments, found a task with others; choose another id"
    )


def signal_too_late(task: Task, name: str) -> IllegalTransition:
    """A signal or an update for a task that has ended."""
    return IllegalTransition(
        f"{described(name)} to task {task.id}: expected one that has not ended, found it {task.state}; look at the id"
    )


def check_same_update(task: Task, found: UpdateRow, name: str) -> None:
    """Raises TaskConflict if the id of an update belongs to one of another name."""
    if found.name != name:
        raise TaskConflict(
            f"update {found.id} of task {task.id}: expected {name!r} under that id, found {found.name!r}; "
            "choose another id"
        )


def check_version(task: Task, tally: Tally, expected: Sequence[str]) -> None:
    """Raises TaskChanged if the task has none of the expected versions."""
    version = task_version(task, tally.steps, tally.done)
    if version not in expected:
        raise TaskChanged(
            f"task {task.id}: expected it unchanged since it was shown, found it {task.state} in another version; "
            "look at it again, then decide",
            version=version,
        )
