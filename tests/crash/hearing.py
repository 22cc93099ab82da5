"""What must be true of the events that a reader received, in all its lives, by its journal and the store alone."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import msgspec

from stepward import StatusEvent
from stepward.client import session_of
from stepward.model.records import Step
from stepward.model.states import StepKind, TaskState
from tests.crash.reader import NEW_LIFE
from tests.crash.scene import Scene

LAST = {TaskState.PROCESSED: "completed", TaskState.UNDONE: "undone"}
OUTCOMES = ("stepward.step.completed", "stepward.step.failed")


def lives(journal: Path) -> list[list[StatusEvent]]:
    """The events received in each life of the reader."""
    found: list[list[StatusEvent]] = []
    for line in journal.read_text().splitlines():
        if line == NEW_LIFE:
            found.append([])
        else:
            found[-1].append(msgspec.json.decode(line, type=StatusEvent))
    return found


async def check_heard(scene: Scene, journal: Path) -> None:
    """Each task's events came in order and without a gap, doubles are alike, and all agree with the history."""
    heard: defaultdict[str, dict[int, StatusEvent]] = defaultdict(dict)
    for life in lives(journal):
        at: dict[str, int] = {}
        for event in life:
            known = heard[event.subject]
            assert event.sequence <= len(known) + 1, f"a gap before {event}"
            assert at.setdefault(event.subject, event.sequence - 1) == event.sequence - 1, f"out of order: {event}"
            at[event.subject] = event.sequence
            assert known.setdefault(event.sequence, event) == event, f"a double that differs: {event}"
    for status in await scene.client.tasks(limit=10_000):
        await _check_history(scene, status.id, list(heard.pop(status.id).values()))
    assert heard == {}, "nothing is told of a task that there is not"


async def _check_history(scene: Scene, id: str, events: list[StatusEvent]) -> None:
    task, steps = await session_of(scene.client).record(id), await session_of(scene.client).store.client.steps(id)
    assert [event.id for event in events] == [f"{task.uid}/{n}" for n in range(1, task.events + 1)]
    types = [event.type.removeprefix("stepward.") for event in events]
    assert types[:2] == ["request.received", "task.started"]
    assert types.count("task.started") == 1
    assert types[-1] == f"task.{LAST[task.state]}"
    told = [event.data["step"] for event in events if event.type in OUTCOMES]
    assert (id, told) == (id, [step.key for step in _delivered(steps)])


def _delivered(steps: list[Step]) -> list[Step]:
    own = [step for step in steps if step.kind is not StepKind.UNDO and step.ordinal is not None]
    return sorted(own, key=lambda step: step.ordinal or 0)
