"""``/api/v1/tasks/{id}/diagnosis``: the cause of a task's state, and the acts that would be carried out."""

from __future__ import annotations

from litestar import get
from msgspec import Struct

from stepward.client import TaskStatus, session_of
from stepward.http.access.permissions import Permission
from stepward.http.api.tasks.task_paths import PathId, task_id_of
from stepward.http.dependencies import RequestClient
from stepward.model.states import TaskState
from stepward.views.actions.next_actions import next_actions
from stepward.views.actions.unchecked_choices import Choice
from stepward.views.reasons.cause import Cause, cause_of
from stepward.views.reasons.task_hindrances import hindrances
from stepward.views.tasks import note_of


class NextAct(Struct, frozen=True, kw_only=True):
    """An act that the store would carry out now."""

    verb: str
    meaning: str
    command: str
    """The same on the command line."""
    step: str | None = None
    doubt: str | None = None
    later: str | None = None


class Diagnosis(Struct, frozen=True, kw_only=True):
    """The cause of a task's state, and the next acts."""

    id: str
    state: TaskState
    sentence: str | None
    """The cause in one sentence; null where nothing failed and nothing is awaited."""
    step: str | None
    attempts: list[str]
    """The errors of the failed attempts, oldest first."""
    traceback: str | None
    hindrances: list[str]
    """Why the task does not continue."""
    waits_for: str
    """What it waits for; empty where it waits for nothing."""
    next: list[NextAct]


@get("/tasks/{task_id:str}/diagnosis", permission=Permission.READ)
async def diagnose_task(client: RequestClient, task_id: PathId) -> Diagnosis:
    """The cause of the task's state in one sentence, why it does not continue, and the acts that would work now."""
    record, status = await client.record_and_status(task_id_of(task_id))
    found = await client.find(record.id)
    rows = await session_of(found.client).store.client.steps(record.id)
    cause = cause_of(status, rows)
    if cause is not None and not client.principal.payloads:
        cause = hidden_cause(cause, status)
    return Diagnosis(
        id=record.id,
        state=record.state,
        sentence=None if cause is None else cause.sentence,
        step=None if cause is None else cause.step,
        attempts=[] if cause is None else cause.attempts,
        traceback=None if cause is None else cause.traceback,
        hindrances=[each.line for each in await hindrances(found.client, record, rows)],
        waits_for=note_of(status) if status.state is TaskState.WAITING else "",
        next=[
            _act(action, payloads=client.principal.payloads)
            for action in await next_actions(found.client, record, status, rows)
        ],
    )


def hidden_cause(cause: Cause, status: TaskStatus) -> Cause:
    """The cause without what may quote a payload."""
    kind = (status.error or {}).get("type", "an error")
    where = f" of step {cause.step}" if cause.step else ""
    return Cause(sentence=f"{kind}{where}", step=cause.step, run=cause.run)


def _act(action: Choice, *, payloads: bool) -> NextAct:
    directive = action.directive
    return NextAct(
        verb=action.words[0].replace("-", "_"),
        meaning=action.meaning,
        command=action.command(payloads=payloads),
        step=None if directive is None else directive.step,
        doubt=None if directive is None else directive.doubt,
        later=None if directive is None else directive.later,
    )
