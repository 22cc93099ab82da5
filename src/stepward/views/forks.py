"""Provenance of forks, for operators: what a task was forked from, and what was forked from it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from stepward.client import Client
from stepward.errors import InvalidPayload
from stepward.model.records import Step, Task
from stepward.model.tasks.forks import provenance_of
from stepward.payload import readable

ACTS = 1_000
"""Most acts of a task, the newest, among which its forks are looked for."""
MOST = 20
"""Most forks that are shown, the newest ones."""


class ForkLink(Struct, frozen=True):
    """The other task of a fork, and the step from which the fork went on."""

    id: str
    step: str


class Forks(Struct, frozen=True):
    """The provenance of a task."""

    origin: ForkLink | None
    """The task that it was forked from."""
    forks: list[ForkLink]
    """The tasks that were forked from it, newest first."""


async def forks_of(client: Client, record: Task, steps: Sequence[Step]) -> Forks:
    """The provenance of a task with these steps."""
    acts = await client.audits(record.id, ACTS)
    made = [(readable(act.details), act.step or "") for act in acts if act.act == "fork"]
    found = [ForkLink(str(said["fork"]), step) for said, step in made if isinstance(said, dict) and "fork" in said]
    return Forks(_origin(steps), found[:MOST])


def _origin(steps: Sequence[Step]) -> ForkLink | None:
    try:
        known = provenance_of(steps)
    except InvalidPayload:
        # It is encrypted, and this process has no key.
        return None
    return None if known is None else ForkLink(known.origin, known.step)
