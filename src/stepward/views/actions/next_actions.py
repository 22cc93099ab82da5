"""The acts that an operator can choose next for a task: only those that the store would carry out."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.client import Client, TaskStatus, session_of, would_work
from stepward.model.records import Step, Task
from stepward.views.actions.unchecked_choices import Choice, choices, variants


async def next_actions(client: Client, record: Task, status: TaskStatus, steps: Sequence[Step]) -> list[Choice]:
    """The next acts for a task that needs an operator, in the order in which they are shown."""
    found: list[Choice] = []
    for choice in choices(record, status, steps):
        found += await _working(client, record, steps, choice)
    return found


async def _working(client: Client, record: Task, steps: Sequence[Step], choice: Choice) -> list[Choice]:
    """The choice without options if that works, else once for each option that makes it work."""
    store = session_of(client).store.client
    for among in variants(record, choice, session_of(client).store.now()):
        found = [one for one in among if one.directive is None or await would_work(store, record, steps, one.directive)]
        if found:
            return found
    return []
