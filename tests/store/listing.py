"""What operators list, as tests ask for it: by keywords, and as tasks alone."""

from __future__ import annotations

from stepward.client.task_pages import condition_of
from stepward.model.records import Task
from stepward.store.contract import Store, TaskSearch


async def listed(
    store: Store,
    *,
    state: str | None = None,
    workflow: str | None = None,
    label: tuple[str, str] | None = None,
    limit: int = 100,
) -> list[Task]:
    """The newest tasks of a store."""
    condition = condition_of(None, state, workflow, label, store.now())
    return (await store.operators.tasks(TaskSearch(condition=condition, limit=limit))).tasks
