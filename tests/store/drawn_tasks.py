"""Tasks as the verbs of the differential test submit them, drawn by chance."""

from __future__ import annotations

from typing import Any

from stepward.model.pipeline_plan import PlannedStage, Plans
from stepward.model.records import Task
from stepward.model.states import StepKind
from tests.store.changes import REPLIES
from tests.store.differential import Stream

SERVED = [("order", "1"), ("order", "2"), ("refund", "1")]
BODIES = (b"null", b'{"message":"no","step":"charge/1"}', b'{"message":"no"}')
STAGE = PlannedStage(
    stage="stage",
    key="stage/1",
    name="stage",
    kind=StepKind.OPERATION,
    agent="pay",
    complete_seconds=9.0,
    has_undo=True,
    irreversible=False,
    waits_for=(),
)
PLANS: Plans = {("order", "2"): (STAGE,)}


def drawn_task(stream: Stream, **fields: Any) -> Task:
    """A task that was not submitted, or one with the id of a submitted task."""
    chance = stream.chance
    uid = stream.new("uid")
    workflow, version = chance.choice(SERVED)
    usual: dict[str, Any] = {
        "workflow": workflow,
        "version": version,
        "id": stream.pick(stream.ids) if stream.ids and chance.random() < 0.1 else uid,
        "priority": chance.randrange(3),
        "fairness_key": chance.choice((None, "a", "b")),
        "input": chance.choice((b"[]", b"[1]")),
        "created_at": stream.now(),
        "wake_at": stream.now() + chance.choice((1, 60)) if chance.random() < 0.2 else None,
        "deadline": stream.now() + chance.choice((0, 30)) if chance.random() < 0.2 else None,
        "reply_to": REPLIES if chance.random() < 0.3 else None,
        "labels": chance.choice((b"{}", b'{"city":"Ulm"}')),
    }
    task = Task(uid=uid, **usual | fields)
    stream.ids.append(task.id)
    stream.uids.append(uid)
    return task


def fresh(tasks: list[Task]) -> list[Task]:
    """Copies: a store counts on the record what it tells."""
    return [Task(**{name: getattr(task, name) for name in Task.__struct_fields__}) for task in tasks]
