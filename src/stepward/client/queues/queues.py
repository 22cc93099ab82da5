"""The client of processes that know queues alone: they post submissions and read status events."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from stepward.client.queues.events import Readers, StatusEvents
from stepward.client.queues.posting import put_message
from stepward.client.queues.queue_backends import place_of
from stepward.client.submitting import act_arguments, submission_checks
from stepward.client.submitting.submission_checks import Id
from stepward.clock import Environment
from stepward.encryption import Encryption, codec_of
from stepward.errors import Refused
from stepward.large_payloads import LargePayloads, keeper_of
from stepward.model.messages.cloudevents import LONGEST_ATTRIBUTE
from stepward.model.tracing.submission_span import producing
from stepward.payload import PAYLOAD_BYTES
from stepward.store.contract import Store
from stepward.store.partitions.single_or_partitioned import is_address

NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")


class Queues:
    """An application's queues by their address; use it as ``async with Queues(address, app=name)``.

    With a broker they are the broker's (``nats://…``, ``amqp://…``, …), and no store is needed; else they stand in the
    state store, whose address this is. A store that is open already may be given in its place. What is posted names
    ``store_id``, the identity that ``stepward check`` shows, if one is given: another store refuses it. ``encryption``
    has the keys of an application whose payloads are encrypted; ``large_payloads`` says where it keeps its large ones.
    """

    def __init__(
        self,
        address: str | Sequence[str] | Store,
        *,
        app: str,
        store_id: str | None = None,
        environment: Environment | None = None,
        payload_bytes: int = PAYLOAD_BYTES,
        encryption: Encryption | None = None,
        large_payloads: LargePayloads | None = None,
    ) -> None:
        self._app = act_arguments.app_name(app)
        if not is_address(address) and not hasattr(address, "messages"):
            raise Refused(f"Queues: expected an address such as sqlite:///stepward.db, found {address!r:.80}")
        self._missing = "not entered yet; enter it first" if is_address(address) else None
        """What keeps it from being used, if anything."""
        if store_id is not None and not (isinstance(store_id, str) and 0 < len(store_id) <= LONGEST_ATTRIBUTE):
            raise Refused(f"Queues: expected the identity of a store, found {store_id!r:.80}; see stepward check")
        self._store_id = store_id
        self._environment = environment or Environment()
        self._limit = payload_bytes
        keeper = keeper_of(app, large_payloads, encrypts=encryption is not None, environment=self._environment)
        self._place = place_of(address, app, self._environment, codec_of(app, encryption), keeper)
        self._queues = self._place.queues
        self._readers = Readers(self._queues)

    async def __aenter__(self) -> Queues:
        await self._place.open()
        self._missing = None
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._missing = "closed; open another"
        await self._readers.close()
        await self._place.close()

    async def post(self, queue: str, data: Any, *, id: Id | None = None, reply_to: str | None = None) -> str:
        """Post a message to a submission queue; returns the message's id once it is durable.

        The id becomes the task's; a message that is posted again under it is accepted once. The task's status events
        are sent to ``reply_to``, a private response queue. Raises Refused for a message that no submission accepts or
        that is too large for a broker; TransportError while the queue cannot be reached.
        """
        self._check_entered()
        if not isinstance(queue, str) or not NAME.fullmatch(queue):
            raise Refused(f"queue: expected a name of 1 to 100 of A-Z a-z 0-9 _ . -, found {str(queue)[:60]!r}")
        known = self._environment.new_uid() if id is None else submission_checks.task_id(id)
        with producing(f"post {queue}"):
            return await self._posted(queue, known, data, reply_to)

    async def _posted(self, queue: str, known: str, data: Any, reply_to: str | None) -> str:
        await put_message(
            self._queues,
            self._app,
            queue,
            data,
            id=known,
            at=self._place.now(),
            limit=self._limit,
            replyto=submission_checks.reply_queue(reply_to, self._app),
            store_id=self._store_id,
        )
        return known

    def events(self, queue: str) -> StatusEvents:
        """The status events of a private response queue, from where its last reader left off."""
        self._check_entered()
        return self._readers.open(submission_checks.own_queue(queue, self._app))

    def watch(self, queue: str) -> StatusEvents:
        """As ``events``, without settling: the reader's position stays, and events that the reader has settled are not
        seen.

        On RabbitMQ only events that are sent from then on are seen.
        """
        self._check_entered()
        return StatusEvents(self._queues, submission_checks.own_queue(queue, self._app), watches=True)

    def _check_entered(self) -> None:
        if self._missing is not None:
            raise Refused(f"Queues: expected use within `async with Queues(…) as queues`, found it {self._missing}")
