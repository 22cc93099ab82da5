"""The submission actors of a process."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from stepward.client import Options, Preparation
from stepward.errors import StoreUnusable
from stepward.host.assembly import Parts
from stepward.model.messages.requests import submission_queue
from stepward.model.messages.status_events import refused_event
from stepward.model.records import Task
from stepward.model.tasks.key_rules import check_size_under_rule
from stepward.model.tasks.submit_options import SubmitOptions
from stepward.model.tracing.submission_span import linked
from stepward.submission import (
    Acceptance,
    Accepted,
    Message,
    MisplacedMessages,
    PartitionRouter,
    SubmissionQueue,
    Submitter,
)

QueueActor = Submitter | PartitionRouter


def queue_actors(parts: Parts) -> list[QueueActor]:
    """The actors of this process at the application's submission queues."""
    actors: list[QueueActor] = [submitter(parts, submission) for submission in parts.submissions]
    if parts.partition is not None and parts.brokered is not None:
        queues = [submission_queue(parts.app, submission.queue) for submission in parts.submissions]
        placed = parts.partition.placed
        actors += [PartitionRouter(parts.brokered, queue, placed, parts.observers) for queue in queues]
    return actors


def submitter(parts: Parts, submission: SubmissionQueue) -> Submitter:
    """The actor of one submission."""
    preparation = Preparation(
        parts.store.client, parts.app, parts.registry, parts.environment, parts.settings.payload_bytes
    )
    queue = submission_queue(parts.app, submission.queue)
    misplaced = MisplacedMessages(queue, parts.others, parts.others_queues, parts.observers)

    async def prepare(message: Message, accepted: Accepted) -> Task:
        misplaced.check(message, accepted)
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

    acceptance = Acceptance(
        submission,
        queue,
        transaction=parts.store.client.transaction,
        prepare=prepare,
        elsewhere=misplaced.elsewhere,
        plans=preparation.plans,
        stores=_stores(parts),
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


def _stores(parts: Parts) -> list[str]:
    """The identities of stores that a message may name: this one, and the application's first."""
    first = [] if parts.partition is None else [parts.partition.first]
    return [] if parts.signer is None else [parts.signer.store, *first]


async def keep(actor: QueueActor, parts: Parts) -> None:
    """Run it until cancelled; it holds no state beyond the queue's, so after a bug it pauses and goes on."""
    while not actor.is_draining:
        try:
            await actor.run()
        except StoreUnusable:
            raise
        except Exception as error:
            parts.observers.emit("submission.broke", error=repr(error))
            await asyncio.sleep(parts.settings.poll)
