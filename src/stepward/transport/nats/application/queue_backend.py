"""NATS as the backend of an application's own queues."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from nats.aio.client import Client
from nats.js.api import RetentionPolicy

from stepward.clock import Environment
from stepward.events import Observers
from stepward.transport.broker.queue_names import BrokerNames
from stepward.transport.nats.address import NatsAddress
from stepward.transport.nats.application.response_queue import NatsReading
from stepward.transport.nats.application.streams import AppStream
from stepward.transport.nats.application.work_queue import NatsTaking
from stepward.transport.nats.connection import NatsConnection
from stepward.transport.queues.backend_contract import RESPONSES, Posted

DAY = 86_400.0
MOST_POSTED = 100_000
"""Most messages of one submission queue."""
MOST_EVENTS = 10_000
"""Most broker messages of one response queue; further events wait in the store."""


class NatsQueues:
    """Implements ``QueueBackend``; ``now`` is the store's clock.

    Submissions are in one stream, from which settling deletes them; events are in another, which only settling changes.
    """

    name = "NATS"

    def __init__(
        self,
        address: NatsAddress,
        *,
        names: BrokerNames,
        now: Callable[[], float],
        environment: Environment,
        observers: Observers,
    ) -> None:
        self._root = names.root
        self._new_uid = environment.new_uid
        self._link = NatsConnection(address, names=names, opened=_nothing, environment=environment, observers=observers)
        self._posted = AppStream(
            self._link,
            f"{names.stream}+submissions",
            [f"{names.root}.submissions.*", f"{names.root}.letters.*"],
            retention=RetentionPolicy.WORK_QUEUE,
            max_age=None,
            most_messages=MOST_POSTED,
            now=now,
        )
        self._responses = AppStream(
            self._link,
            f"{names.stream}+responses",
            [f"{names.root}.responses.*"],
            retention=RetentionPolicy.LIMITS,
            max_age=7 * DAY,
            most_messages=MOST_EVENTS,
            now=now,
        )

    async def open(self) -> None:
        await self._link.open()
        await self._posted.open()
        await self._responses.open()

    @property
    def limit(self) -> int:
        return self._link.limit

    async def append(self, queue: str, posted: Posted) -> None:
        stream = self._responses if queue.startswith(RESPONSES) else self._posted
        await stream.append(queue, self._subject(queue), posted)

    async def nonempty(self, prefix: str, known: Collection[str]) -> Mapping[str, bool | None]:
        """The streams list the queues, and a response queue has a consumer while it is read."""
        stream = self._responses if prefix.startswith(RESPONSES) else self._posted
        beginning = self._subject(prefix)
        subjects = await stream.subjects(f"{beginning}*")
        served = await stream.consumed() if subjects and stream is self._responses else None
        return {
            prefix + subject.removeprefix(beginning).replace("=", "."): None if served is None else subject in served
            for subject in subjects
        }

    def work(self, queue: str) -> NatsTaking:
        return NatsTaking(self._posted, queue, self._subject(queue))

    def responses(self, queue: str, *, watches: bool) -> NatsReading:
        """An observer reads the stream as the reader does."""
        return NatsReading(self._responses, queue, self._subject(queue), self._new_uid, watches=watches)

    async def close(self) -> None:
        await self._link.close()

    def _subject(self, queue: str) -> str:
        kind, _, name = queue.split(".", 2)
        return f"{self._root}.{'responses' if kind == 'replies' else kind}.{token(name)}"


def token(name: str) -> str:
    """A queue's name as one token of a subject, in which dots separate; queue names have no equals sign."""
    return name.replace(".", "=")


async def _nothing(_: Client) -> None:
    return
