"""Every query of this store, by file and name: ``turn.finish``; the schema's name is written into each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

import msgspec

from stepward.model.records import Instance, Step, Task
from stepward.payload.sealed import PayloadCodec
from stepward.store.named_queries import read_catalogue
from stepward.store.postgres.engine.array_literals import with_literals
from stepward.store.postgres.hot.compact_rows import COMPACT_FORMS, CompactForm
from stepward.store.rows import FRAGMENTS, columns
from stepward.store.sealing.columns import (
    GIVEN,
    INBOX_BEHIND_ONE,
    SHOWN,
    STEP,
    TASK,
    Columns,
    step_columns,
    task_columns,
)
from stepward.store.sealing.row_codec import RowCodec
from stepward.store.search.listed_columns import listed_columns

Queries = Mapping[str, str]

FOLDERS = ("queries/tasks", "queries/instances", "queries/operators", "hot", "schema", "server")
"""Where its ``.sql`` files stand; those of ``external`` are for connections of applications."""
CATALOGUES_KEPT = 16
TYPES = {"str": "text", "int": "integer", "float": "float8", "bool": "boolean", "bytes": "bytea"}
"""Column types by the types of the records' fields; everything else there is a name, hence a text."""

SUPERVISION = {
    "alert": "{alert_columns}, (select workflow from {schema}.task where uid = alert.task)",
    # The first claimable task of each workflow: leaps along the index, never a walk over the backlog.
    "first_claimable": """first (uid, workflow, version) as (
    (select uid, workflow, version from {schema}.task where {claimable}
        order by workflow, version, priority desc limit 1)
    union all
    select n.uid, n.workflow, n.version from first as f cross join lateral (
        select uid, workflow, version from {schema}.task
        where {claimable} and (workflow, version) > (f.workflow, f.version)
        order by workflow, version, priority desc limit 1) as n)""",
    "served": """exists (select 1 from {schema}.instance as i
    where i.alive and i.role = 'scheduler' and i.serves::jsonb ? (t.workflow || '@' || t.version))""",
    # Dead instances are kept for longer than such an alert waits, so that a restarted process raises none.
    "served_since": """exists (select 1 from {schema}.instance as i
    where (i.alive or i.dead_at > $1) and i.role = 'scheduler'
        and i.serves::jsonb ? (t.workflow || '@' || t.version))""",
    "alerted": """exists (select 1 from {schema}.alert as a
    where a.acknowledged_at is null and a.kind = 'unserved'
        and convert_from(a.details, 'UTF8')::json ->> 'workflow' = t.workflow
        and convert_from(a.details, 'UTF8')::json ->> 'version' = t.version)""",
    "parent_is_over": """coalesce((
    select p.finished_at is not null and p.state <> 'error' or not exists (
        select 1 from {schema}.step as b where b.task = p.uid and b.run = t.parent_run and b.kind = 'child')
    from {schema}.task as p where p.uid = t.parent), true)""",
}
"""What several of the Supervisor's queries share, those of retention among them."""


@lru_cache(maxsize=CATALOGUES_KEPT)
def load_catalogue(schema: str) -> Queries:
    """The queries for tables in the schema of that name."""
    own = {**FRAGMENTS, **OWN, "schema": quoted(schema)}
    fragments = own | {name: condition.format_map(own) for name, condition in SUPERVISION.items()}
    texts = read_catalogue("stepward.store.postgres", FOLDERS, fragments)
    return MappingProxyType({name: with_literals(sql) for name, sql in texts.items()})


