"""Acts of the audit, one for each verb that writes one, and when alerts are acknowledged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from stepward.model.alerts.silences import AlertSilence
from stepward.model.credentials import Credential
from stepward.model.limits.flow_limit import SetLimit
from stepward.model.limits.rate import RateLimit
from stepward.model.messages.requests import Reply
from stepward.model.records import Audit, Instance, Task
from stepward.model.states import TaskState
from stepward.model.tasks import stopped_tasks
from stepward.model.tasks.updates import described
from stepward.store.contract import (
    Batch,
    BatchParameters,
    Directive,
    Fork,
    Post,
)
from stepward.store.rules.supervisor_rows import ACTOR

MENDED = "stepward"
"""The actor in the audit that acknowledges the alerts of a repaired task."""
BY_HAND = ("in_doubt", "late_effect", "late_effect_after_undo", "unserved")
"""Kinds of alerts that stay open when their task continues: they need an operator, or an instance that serves."""


def signal_audit(task: Task, post: Post, actor: str, reason: str | None) -> Audit:
    """An operator gave the task a signal, or asked it for an update."""
    act, _, name = described(post.name).partition(" ")
    details = {act: name} | ({"id": post.sender} if post.sender else {}) | _reason(reason)
    return Audit(actor=actor, act=act, task=task.uid, before=task.state, details=msgspec.json.encode(details))


def directive_audit(
    task: Task,
    directive: Directive,
    step: str | None,
    after: TaskState,
    more: Mapping[str, Any] | None = None,
) -> Audit:
    """The act of an operator."""
    given = {"input": directive.input, "result": directive.result}
    details: dict[str, Any] = {name: msgspec.Raw(data) for name, data in given.items() if data is not None}
    said = {
        "doubt": directive.doubt,
        "later": directive.later,
        "priority": directive.priority,
        "failed_children": directive.failed_children or None,
        "batch": directive.batch,
    }
    details |= {name: word for name, word in said.items() if word is not None} | dict(more or {})
    details |= _reason(directive.reason)
    return Audit(
        actor=directive.actor,
        act=directive.verb,
        task=task.uid,
        step=step,
        before=task.state,
        after=after,
        details=msgspec.json.encode(details),
    )


def fork_audits(fork: Fork) -> list[Audit]:
    """An operator forked a task: an entry of the origin, and one of the new task."""
    origin, task, more = fork.origin, fork.task, _reason(fork.reason)
    undone = {"undo_first": [step.key for step in fork.released]} if fork.released else {}
    said = {"fork": task.id} | undone | more, {"origin": origin.id} | more
    first, second = (msgspec.json.encode(details) for details in said)
    return [
        Audit(actor=fork.actor, act="fork", task=origin.uid, step=fork.step, before=origin.state, details=first),
        Audit(actor=fork.actor, act="fork", task=task.uid, step=fork.step, after=task.state, details=second),
    ]


def _reason(reason: str | None) -> dict[str, str]:
    return {} if reason is None else {"reason": reason}


def late_reply_audit(reply: Reply) -> Audit:
    """A reply that fits nothing any more."""
    return Audit(actor="agent", act="late_reply", task=reply.task, step=reply.key, after=reply.outcome)


def fence_audit(instance: Instance) -> Audit:
    """The Supervisor declares an instance dead."""
    details = msgspec.json.encode({"instance": instance.id})
    return Audit(actor=ACTOR, act="fence", before="alive", after="dead", details=details)


def hang_audit(task: str, hangs: int, sender: str, where: str) -> Audit:
    """Code of a task held up an event loop."""
    return Audit(actor=sender, act="hang", task=task, details=msgspec.json.encode({"hangs": hangs, "at": where}))


def is_tried_again(task: Task, after: TaskState) -> bool:
    """Whether a task whose code did not match is tried again at once: for readers it is still waiting."""
    return task.state is TaskState.WAITING and after is TaskState.PENDING


def is_mended(task: Task, after: TaskState) -> bool:
    """Whether the task leaves ``error``, so that its alerts are acknowledged."""
    return task.state is TaskState.ERROR and after is not TaskState.ERROR


def resolve_parameters(details: bytes, now: float) -> tuple[Any, ...]:
    """What tells whether the alert of a place where code did not fit is over: the parameters of ``settle``."""
    place = msgspec.json.decode(details)
    until = now + stopped_tasks.LONGEST_RETRY
    values = (place["workflow"], place["version"], place["place"])
    return (now, MENDED, details, stopped_tasks.WAITS_FOR, until, *values)


def acknowledge_audit(number: int, actor: str) -> Audit:
    """The acknowledgement of an alert."""
    return Audit(actor=actor, act="acknowledge", details=b'{"alert":%d}' % number)


def dead_letter_audit(actor: str, act: str, number: int, queue: str) -> Audit:
    """What an operator did with a dead letter."""
    details = msgspec.json.encode({"dead_letter": number, "queue": queue})
    return Audit(actor=actor, act=act, details=details)


def schedule_audit(actor: str, act: str, name: str, tasks: int | None = None) -> Audit:
    """An act on a schedule; ``tasks``: how many it started."""
    details = {"schedule": name} | ({} if tasks is None else {"tasks": tasks})
    return Audit(actor=actor, act=act, details=msgspec.json.encode(details))


def agent_audit(actor: str, act: str, name: str, note: str | None) -> Audit:
    """What an operator did with an Agent."""
    details = {"agent": name} if note is None else {"agent": name, "note": note}
    return Audit(actor=actor, act=act, details=msgspec.json.encode(details))


def drain_audit(actor: str, instance: str) -> Audit:
    """An operator asked the process of an instance to end in good order."""
    return Audit(actor=actor, act="drain", details=msgspec.json.encode({"instance": instance}))


def limit_audit(actor: str, act: str, name: str, values: SetLimit) -> Audit:
    """What an operator did with a limit."""
    details = {"limit": name, "concurrency": values.concurrency, "note": values.note or msgspec.UNSET}
    details["rate"] = values.rate.text if isinstance(values.rate, RateLimit) else values.rate
    details = {field: value for field, value in details.items() if value is not msgspec.UNSET}
    return Audit(actor=actor, act=act, details=msgspec.json.encode(details))


def silence_audit(actor: str, act: str, silence: AlertSilence) -> Audit:
    """An operator kept alerts of a kind from the sinks, or ended that."""
    details = {"kind": silence.kind, "workflow": silence.workflow, "until": silence.until, "note": silence.note}
    shown = {name: value for name, value in details.items() if value is not None}
    return Audit(actor=actor, act=act, details=msgspec.json.encode(shown))


def webhook_audit(actor: str, act: str, name: str) -> Audit:
    """An operator enabled or disabled a webhook."""
    return Audit(actor=actor, act=act, details=msgspec.json.encode({"webhook": name}))


def partition_audit(actor: str, act: str, partition: str, shards: int | None = None) -> Audit:
    """An operator took a store in as a partition, or begins to move so many shards there."""
    details = {"partition": partition} | ({} if shards is None else {"shards": shards})
    return Audit(actor=actor, act=act, details=msgspec.json.encode(details))


def purge_audit(actor: str, tasks: int, before: float) -> Audit:
    """An operator deleted tasks that had ended."""
    return Audit(actor=actor, act="purge", details=msgspec.json.encode({"tasks": tasks, "ended_before": before}))


def batch_start_audit(batch: Batch) -> Audit:
    """An operator started a batch."""
    details: dict[str, Any] = {"batch": batch.id, "verb": batch.verb, "filter": batch.filter, "rate": batch.rate}
    details |= {"matched": batch.matched, "as_of": batch.as_of, "reason": batch.reason}
    said = batch.parameters
    details |= {
        "workflows": batch.workflows,
        "labels": batch.labels,
        "parameters": replace(said, input=None, result=None),
    }
    given = {"input": said.input, "result": said.result}
    details |= {name: msgspec.Raw(text.encode()) for name, text in given.items() if text is not None}
    shown = {name: value for name, value in details.items() if value not in (None, [], {}, BatchParameters())}
    return Audit(actor=batch.actor, act="start", after=batch.state, details=msgspec.json.encode(shown))


def batch_audit(batch: Batch, act: str, actor: str) -> Audit:
    """An operator steered a batch, or it is done."""
    details = {"batch": batch.id, "done": batch.done, "refused": batch.refused, "rate": batch.rate}
    return Audit(actor=actor, act=act, after=batch.state, details=msgspec.json.encode(details))


def credential_audit(actor: str, act: str, credential: Credential) -> Audit:
    """A token was created or revoked, or a person signed in or out; the secret is not included."""
    details: dict[str, Any] = {"id": credential.id, "name": credential.name, "role": credential.role}
    details["payloads"] = credential.payloads
    scope = {"workflows": credential.workflows, "labels": credential.labels}
    details |= {name: value for name, value in scope.items() if value}
    if credential.expires_at is not None:
        details["expires_at"] = credential.expires_at
    return Audit(actor=actor, act=act, details=msgspec.json.encode(details))
