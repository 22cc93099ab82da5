"""What must be true of every task at the end, by ledger and store alone."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict

from stepward.client import session_of
from stepward.errors import TaskUndone
from stepward.model.records import Step
from stepward.model.states import StepKind, StepState, TaskState
from tests.crash.ledger import Entry
from tests.crash.scene import PATIENCE, Scene

ENDS = {
    "order": TaskState.PROCESSED,
    "slow": TaskState.PROCESSED,
    "stuck": TaskState.PROCESSED,
    "parent": TaskState.PROCESSED,
    "refused": TaskState.UNDONE,
}
EFFECTS = {
    "order": ["first", "last", "left", "right"],
    "slow": ["first", "hang", "last"],
    "slow:none": ["first", "last", "none"],
    "slow:long": ["first", "last", "long"],
    "slow:block": ["block", "first", "last"],
    "slow:pause": ["first", "last", "pause"],
    "stuck": ["last", "stuck"],
    "parent": ["first"],
    "refused": ["first", "second", "third"],
}


async def settled(scene: Scene, tasks: dict[str, str], *, within: float = PATIENCE) -> None:
    """Wait for all ends and check each task (id to workflow) against the books."""
    await asyncio.gather(*[_ended(scene, id, within) for id in tasks])
    await check(scene, tasks)


async def check(scene: Scene, tasks: dict[str, str]) -> None:
    entries: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in scene.ledger.entries():
        entries[entry.task].append(entry)
    for id, workflow in tasks.items():
        status = await scene.client.task(id).status()
        assert (id, status.state) == (id, ENDS[workflow.partition(":")[0]]), status.error
        assert status.locked_by is None
        _check_effects(id, workflow, entries[id])
        _check_history(workflow, await session_of(scene.client).store.client.steps(id))
    booked = Counter(await scene.booked())
    assert booked == Counter(id for id, workflow in tasks.items() if workflow == "order")
    known = [task.id for task in await scene.client.tasks(limit=10_000) if "/" not in task.id]
    assert Counter(known) == Counter(list(tasks))


async def _ended(scene: Scene, id: str, within: float) -> None:
    try:
        await scene.client.task(id).result(timeout=within)
    except TaskUndone:
        return


def _check_effects(id: str, workflow: str, entries: list[Entry]) -> None:
    done = [entry.what for entry in entries if entry.verb == "do"]
    assert (id, sorted(done)) == (id, EFFECTS[workflow])
    undone = [entry.what for entry in entries if entry.verb == "undo"]
    assert (id, undone) == (id, done[::-1] if workflow == "refused" else [])


def _check_history(workflow: str, steps: list[Step]) -> None:
    keys = [(step.run, step.key) for step in steps]
    assert len(keys) == len(set(keys))
    delivered = sorted(step.ordinal for step in steps if step.ordinal is not None)
    assert delivered == list(range(1, len(delivered) + 1))
    own = [step for step in steps if step.kind is not StepKind.UNDO]
    assert sorted(step.number for step in own) == list(range(1, len(own) + 1))
    for step in steps:
        assert step.attempt >= 1
        assert step.finished_at is not None
        assert step.state in (StepState.COMPLETED, StepState.FAILED, StepState.UNDONE)
    if workflow == "refused":
        assert [step.state for step in own] == [StepState.UNDONE] * 3 + [StepState.FAILED]
