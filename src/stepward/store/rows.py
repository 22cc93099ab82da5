"""Rows of the store as records, and the columns in the order of the records' fields."""

from __future__ import annotations

from collections.abc import Sequence
from sys import intern
from typing import Any

import msgspec
from msgspec.structs import replace

from stepward.model.agents import AgentHealth, AgentStanding
from stepward.model.alerts.alert_routing import AlertReceipt, severity_of
from stepward.model.credentials import AccessRole, Credential, CredentialKind
from stepward.model.limits.flow_limit import FlowLimit
from stepward.model.limits.slot_shares import SlotLease
from stepward.model.records import (
    Alert,
    Audit,
    DeadLetter,
    Digest,
    InboxKind,
    InboxRow,
    Instance,
    Role,
    Step,
    Task,
    WorkflowRecord,
)
from stepward.model.schedule import Schedule
from stepward.model.states import StepKind, StepState, TaskState
from stepward.store.contract import AuditedAct, Batch, BatchParameters, BatchRefusal, BatchState, BatchVerb, Tally

RowValues = Sequence[Any]


def columns(record: type[msgspec.Struct], prefix: str = "") -> str:
    """The columns of a record's fields, for a select or an insert."""
    return ", ".join(prefix + name for name in record.__struct_fields__)


FRAGMENTS = {
    "task": columns(Task),
    "t_task": columns(Task, "t."),
    "step": columns(Step),
    "s_step": columns(Step, "s."),
    "inbox": columns(InboxRow),
    "i_inbox": columns(InboxRow, "i."),
    "instance": columns(Instance),
    "alert_columns": ", ".join(Alert.__struct_fields__[:-2]),
    "receipt": columns(AlertReceipt),
    "audit": ", ".join(name for name in Audit.__struct_fields__ if name != "task_id"),
    "workflow": columns(WorkflowRecord),
    "dead_letter": columns(DeadLetter),
    "schedule": columns(Schedule),
    "agent": columns(AgentStanding),
    "credential": columns(Credential),
    "batch": columns(Batch),
    "flow_limit": columns(FlowLimit),
    "claimable": "locked_by is null and wake_at is null and state in ('pending', 'undoing')",
    "waking": "locked_by is null and wake_at is not null and state in ('pending', 'waiting', 'undoing')",
    "ends": "('processed', 'undone', 'cancelled', 'error')",
}
"""What the ``.sql`` files may name in braces; conditions are those of the partial indexes, word for word."""

TASK_STATES = {state.value: state for state in TaskState}
STEP_STATES = {state.value: state for state in StepState}
KINDS = {kind.value: kind for kind in StepKind}
INBOX_KINDS = {kind.value: kind for kind in InboxKind}
UNDO_TO = {
    None: None,
    TaskState.UNDONE.value: TaskState.UNDONE,
    TaskState.CANCELLED.value: TaskState.CANCELLED,
}


def task(row: RowValues) -> Task:
    """A row of ``{task}``; what many tasks have alike is one object in memory."""
    return Task(
        uid=row[0],
        id=row[0] if row[1] == row[0] else row[1],
        workflow=intern(row[2]),
        version=intern(row[3]),
        state=TASK_STATES[row[4]],
        priority=row[5],
        fairness_key=row[6],
        labels=b"{}" if row[7] == b"{}" else row[7],
        run=row[8],
        input=row[9],
        output=row[10],
        error=row[11],
        locked_by=row[12] and intern(row[12]),
        complete_by=row[13],
        wake_at=row[14],
        waits_for=row[15],
        undo_to=UNDO_TO[row[16]],
        inbox=row[17],
        failure_count=row[18],
        recovery_count=row[19],
        parent=row[20],
        parent_run=row[21],
        parent_step=row[22],
        reply_to=row[23],
        created_at=row[24],
        started_at=row[25],
        finished_at=row[26],
        events=row[27],
        deadline=row[28],
        hangs=row[29],
        depth=row[30],
        attributes=b"{}" if row[31] == b"{}" else row[31],
        events_to=row[32],
    )


def step(row: RowValues) -> Step:
    """A row of ``{step}``."""
    return Step(
        task=row[0],
        run=row[1],
        key=row[2],
        number=row[3],
        name=row[4],
        kind=KINDS[row[5]],
        state=STEP_STATES[row[6]],
        agent=row[7],
        attempt=row[8],
        failure_count=row[9],
        complete_by=row[10],
        complete_seconds=row[11],
        started_at=row[12],
        finished_at=row[13],
        repeat_at=row[14],
        ordinal=row[15],
        input=row[16],
        output=row[17],
        error=row[18],
        has_undo=row[19] == 1,
        irreversible=row[20] == 1,
        in_doubt=row[21] == 1,
        watched=row[22] == 1,
        generation=row[23],
        progress=row[24],
        progress_at=row[25],
        deferred_at=row[26],
        asked=row[27],
        set_aside_at=row[28],
    )


def tally(row: RowValues) -> Tally:
    """A row of ``tallies``."""
    return Tally(row[0], row[1], row[2], msgspec.json.decode(row[3], type=list[str]), row[4])


def inbox_row(row: RowValues) -> InboxRow:
    """A row of ``{inbox}``."""
    return InboxRow(number=row[0], task=row[1], kind=INBOX_KINDS[row[2]], name=row[3], body=row[4], sender=row[5])


