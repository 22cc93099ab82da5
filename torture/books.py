"""The records of a run: acknowledged requests, the store's rows, the service's effects, the received events.

Plain data, so that they can be kept, changed and judged again.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from stepward import StatusEvent
from stepward.store.rules.audit.audit_chain import FIRST_HASH, linked
from torture.application.ledger import LedgerCall, LedgerEntry
from torture.application.load import Load
from torture.faults.foreign_store import Trespass
from torture.faults.migrations import Migration, Standing
from torture.faults.misbehaving_login import STOLEN, Intrusion
from torture.faults.snapshots import Snapshot
from torture.servers.cluster import SCHEMA, PostgresPair

T = TypeVar("T", bound=Struct)
MINUTE = 60.0
"""From one nominal time of the schedule to the next."""


class RecordedTask(Struct):
    """A task, as far as it is judged."""

    id: str
    uid: str
    workflow: str
    state: str
    locked_by: str | None
    run: int
    reply_to: str | None
    events: int
    parent: str | None
    unread: list[str]
    """Rows of its inbox that were not read."""


class RecordedStep(Struct):
    """A step, as far as it is judged."""

    task: str
    run: int
    key: str
    number: int
    kind: str
    state: str
    attempt: int
    ordinal: int | None
    finished_at: float | None
    generation: int
    answered: bool
    """Whether the Agent's answer was recorded; a step in doubt is undone without one."""


class RecordedAlert(Struct):
    """An alert."""

    kind: str
    task: str | None
    message: str


class RecordedDecision(Struct):
    """A decision of a Supervisor on one attempt of a step."""

    act: str
    task: str
    step: str
    run: int
    attempt: int


class HeardEvent(Struct):
    """A status event as its reader had it."""

    id: str
    type: str
    subject: str
    sequence: int
    step: str | None = None


class Records(Struct, kw_only=True):
    """All records of a run."""

    submitted: dict[str, str]
    posted: dict[str, str]
    tasks: list[RecordedTask]
    steps: list[RecordedStep]
    alerts: list[RecordedAlert]
    decisions: list[RecordedDecision]
    entries: list[LedgerEntry]
    calls: list[LedgerCall]
    heard: list[HeardEvent]
    booked: list[str]
    """Tasks for which a row was written in the transaction of a step."""
    placed: list[str]
    """Messages for which a row was written in the transaction of their task."""
    queued: dict[str, int]
    """Messages that are left, by queue, without the expired ones."""
    letters: list[str]
    alive: list[str]
    """Instances that pass for alive."""
    unchained: int
    """Links of the audit's chain that do not hold."""
    schedule: tuple[float, float]
    """The nominal times of the first task of the schedule and of the next one after the last."""
    times: list[tuple[float, float, float]] = []
    """How the server's clock went: from when on, how many seconds ahead, and how fast."""
    snapshots: list[Snapshot] = []
    trespasses: list[Trespass] = []
    intrusions: list[Intrusion] = []
    migrations: list[Migration] = []
    standing: Standing | None = None
    """How far the store's tables are."""
    stolen: list[str] = []
    """Steps whose result is one that the narrow login made up."""
    beside: Records | None = None
    """The records of the second application, under the same name at the same broker."""


TASKS = f"""
select id, uid, workflow, state, locked_by, run, reply_to, events, parent,
    array(select kind from {SCHEMA}.inbox as i where i.task = t.uid order by number) as unread
from {SCHEMA}.task as t order by uid
"""
STEPS = f"""
select task, run, key, number, kind, state, attempt, ordinal, finished_at, generation, output is not null as answered
from {SCHEMA}.step order by task, run, number
"""
ALERTS = f"select kind, task, message from {SCHEMA}.alert order by number"
DECISIONS = f"""
select act, task, step, (convert_from(details, 'UTF8')::jsonb ->> 'run')::integer as run,
    (convert_from(details, 'UTF8')::jsonb ->> 'attempt')::integer as attempt
from {SCHEMA}.audit where step is not null and act in ('repeat', 'fail', 'undo', 'raise') and actor like 'supervisor/%'
order by number
"""
CHAIN = f"select at, actor, act, task, step, before, after, details, hash from {SCHEMA}.audit order by number"
QUEUED = f"""
select queue, count(*) from {SCHEMA}.message
where expires_at is null or expires_at > extract(epoch from clock_timestamp()) group by queue
"""
STOLEN_STEPS = f"""
select task || '/' || run || '/' || key from {SCHEMA}.step where convert_from(output, 'UTF8') like '%{STOLEN}%'
"""
NEXT_AT = f"select next_at from {SCHEMA}.schedule"
FIRST_AT = f"""
select next_at - {MINUTE} * (select count(*) from {SCHEMA}.task where workflow = 'tick') from {SCHEMA}.schedule
"""


async def first_nominal(cluster: PostgresPair) -> float:
    """The first nominal time of the schedule, whose tasks may have begun already."""
    return float((await cluster.rows(FIRST_AT))[0][0])


async def next_nominal(cluster: PostgresPair) -> float:
    """The next nominal time of the schedule."""
    return float((await cluster.rows(NEXT_AT))[0][0])


async def gather(cluster: PostgresPair, load: Load, ledger: dict[str, list[Any]], first: float) -> Records:
    """The books of a run that is over; ``first`` is the first nominal time of its schedule."""
    entry_fields, call_fields = LedgerEntry.__struct_fields__, LedgerCall.__struct_fields__
    return Records(
        submitted=load.submitted,
        posted=load.posted,
        tasks=await _rows(cluster, TASKS, RecordedTask),
        steps=await _rows(cluster, STEPS, RecordedStep),
        alerts=await _rows(cluster, ALERTS, RecordedAlert),
        decisions=await _rows(cluster, DECISIONS, RecordedDecision),
        entries=msgspec.convert(
            [dict(zip(entry_fields, row, strict=True)) for row in ledger["entries"]], list[LedgerEntry]
        ),
        calls=msgspec.convert(
            [dict(zip(call_fields, row, strict=True)) for row in ledger["calls"]], list[LedgerCall], strict=False
        ),
        heard=[_heard(event) for event in load.heard],
        booked=await _column(cluster, "select task from booked"),
        placed=await _column(cluster, "select id from placed"),
        queued=dict(map(tuple, await cluster.rows(QUEUED))),
        letters=await _column(cluster, f"select reason from {SCHEMA}.dead_letter"),
        alive=await _column(cluster, f"select id from {SCHEMA}.instance where alive"),
        unchained=await _unchained(cluster),
        schedule=(first, await next_nominal(cluster)),
        times=cluster.times,
        stolen=await _column(cluster, STOLEN_STEPS),
    )


async def _rows(cluster: PostgresPair, sql: str, kind: type[T]) -> list[T]:
    return [msgspec.convert(dict(row), kind) for row in await cluster.rows(sql)]


async def _column(cluster: PostgresPair, sql: str) -> list[Any]:
    return [row[0] for row in await cluster.rows(sql)]


async def _unchained(cluster: PostgresPair) -> int:
    last, broken = FIRST_HASH, 0
    for *values, found in await cluster.rows(CHAIN):
        broken += linked(last, tuple(values)) != found
        last = found
    return broken


def _heard(event: StatusEvent) -> HeardEvent:
    return HeardEvent(event.id, event.type, event.subject, event.sequence, event.data.get("step"))
