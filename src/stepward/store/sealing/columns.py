"""Columns that hold payloads, query by query, and what each is bound to: the parameters and rows of both engines.

What is not listed is stored as it is: ids, names, states, labels, search attributes, and what operators alone write.
Queries for archives are not listed on purpose: an archive holds what the store holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from stepward.model.records import Alert, Audit, DeadLetter, InboxRow, Step, Task
from stepward.model.schedule import Schedule
from stepward.store.contract import Batch, ExpiredStep


class PayloadForm(Enum):
    """What a column's payload is, and what of it stays readable."""

    JSON = ()
    ERROR = ("type", "step", "place", "attempt", "maybe_done", "in_doubt", "expired")
    """An error object; searches read its type, and alerts of code that does not fit its place."""
    DETAILS = ("agent", "workflow", "version", "queue")
    """The details of an alert, by which an open one is found again."""
    ACT = ("doubt", "later", "signal", "update", "fork", "origin", "generation", "set_aside", "priority", "batch")
    """The details of an act; those whose fields are all of ``PLAIN_FIELDS`` are not sealed."""
    TEXT = None
    """A text, in a column of texts."""
    EVENT = ("data",)
    """A status event, of which the data are sealed."""


PLAIN_FIELDS = frozenset(
    {
        "acts",
        "actor",
        "address",
        "agent",
        "alert",
        "alerts",
        "as_of",
        "at",
        "attempt",
        "batch",
        "dead_letter",
        "descendants",
    }
    | {
        "deadline",
        "done",
        "doubt",
        "ended_before",
        "erased",
        "expires_at",
        "failed_children",
        "failure_count",
        "filter",
        "fork",
        "generation",
        "hangs",
    }
    | {
        "hash",
        "id",
        "instance",
        "labels",
        "later",
        "list",
        "matched",
        "method",
        "name",
        "note",
        "omitted_before",
        "origin",
    }
    | {"parameters", "partition", "path", "payloads", "priority", "queue", "rate", "reason", "refused", "role", "run"}
    | {"schedule", "set_aside", "shards", "signal", "tasks", "through", "undo_first", "update", "verb", "workflows"}
)
"""Fields of the details of acts that quote no payload: the edited input of a repair and its result are others."""


class SealedColumn(NamedTuple):
    """A column with a payload; places count the parameters, or the columns of a row, from 0, or from -1 backwards."""

    place: int
    kind: str
    bound: tuple[int, ...] = ()
    """Where what it is bound to stands: the uid of its task or another owner's name first. Empty: to the application
    alone."""
    form: PayloadForm = PayloadForm.JSON
    unless: int | None = None
    """Where the kind of an alert stands: those of ``PLAIN_ALERTS`` are not sealed."""


Columns = Sequence[SealedColumn]


def task_columns(fields: Sequence[str]) -> Columns:
    """The payloads of a task among columns of these names."""
    return columns_among(fields, "task", TASK_FORMS, ("uid",))


def step_columns(fields: Sequence[str]) -> Columns:
    """The payloads of a step among columns of these names."""
    return columns_among(fields, "step", STEP_FORMS, ("task", "run", "key"))


def columns_among(
    fields: Sequence[str],
    what: str,
    forms: Mapping[str, PayloadForm],
    bound: Sequence[str],
    *,
    back: int = 0,
    unless: str | None = None,
) -> Columns:
    """The payloads among columns of these names. ``back``: how many columns the row has, to count from the end."""
    places = {name: place - back for place, name in enumerate(fields)}
    to = tuple(places[name] for name in bound)
    kind = None if unless is None else places[unless]
    return [
        SealedColumn(places[name], f"{what}.{name}", to, form, kind) for name, form in forms.items() if name in places
    ]


TASK_FORMS = {"input": PayloadForm.JSON, "output": PayloadForm.JSON, "error": PayloadForm.ERROR}
STEP_FORMS = TASK_FORMS | {"progress": PayloadForm.JSON}
ALERT_FORMS = {"message": PayloadForm.TEXT, "details": PayloadForm.DETAILS}
ACT_FORMS = {"details": PayloadForm.ACT}

TASK = task_columns(Task.__struct_fields__)
STEP = step_columns(Step.__struct_fields__)
INBOX_FORMS = {"body": PayloadForm.JSON}
INBOX_BOUND = ("task", "kind", "name")
INBOX = columns_among(InboxRow.__struct_fields__, "inbox", INBOX_FORMS, INBOX_BOUND)
INBOX_BEHIND_ONE = columns_among(InboxRow.__struct_fields__, "inbox", INBOX_FORMS, INBOX_BOUND, back=-1)
"""Of an inbox row that comes behind another column."""
ALERT = columns_among(Alert.__struct_fields__, "alert", ALERT_FORMS, (), unless="kind")
ACT_GIVEN = columns_among(Audit.__struct_fields__[1:], "audit", ACT_FORMS, ("task",))
"""Of an act as it is appended: its columns from ``at`` on."""
ACT_ROW = columns_among(Audit.__struct_fields__, "audit", ACT_FORMS, ("task",))
SCHEDULE = columns_among(Schedule.__struct_fields__, "schedule", {"input": PayloadForm.JSON}, ("name",))
DEAD_LETTER = columns_among(DeadLetter.__struct_fields__, "dead_letter", {"reason": PayloadForm.TEXT}, ())
BATCH = columns_among(Batch.__struct_fields__, "batch", {"parameters": PayloadForm.TEXT}, ("id",))
BY_NAME = (0, 1, 1)
"""The task and the name, which a value under that name is bound to."""
BURIED = [SealedColumn(1, "dead_letter.reason", form=PayloadForm.TEXT)]
OPEN_ALERT = [SealedColumn(1, "alert.details", form=PayloadForm.DETAILS)]
EXPIRED = columns_among(
    ExpiredStep.__struct_fields__,
    "step",
    {"error": PayloadForm.ERROR},
    ("task", "run", "key"),
    back=len(ExpiredStep.__struct_fields__),
)