def instance(row: RowValues) -> Instance:
    """A row of ``{instance}``."""
    return Instance(
        id=row[0],
        role=Role(row[1]),
        host=row[2],
        pid=row[3],
        serves=msgspec.json.decode(row[4], type=list[str]),
        started_at=row[5],
        expires_at=row[6],
        alive=row[7] == 1,
        capacity=row[8],
        health=msgspec.json.decode(row[9], type=list[AgentHealth]),
        demand=msgspec.json.decode(row[10], type=dict[str, int]),
        digests=msgspec.json.decode(row[11], type=dict[str, Digest]),
        ended=row[12] == 1,
        ahead=row[13],
        waits=msgspec.json.decode(row[14], type=dict[str, float]),
        drain_at=row[15],
    )


def alert(row: RowValues) -> Alert:
    """A row of ``{alert}``."""
    found = Alert(**dict(zip(Alert.__struct_fields__[:-1], row, strict=True)))
    return replace(found, severity=severity_of(found.kind))


def audit(row: RowValues) -> Audit:
    """A row of ``{audit}``."""
    return Audit(**dict(zip(Audit.__struct_fields__, row, strict=True)))


def act(row: RowValues) -> AuditedAct:
    """A row of ``{audit}`` and the hash."""
    *fields, hash = row  # noqa: A001
    return AuditedAct(Audit(**dict(zip(Audit.__struct_fields__[:-1], fields, strict=True))), hash)


def workflow(row: RowValues) -> WorkflowRecord:
    """A row of ``{workflow}``."""
    return WorkflowRecord(**dict(zip(WorkflowRecord.__struct_fields__, row, strict=True)))


def dead_letter(row: RowValues) -> DeadLetter:
    """A row of ``{dead_letter}``."""
    return DeadLetter(**dict(zip(DeadLetter.__struct_fields__, row, strict=True)))


def schedule(row: RowValues) -> Schedule:
    """A row of ``{schedule}``."""
    return Schedule(**dict(zip(Schedule.__struct_fields__, row, strict=True)))


def standing(row: RowValues) -> AgentStanding:
    """A row of ``{agent}``."""
    return AgentStanding(**dict(zip(AgentStanding.__struct_fields__, row, strict=True)))


def flow_limit(row: RowValues) -> FlowLimit:
    """A row of ``{flow_limit}``."""
    limit = FlowLimit(**dict(zip(FlowLimit.__struct_fields__, row, strict=True)))
    return replace(limit, per_key=limit.per_key == 1)


def slot_lease(row: RowValues) -> SlotLease:
    """A row of ``limits.slots``."""
    lease = SlotLease(**dict(zip(SlotLease.__struct_fields__, row, strict=True)))
    return replace(lease, alive=lease.alive == 1)


def credential(row: RowValues) -> Credential:
    """A row of ``{credential}``."""
    return Credential(
        id=row[0],
        kind=CredentialKind(row[1]),
        name=row[2],
        secret_hash=row[3],
        role=AccessRole(row[4]),
        payloads=row[5] == 1,
        workflows=msgspec.json.decode(row[6], type=list[str]),
        labels=msgspec.json.decode(row[7], type=dict[str, str]),
        created_at=row[8],
        created_by=row[9],
        expires_at=row[10],
        revoked_at=row[11],
    )


def credential_values(given: Credential, now: float) -> RowValues:
    """The columns of a new token or session, made now."""
    workflows, labels = (msgspec.json.encode(each).decode() for each in (given.workflows, given.labels))
    who = (given.id, given.kind.value, given.name, given.secret_hash, given.role.value, given.payloads)
    return (*who, workflows, labels, now, given.created_by, given.expires_at, None)


BATCH_WRITTEN = [
    Batch.__struct_fields__.index(name)
    for name in (
        "id",
        "state",
        "rate",
        "done",
        "refused",
        "refusals",
        "cursor_at",
        "cursor_uid",
        "next_at",
        "finished_at",
    )
]
"""The places of the columns of a batch that change, in the order of ``batches.write``."""


def batch(row: RowValues) -> Batch:
    """A row of ``{batch}``."""
    fields = dict(zip(Batch.__struct_fields__, row, strict=True))
    fields |= {"verb": BatchVerb(fields["verb"]), "state": BatchState(fields["state"])}
    fields["is_exact"] = fields["is_exact"] == 1
    fields["workflows"] = msgspec.json.decode(fields["workflows"], type=list[str])
    fields["labels"] = msgspec.json.decode(fields["labels"], type=dict[str, str])
    fields["parameters"] = _batch_parameters(fields["parameters"])
    fields["refusals"] = msgspec.json.decode(fields["refusals"], type=list[BatchRefusal])
    return Batch(**fields)


def batch_values(given: Batch) -> RowValues:
    """The columns of a batch."""
    texts = ("workflows", "labels", "parameters", "refusals")
    values = {name: getattr(given, name) for name in Batch.__struct_fields__}
    values |= {name: msgspec.json.encode(values[name]).decode() for name in texts}
    values |= {"verb": given.verb.value, "state": given.state.value}
    return tuple(values.values())


def _batch_parameters(text: str) -> BatchParameters:
    try:
        return msgspec.json.decode(text, type=BatchParameters)
    except msgspec.DecodeError:
        return BatchParameters(is_sealed=True)