def quoted(name: str) -> str:
    """An identifier as it stands in SQL."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def arrays(record: type[msgspec.Struct], names: Sequence[str] | None = None) -> str:
    """A parameter for each field of a record, or those named: the values of that field, of many records."""
    chosen = record.__struct_fields__ if names is None else names
    return ", ".join(f"${place}::{_type_of(record, name)}[]" for place, name in enumerate(chosen, 1))


def scalars(record: type[msgspec.Struct], names: Sequence[str], before: int) -> str:
    """A parameter for each of those fields of a record, after so many others: one value for many records."""
    return ", ".join(f"${place}::{_type_of(record, name)}" for place, name in enumerate(names, before + 1))


def _type_of(record: type[msgspec.Struct], name: str) -> str:
    return TYPES.get(_plain(str(record.__annotations__[name])), "text")


def _plain(annotation: str) -> str:
    return annotation.removesuffix(" | None")


def filled(record: type[msgspec.Struct], key: int) -> str:
    """The fields of a record after the first ``key`` ones, set to those of ``v``."""
    return ", ".join(f"{name} = v.{name}" for name in record.__struct_fields__[key:])


def usual(word: str, record: type[msgspec.Struct], split: CompactForm) -> dict[str, str]:
    """How the columns of a record divide into those that are sent and those that stand in the SQL."""
    names = [name for name in record.__struct_fields__ if name not in split.others]
    return {
        f"{word}_others": ", ".join(split.others),
        f"{word}_other_arrays": arrays(record, split.others),
        f"{word}_compact": ", ".join(names),
        f"{word}_values": ", ".join(map(_literal, split.values)),
        f"{word}_unlike": ", ".join(split.unlike),
        f"{word}_unlike_arrays": arrays(record, split.unlike),
        f"{word}_alike": ", ".join(split.alike),
        f"{word}_scalars": scalars(record, split.alike, len(split.unlike)),
    }


def _literal(value: object) -> str:
    """A usual value as it stands in the SQL."""
    if isinstance(value, bytes):
        return f"'{value.decode()}'::bytea"
    return "null" if value is None else str(value).lower()


TASKS, STEPS = COMPACT_FORMS["turn.insert_task"], COMPACT_FORMS["turn.insert_step"]
COMPACT: dict[str, Columns] = {
    **dict.fromkeys(("turn.insert_task_compact", "submission.insert_compact"), task_columns(TASKS.others)),
    **dict.fromkeys(("turn.insert_task_alike", "submission.insert_alike"), task_columns([*TASKS.unlike, *TASKS.alike])),
    "turn.insert_step_compact": step_columns(STEPS.others),
    "turn.insert_step_alike": step_columns([*STEPS.unlike, *STEPS.alike]),
    "turn.finish_compact": step_columns(COMPACT_FORMS["turn.finish"].others),
}
GIVEN_HERE: dict[str, Columns] = {**COMPACT, "completions.complete_all": GIVEN["completions.complete"]}
"""Parameters with payloads of queries that this engine alone has."""
SHOWN_HERE: dict[str, Columns] = {
    "client.lock_tasks": TASK,
    **dict.fromkeys(("completions.lock_steps", "completions.steps"), STEP),
    "scheduler.claim": TASK,
    **dict.fromkeys(("scheduler.read_inbox", "scheduler.read_inbox_since"), INBOX_BEHIND_ONE),
}
"""Rows with payloads of queries that this engine alone has, or has with other columns."""


def row_codec(codec: PayloadCodec | None) -> RowCodec | None:
    """The codec of this store's rows, by the names of its queries."""
    return None if codec is None else RowCodec(codec, GIVEN | GIVEN_HERE, SHOWN | SHOWN_HERE)


OWN = {
    # Word for word as in the index of claimable tasks.
    "key": """(coalesce(fairness_key, '') collate "C")""",
    **usual("task", Task, TASKS),
    **usual("step", Step, STEPS),
    "t_listed": listed_columns(Task, input="'[]'::bytea"),
    "task_arrays": arrays(Task),
    "step_arrays": arrays(Step),
    "step_filled": filled(Step, 3),
    "i_instance": columns(Instance, "i."),
    "s_bytes": "octet_length(s.input) + coalesce(octet_length(s.output), 0) + coalesce(octet_length(s.error), 0)",
}
"""What the ``.sql`` files may name in braces beside what they share with SQLite's."""
