"""The submission actors of a process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from stepward.client import Options, Preparation
from stepward.errors import Refused, StoreUnusable
from stepward.host.assembly import Parts
from stepward.model.messages.requests import submission_queue
from stepward.model.messages.status_events import refused_event
from stepward.model.records import Task
from stepward.model.tasks.key_rules import check_size_under_rule
from stepward.model.tasks.submit_options import SubmitOptions
from stepward.model.tracing.submission_span import linked
from stepward.submission import Acceptance, Accepted, Message, SubmissionQueue, Submitter


def submitter(parts: Parts, submission: SubmissionQueue) -> Submitter:
    """The actor of one submission."""
    preparation = Preparation(
        parts.store.client, parts.app, parts.registry, parts.environment, parts.settings.payload_bytes
    )

    async def prepare(message: Message, accepted: Accepted) -> Task:
        if parts.holds is not None:
            await _check_place(message, accepted, parts.holds)
        attributes = linked(accepted.options.get("attributes"), message.traceparent)
        options: SubmitOptions = {**accepted.options, "attributes": attributes, "reply_to": message.reply_to}
        known = await preparation.known(accepted.workflow)
        asked = Options(id=message.id, **options, per_key=accepted.per_key)
        task = preparation.task(known, accepted.args, accepted.kwargs, asked)
        if parts.keeper is None:
            return task
        check_size_under_rule(accepted.per_key, is_large=parts.keeper.is_large(task.input))
        return replace(task, input=await parts.keeper.put(task.uid, task.input))

    def submitted() -> None:
        parts.hints.hint()
        parts.queues.wake()

    queue = submission_queue(parts.app, submission.queue)
    acceptance = Acceptance(
        submission,
        queue,
        transaction=parts.store.client.transaction,
        prepare=prepare,
        plans=preparation.plans,
        store=None if parts.signer is None else parts.signer.store,
        environment=parts.environment,
        observers=parts.observers,
        payload_bytes=parts.settings.payload_bytes,
    )
    return Submitter(
        acceptance,
        parts.queues,
        queue,
        submitted=submitted,
        refused=lambda body, reason: refused_event(body, parts.app, reason, parts.store.now()),
        environment=parts.environment,
        observers=parts.observers,
    )


async def _check_place(message: Message, accepted: Accepted, holds: Callable[[str], Awaitable[bool]]) -> None:
    """Raises Refused for a message that belongs into another store of the application."""
    if not await holds(message.id):
        raise Refused(
            f"message {message.id[:100]!r}: expected one whose id is placed in this partition, found one of another; "
            "post it with every store of the application"
        )
    if accepted.per_key is not None:
        raise Refused(
            "per_key: expected none for messages of an application with several stores, where the message's id decides "
            "the store, found one; submit with the client, which places by the key"
        )


async def keep(actor: Submitter, parts: Parts) -> None:
    """Run it until cancelled; it holds no state beyond the queue's, so after a bug it pauses and goes on."""
    while not actor.is_draining:
        try:
            await actor.run()
        except StoreUnusable:
            raise
        except Exception as error:
            parts.observers.emit("submission.broke", error=repr(error))
            await asyncio.sleep(parts.settings.poll)
