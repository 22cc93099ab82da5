"""Submission on the rows: an id that exists starts nothing."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import astuple

from stepward.model.plan import Plans
from stepward.model.records import Task
from stepward.store.contract import Submitted
from stepward.store.queries import load_queries
from stepward.store.sqlite.engine.connection import Connection
from stepward.store.sqlite.engine.parameters import FRAGMENTS
from stepward.store.sqlite.hot import planned_steps, status_events

Q = load_queries(__package__, "submission.sql", FRAGMENTS)


def submit(connection: Connection, tasks: Sequence[Task], plans: Plans) -> list[Submitted]:
    """Insert tasks whose ids are new, the first of each id, with their plans; tell for each what became of it."""
    ids = msgspec.json.encode([task.id for task in tasks]).decode()
    known = {id: (uid, workflow, input) for id, uid, workflow, input in connection.rows(Q["existing"], (ids,))}
    new: list[Task] = []
    answers: list[Submitted] = []
    for task in tasks:
        found = known.get(task.id)
        if found is None:
            known[task.id] = (task.uid, task.workflow, task.input)
            new.append(task)
            answers.append(Submitted(task.uid, task.id, created=True, same=True))
        else:
            uid, workflow, input = found
            same = workflow == task.workflow and input in (None, task.input)
            answers.append(Submitted(uid, task.id, created=False, same=same))
    status_events.tell_received(connection, new)
    connection.change_many(Q["insert"], map(astuple, new))
    planned_steps.record(connection, new, plans)
    return answers
