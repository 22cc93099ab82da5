"""A batch that is to be started: checked, previewed and started; the client and the HTTP API share it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from stepward.client.batches.parameters import parameters_of
from stepward.client.batches.preview import (
    BatchCount,
    BatchOrder,
    BatchPreview,
    SampledTask,
)
from stepward.client.batches.preview_tokens import read_preview_token, token_of
from stepward.client.dry_run import refusal
from stepward.client.live.live_values import UNSET
from stepward.client.submitting import act_arguments
from stepward.clock import Environment
from stepward.errors import IllegalTransition, Refused
from stepward.events import Hints
from stepward.model.messages.completion_tokens import KEY_BYTES
from stepward.model.records import Task
from stepward.store.contract import Batch, BatchVerb, Directive, Store, TaskSearch
from stepward.store.rules.batches import batch_condition
from stepward.store.rules.erasure import check_ended
from stepward.store.search.conditions import Condition

SAMPLE = 10
"""Tasks of a preview."""
MOST_RATE = 1_000.0
LEAST_RATE = 0.01
NO_LABELS: Mapping[str, str] = {}
NOTHING_SAID: Mapping[str, Any] = {
    **dict.fromkeys(("step", "doubt", "later", "complete_by", "priority")),
    "input": UNSET,
    "result": UNSET,
}


class BatchClient(Protocol):
    """What batches need of their client."""

    hints: Hints
    limit: int
    actor: str

    @property
    def store(self) -> Store:
        """The store."""
        ...


def order_of(
    client: BatchClient,
    verb: BatchVerb | str,
    where: str,
    *,
    workflows: Sequence[str] = (),
    labels: Mapping[str, str] = NO_LABELS,
    **said: Any,
) -> BatchOrder:
    """What ``preview`` is asked for, checked, within a scope. Raises Refused."""
    asked, now = _verb(verb), client.store.now()
    given: dict[str, Any] = {**NOTHING_SAID, **said}
    parameters = parameters_of(asked, now=now, limit=client.limit, **given)
    return BatchOrder(
        verb=asked,
        where=where,
        parameters=parameters,
        workflows=list(workflows),
        labels=dict(labels),
        actor=client.actor,
    )


async def preview_of(client: BatchClient, order: BatchOrder) -> BatchPreview:
    """The preview of an order. Raises InvalidFilter."""
    store = client.store
    as_of = store.now()
    condition = _condition(order, as_of)
    count = await store.operators.count(condition)
    counted = BatchCount(count.number, count.is_exact, as_of)
    found = await store.operators.tasks(TaskSearch(condition=condition, newest_first=False, limit=SAMPLE))
    sample = [await _sampled(store, task, order) for task in found.tasks]
    return BatchPreview(order=order, count=counted, sample=sample, token=token_of(order, counted, await _key(store)))


async def start_order(client: BatchClient, order: BatchOrder, token: str, *, rate: float, reason: str | None) -> Batch:
    """Start what a preview of just this order was looked at. Raises Refused."""
    store = client.store
    now = store.now()
    count = read_preview_token(token, order, await _key(store), now)
    _condition(order, count.as_of)
    batch = Batch(
        id=Environment().new_uid(),
        verb=order.verb,
        filter=order.where,
        workflows=order.workflows,
        labels=order.labels,
        parameters=order.parameters,
        actor=order.actor,
        reason=act_arguments.reason(reason),
        rate=checked_rate(rate),
        as_of=count.as_of,
        matched=count.number,
        is_exact=count.is_exact,
        next_at=now,
        created_at=now,
    )
    await store.operators.start_batch(batch)
    client.hints.hint()
    return batch


def checked_rate(rate: float) -> float:
    """A rate in tasks a second. Raises Refused."""
    is_number = isinstance(rate, int | float) and not isinstance(rate, bool)
    if not is_number or not LEAST_RATE <= rate <= MOST_RATE:
        raise Refused(f"rate: expected {LEAST_RATE} to {MOST_RATE:,.0f} tasks a second, found {rate!r:.40}")
    return float(rate)


def _condition(order: BatchOrder, as_of: float) -> Condition:
    if isinstance(order.where, str) and not order.where.strip():
        raise Refused("where: expected a filter, found none; a batch on every task is asked for by created <= now")
    return batch_condition(order.where, as_of, order.workflows, order.labels)


def _verb(verb: BatchVerb | str) -> BatchVerb:
    try:
        return BatchVerb(verb)
    except ValueError:
        raise Refused(f"verb: expected one of {', '.join(BatchVerb)}, found {verb!r:.60}; use one of them") from None


async def _sampled(store: Store, task: Task, order: BatchOrder) -> SampledTask:
    if order.verb is BatchVerb.DELETE:
        return SampledTask(id=task.id, workflow=task.workflow, state=task.state, refusal=_why_not_deleted(task))
    said = order.parameters
    record = await store.client.task(task.id) or task
    asked = Directive(
        verb=order.verb,
        actor=order.actor,
        step=said.step,
        input=None if said.input is None else said.input.encode(),
        doubt=said.doubt,
        later=said.later,
        deadline=said.deadline if said.complete_seconds is None else store.now() + said.complete_seconds,
    )
    refused = await refusal(store.client, record, await store.client.steps(record.id), asked)
    return SampledTask(id=record.id, workflow=record.workflow, state=record.state, refusal=refused)


def _why_not_deleted(task: Task) -> str | None:
    try:
        check_ended(task)
    except IllegalTransition as error:
        return str(error)
    return None


async def _key(store: Store) -> bytes:
    return await store.client.completion_key(secrets.token_bytes(KEY_BYTES))
