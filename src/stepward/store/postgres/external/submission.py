"""Submission as a dialogue on a caller's connection: an id that exists starts nothing."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from stepward.errors import StoreUnavailable
from stepward.model.messages.status_events import KEPT_SECONDS
from stepward.model.plan import Plans, planned_steps
from stepward.model.records import Step, Task
from stepward.store.contract import Submitted
from stepward.store.drivers import Ask, Dialogue
from stepward.store.postgres.engine.query_catalogue import CATALOGUES_KEPT, TYPES, quoted
from stepward.store.queries import load_queries
from stepward.store.rows import FRAGMENTS
from stepward.store.verbs.tasks.status_events import received

HERE = (
    "(select cast(d.oid as text) || ' ' || cast(extract(epoch from pg_postmaster_start_time()) as text) "
    "from pg_database as d where d.datname = current_database())"
)
"""A database of a server, from its start to its end: nothing that a copy of the data could share."""


class Elsewhere(Exception):
    """The connection is on another database than the store, as far as is known; nothing was kept."""


def submission(
    schema: str, tasks: Sequence[Task], plans: Plans, is_origin: Callable[[str], bool]
) -> Dialogue[list[Submitted]]:
    """Insert tasks whose ids are new, the first of each id, with their plans; tell for each what became of it.

    Raises Elsewhere unless the connection says that it is where ``is_origin`` knows the store.
    """
    queries = queries_of(schema)
    firsts: dict[str, Task] = {}
    for task in tasks:
        firsts.setdefault(task.id, task)
    found = yield Ask(queries["insert"], _lists(list(firsts.values()), plans))
    if not is_origin(found[0][0]):
        raise Elsewhere
    created = {row[1] for row in found}
    answers = {task.uid: Submitted(task.uid, task.id, created=True, same=True) for task in tasks if task.uid in created}
    others = [task for task in tasks if task.uid not in created]
    if others:
        known = yield Ask(queries["existing"], _asked(others))
        for place, uid, same in known:
            answers[others[place].uid] = Submitted(uid, others[place].id, created=False, same=same)
    if len(answers) < len(tasks):
        raise StoreUnavailable("transaction: expected the task of an id in use, found it just purged; submit again")
    return [answers[task.uid] for task in tasks]


@lru_cache(maxsize=CATALOGUES_KEPT)
def queries_of(schema: str) -> Mapping[str, str]:
    """The statements, with the schema's name in them: what a caller's connection searches is its own affair."""
    fragments = {
        **FRAGMENTS,
        "schema": quoted(schema),
        "here": HERE,
        "task_columns": _columns(Task),
        "task_values": _values(Task),
        "step_columns": _columns(Step),
        "step_values": _values(Step),
    }
    return load_queries(__package__, "submission.sql", fragments)


def _lists(tasks: Sequence[Task], plans: Plans) -> str:
    events = [
        {
            "task": task.uid,
            "queue": task.reply_to,
            "body": _text(received(task)),
            "expires_at": task.created_at + KEPT_SECONDS,
        }
        for task in tasks
        if task.reply_to is not None
    ]
    steps = [step for task in tasks for step in planned_steps(task, plans.get((task.workflow, task.version), ()))]
    return json.dumps(
        {"tasks": [_row(task) for task in tasks], "steps": [_row(step) for step in steps], "events": events}
    )


def _asked(tasks: Sequence[Task]) -> str:
    return json.dumps(
        [
            {"place": place, "id": task.id, "workflow": task.workflow, "input": _text(task.input)}
            for place, task in enumerate(tasks)
        ]
    )


def _row(record: msgspec.Struct) -> dict[str, Any]:
    fields = {name: getattr(record, name) for name in record.__struct_fields__}
    return {name: _text(value) if isinstance(value, bytes) else value for name, value in fields.items()}


def _text(data: bytes) -> str:
    return b64encode(data).decode()


def _type(record: type[msgspec.Struct], name: str) -> str:
    return TYPES.get(str(record.__annotations__[name]).removesuffix(" | None"), "text")


def _columns(record: type[msgspec.Struct]) -> str:
    """The columns of what is given; bytes travel as a text."""
    types = {name: _type(record, name).replace("bytea", "text") for name in record.__struct_fields__}
    return ", ".join(f"{name} {kind}" for name, kind in types.items())


def _values(record: type[msgspec.Struct]) -> str:
    """The columns and values that are inserted of a record."""
    return ", ".join(
        f"decode(v.{name}, 'base64')" if _type(record, name) == "bytea" else f"v.{name}"
        for name in record.__struct_fields__
    )
