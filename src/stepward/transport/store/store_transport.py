"""Queues in the state store, for Agents in other processes without a broker."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from os.path import commonprefix

import msgspec

from stepward.events import Observers
from stepward.model.messages.change_kinds import EVERYTHING, Kinds
from stepward.model.messages.requests import MessageRow, Request
from stepward.payload import cause
from stepward.transport.contract import AgentMessage, Delivery, Lost, OnAnnouncement, Revoked
from stepward.transport.queues.contract import Stored
from stepward.transport.store.store_queues import Messages, StoreQueues


class StoreTransport:
    """Requests and replies as JSON in queues of the store.

    A waiting call reads again when this object puts something, when ``wake`` is called, when ``hint`` says that the
    store changed, and every ``poll`` seconds. A body that is no message becomes a dead letter and emits
    ``transport.dead_letter``.
    """

    def __init__(
        self,
        messages: Messages,
        *,
        poll: float,
        hint: Callable[[], bool] | None,
        observers: Observers | None = None,
    ) -> None:
        self._queues = StoreQueues(messages, poll=poll, hint=hint)
        self._observers = observers if observers is not None else Observers()
        self._encoder = msgspec.json.Encoder()
        self._decoder: msgspec.json.Decoder[AgentMessage] = msgspec.json.Decoder(AgentMessage)
        self._listeners: dict[str, list[Revoked]] = {}

    def wake(self, kinds: Kinds = EVERYTHING) -> None:
        """Wake all calls that wait for messages of these kinds: the store changed."""
        self._queues.wake(kinds)

    async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
        await self._queues.put(queue, self._bodies(messages))

    def rows(self, queue: str, messages: Sequence[AgentMessage]) -> list[MessageRow]:
        """The rows that ``publish`` would write, for a transaction of the store."""
        return [(queue, body, expires_at) for body, expires_at in self._bodies(messages)]

    async def answer(
        self, queue: str, messages: Sequence[AgentMessage], asked: str, deliveries: Sequence[Delivery]
    ) -> None:
        """``publish``, and ``settle`` of deliveries of the queue ``asked``, in one transaction."""
        await self._queues.answer(queue, self._bodies(messages), asked, [delivery.token for delivery in deliveries])

    async def take(self, queue: str, limit: int, lease: float) -> list[Delivery]:
        while True:
            stored = await self._queues.take(queue, limit, lease)
            if found := await self._read(queue, stored):
                return found

    async def settle(self, queue: str, deliveries: Sequence[Delivery]) -> None:
        await self._queues.settle(queue, [delivery.token for delivery in deliveries])

    async def extend(self, queue: str, deliveries: Sequence[Delivery], lease: float) -> Sequence[Delivery]:
        """Returns what other processes revoked."""
        gone = set(await self._queues.renew(queue, [delivery.token for delivery in deliveries], lease))
        return [delivery for delivery in deliveries if delivery.token in gone]

    async def revoke(self, queue: str, task: str, run: int, key: str, attempt: int = 0) -> None:
        """Withdraw the request and notify the Agents of this process; another that has it notices when it extends its
        lease.

        A withdrawn request that no Agent has taken is answered as never begun.
        """
        self._queues.check_open(queue)
        for listener in tuple(self._listeners.get(queue, ())):
            listener(task, run, key)
        withdrawn = await self._queues.withdraw(queue, *self._asking(task, run, key))
        if not any(stored.tries for stored in withdrawn):
            for stored in withdrawn:
                await self._answer_unbegun(stored.body)

    async def remind(self, queue: str) -> None:
        """Nothing to repeat: revoked requests were withdrawn."""

    def on_revoke(self, queue: str, listener: Revoked) -> Callable[[], None]:
        listeners = self._listeners.setdefault(queue, [])
        listeners.append(listener)
        return lambda: listeners.remove(listener)

    def on_lost(self, listener: Lost) -> Callable[[], None]:
        """Never calls the listener: these messages are lost only with the store."""
        return lambda: None

    def expect(self, queue: str) -> None:
        """Nothing to report: a refusal of the store concerns no single queue."""

    def on_announcement(self, listener: OnAnnouncement) -> Callable[[], None]:
        """Never calls the listener: a process that reaches these queues registers itself in the store."""
        return lambda: None

    async def adopt(self, queues: Collection[str], heir: str, live: Collection[str] | None = None) -> None:
        """One query finds the non-empty queues."""
        left = set(queues) - {heir}
        if not left:
            return
        beginning = commonprefix(sorted(left))  # noqa: RUF071  names are no paths
        for queue in sorted(left & (await self._queues.nonempty(beginning, ())).keys()):
            await self._queues.adopt(queue, heir)

    async def release(self, queue: str) -> None:
        """Nothing to delete: an empty queue has no rows."""

    async def close(self) -> None:
        """Refuse all further calls and end the waiting takes; the store stays open."""
        await self._queues.close()

    def _bodies(self, messages: Sequence[AgentMessage]) -> list[tuple[bytes, float | None]]:
        return [(self._encoder.encode(message), _expires_at(message)) for message in messages]

    def _asking(self, task: str, run: int, key: str) -> tuple[bytes, bytes]:
        """The beginning of that step's requests, and a part of them: this class writes the text."""
        encode = self._encoder.encode
        return b'{"type":"request","task":%b,' % encode(task), b',"run":%d,"key":%b,' % (run, encode(key))

    async def _answer_unbegun(self, body: bytes) -> None:
        request = self._decoder.decode(body)
        if isinstance(request, Request):
            await self.publish(request.reply_to, [request.never_began()])

    async def _read(self, queue: str, stored: Sequence[Stored]) -> list[Delivery]:
        found: list[Delivery] = []
        dead: list[tuple[int, str]] = []
        for item in stored:
            try:
                found.append(Delivery(self._decoder.decode(item.body), item.token, item.taken_until))
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                dead.append((item.token, f"expected a request or a reply, found {cause(error)}"))
                start = item.body[:200].decode(errors="replace")
                self._observers.emit("transport.dead_letter", queue=queue, error=str(error), start=start)
        if dead:
            await self._queues.bury(queue, dead)
        return found


def _expires_at(message: AgentMessage) -> float | None:
    return message.complete_by if isinstance(message, Request) else None