WRITTEN = [SealedColumn(2, "written.value", BY_NAME)]
"""Of a value that a task wrote: its task, its name and itself come first."""
ANSWER = [SealedColumn(2, "update.answer", BY_NAME)]
"""Of an answer to an update: the task and the id of the update come before it."""
STREAMED = [SealedColumn(3, "written.value", BY_NAME)]


def _of_step(**places: int) -> Columns:
    """Payloads among parameters that begin with task, run and key."""
    return [SealedColumn(place, f"step.{name}", (0, 1, 2), STEP_FORMS[name]) for name, place in places.items()]


def _for_each(queries: Iterable[str], columns: Columns) -> dict[str, Columns]:
    return dict.fromkeys(queries, columns)


GIVEN: dict[str, Columns] = {
    **_for_each(("turn.insert_task", "turn.insert_child", "submission.insert"), TASK),
    **_for_each(("turn.insert_step", "turn.insert_planned", "turn.fill_step"), STEP),
    "turn.finish": _of_step(output=5, error=6),
    "turn.watch": _of_step(error=5),
    "turn.move_task": [
        SealedColumn(5, "task.output", (0,)),
        SealedColumn(6, "task.error", (0,), PayloadForm.ERROR),
        SealedColumn(11, "task.input", (0,)),
    ],
    "keyed.postpone": [SealedColumn(1, "task.input", (0,))],
    "completions.complete": _of_step(output=4, error=5),
    "supervisor.decide": _of_step(error=6),
    "progress.note": _of_step(progress=4),
    **_for_each(("turn.publish", "turn.append"), WRITTEN),
    "turn.answer": [SealedColumn(3, "update.answer", BY_NAME)],
    "inbox.insert": [SealedColumn(3, "inbox.body", (0, 1, 2))],
    "inbox.move_free": [SealedColumn(4, "task.error", (0,), PayloadForm.ERROR)],
    "alerts_and_audit.insert_alert": [
        SealedColumn(5, "alert.message", form=PayloadForm.TEXT, unless=1),
        SealedColumn(6, "alert.details", form=PayloadForm.DETAILS, unless=1),
    ],
    "alerts_and_audit.count_on": [
        SealedColumn(1, "alert.message", form=PayloadForm.TEXT),
        SealedColumn(2, "alert.details", form=PayloadForm.DETAILS),
    ],
    **_for_each(("schedules.register", "schedules.create"), SCHEDULE),
    "batches.add": BATCH,
    "status_events.put": [SealedColumn(1, "event.data", (0,), PayloadForm.EVENT)],
    **_for_each(("messages.bury", "messages.bury_body"), BURIED),
}
"""By query, the parameters that are sealed."""

SHOWN: dict[str, Columns] = {
    **_for_each(
        (
            "client.task",
            "client.lock_task",
            "keyed.holder",
            "client.ended",
            "overview.changed_tasks",
            "inbox.lock",
            "scheduler.tasks",
            "unowned_steps.tasks",
            "found tasks",
        ),
        TASK,
    ),
    **_for_each(
        ("client.steps", "directives.steps", "completions.step", "scheduler.steps", "unowned_steps.steps"), STEP
    ),
    "scheduler.inbox": INBOX,
    **_for_each(
        (
            "alerts_and_audit.alerts",
            "alerts_and_audit.open_alerts",
            "alerts_and_audit.task_alerts",
            "alerts_and_audit.numbered_alerts",
            "alerts.undelivered",
            "alerts.open_of",
        ),
        ALERT,
    ),
    **_for_each(("alerts_and_audit.audits", "alerts_and_audit.task_audits"), ACT_ROW),
    **_for_each(("completions.open_alert", "messages.open_alert"), OPEN_ALERT),
    **_for_each(("schedules.listed", "schedules.due", "schedules.named"), SCHEDULE),
    "messages.dead_letters": DEAD_LETTER,
    **_for_each(("batches.one", "batches.lock", "batches.listed", "batches.running"), BATCH),
    "supervisor.expired_steps": EXPIRED,
    **_for_each(("client.live_value", "client.live_values"), WRITTEN),
    "client.stream_values": STREAMED,
    "client.update": [SealedColumn(4, "update.answer", BY_NAME)],
    "submission.existing": [SealedColumn(3, "task.input", (1,))],
}
"""By query, the columns of its rows that are opened."""
