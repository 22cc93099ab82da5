"""A task's relatives: the task that it is a step of, and child tasks that failed or that it waits for."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from stepward.client import Client, session_of
from stepward.model.effects import child_id
from stepward.model.records import Step, Task
from stepward.model.states import StepKind, StepState

CONCERNING = frozenset({StepState.RUNNING, StepState.TO_REPEAT, StepState.FAILED})
MOST = 5
"""Most children that are shown, the latest ones."""


class Family(Struct, frozen=True):
    """The relatives of a task."""

    parent: str | None
    """The id of the task that it is a step of."""
    children: list[Task]
    """Child tasks that failed, or that it waits for."""


async def family(client: Client, record: Task, steps: Sequence[Step]) -> Family:
    """The relatives of a task."""
    concerning = [s for s in steps if s.kind is StepKind.CHILD and s.state in CONCERNING and s.set_aside_at is None]
    found = [await session_of(client).store.client.task(child_id(record, step)) for step in concerning[-MOST:]]
    return Family(await _parent(client, record), [child for child in found if child is not None])


async def _parent(client: Client, record: Task) -> str | None:
    if record.parent is None:
        return None
    found = await session_of(client).store.supervisor.outlived_tasks([record.parent], "")
    return found[0].id if found else record.parent
