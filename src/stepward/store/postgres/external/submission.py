"""Submission as a dialogue on a caller's connection: an id that exists starts nothing."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import astuple

from stepward.errors import StoreUnavailable
from stepward.model.messages.status_events import KEPT_SECONDS
from stepward.model.pipeline_plan import Plans, planned_steps
from stepward.model.records import Step, Task
from stepward.payload.references import is_elsewhere, same_payload
from stepward.store.contract import Submitted
from stepward.store.drivers import Ask, Dialogue
from stepward.store.named_queries import load_queries
from stepward.store.postgres.engine.query_catalogue import CATALOGUES_KEPT, TYPES, quoted
from stepward.store.rows import FRAGMENTS
from stepward.store.sealing.row_codec import RowCodec
from stepward.store.verbs.tasks.status_events import received

HERE = (
    "(select cast(d.oid as text) || ' ' || cast(extract(epoch from pg_postmaster_start_time()) as text) "
    "from pg_database as d where d.datname = current_database())"
)
"""A database of a server, from its start to its end: nothing that a copy of the data could share."""


class Elsewhere(Exception):
    """The connection is on another database than the store, as far as is known; nothing was kept."""


def submission(
    schema: str,
    tasks: Sequence[Task],
    plans: Plans,
    is_origin: Callable[[str], bool],
    codec: RowCodec | None = None,
) -> Dialogue[list[Submitted]]:
    """Insert tasks whose ids are new, the first of each id, with their plans; tell for each what became of it.

    Raises Elsewhere unless the connection says that it is where ``is_origin`` knows the store.
    """
    queries = queries_of(schema)
    firsts: dict[str, Task] = {}
    for task in tasks:
        firsts.setdefault(task.id, task)
    found = yield Ask(queries["insert"], _lists(list(firsts.values()), plans, codec))
    if not is_origin(found[0][0]):
        raise Elsewhere
    created = {row[1] for row in found}
    answers = {task.uid: Submitted(task.uid, task.id, created=True, same=True) for task in tasks if task.uid in created}
    others = [task for task in tasks if task.uid not in created]
    if others:
        known = yield Ask(
            queries["existing"],
            _asked(others, compares=codec is None and not any(is_elsewhere(task.input) for task in others)),
        )
        for place, uid, same, recorded in known:
            task = others[place]
            is_same = same and (recorded is None or _is_same(task, uid, recorded, codec))
            answers[task.uid] = Submitted(uid, task.id, created=False, same=is_same)
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


def _lists(tasks: Sequence[Task], plans: Plans, codec: RowCodec | None) -> str:
    events = [
        {
            "task": task.uid,
            "queue": queue,
            "body": _text(event if codec is None else codec.sealed("status_events.put", (queue, event))[1]),
            "expires_at": task.created_at + KEPT_SECONDS,
        }
        for task in tasks
        for queue, event in received(task)
    ]
    steps = [step for task in tasks for step in planned_steps(task, plans.get((task.workflow, task.version), ()))]
    return json.dumps(
        {
            "tasks": [_row(_sealed(task, codec)) for task in tasks],
            "steps": [_row(step) for step in steps],
            "events": events,
        }
    )


def _asked(tasks: Sequence[Task], *, compares: bool) -> str:
    """``compares``: the server compares inputs, as they are neither encrypted nor kept elsewhere."""
    return json.dumps(
        [
            {
                "place": place,
                "id": task.id,
                "workflow": task.workflow,
                "input": _text(task.input) if compares else None,
            }
            for place, task in enumerate(tasks)
        ]
    )


def _is_same(task: Task, uid: str, recorded: str, codec: RowCodec | None) -> bool:
    """Whether the input of the task of that uid, encrypted and in base64, is what this one has."""
    row = (task.id, uid, task.workflow, b64decode(recorded))
    found = row if codec is None else codec.opened("submission.existing", [row])[0]
    return same_payload(found[-1], task.input)


def _sealed(task: Task, codec: RowCodec | None) -> Task:
    if codec is None:
        return task
    return Task(**dict(zip(Task.__struct_fields__, codec.sealed("submission.insert", astuple(task)), strict=True)))


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
