"""Queues in the state store, for Agents in other processes without a broker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from stepward.errors import StoreError, TransportError
from stepward.events import Observers
from stepward.model.messages import Request
from stepward.transport.bell import Bell
from stepward.transport.contract import Delivery, Message, Revoked


class Stored(Protocol):
    """A message as the store gives it."""

    @property
    def token(self) -> int:
        """What settles it."""
        ...

    @property
    def body(self) -> bytes:
        """What was put."""
        ...


class Messages(Protocol):
    """The queues of a state store, as this transport needs them; the store's contract says more."""

    def now(self) -> float:
        """The store's clock."""
        ...

    async def put(self, queue: str, bodies: Sequence[tuple[bytes, float | None]]) -> None:
        """Append messages with the instants at which they expire."""
        ...

    async def take(self, queue: str, limit: int, lease: float) -> Sequence[Stored]:
        """Take messages without waiting for any."""
        ...

    async def settle(self, queue: str, tokens: Sequence[int]) -> None:
        """Delete messages."""
        ...

    async def extend(self, queue: str, tokens: Sequence[int], lease: float) -> None:
        """Keep messages taken."""
        ...

    async def adopt(self, queue: str, heir: str) -> int:
        """Move a queue."""
        ...


class StoreTransport:
    """Every verb of the contract on ``messages``.

    A ``take`` looks again when this transport publishes, when the host calls ``wake``, when ``hint`` says
    that the store changed, and every ``poll`` seconds. A body that is no message is settled and told as
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
        self._messages = messages
        self._bell = Bell(poll, hint)
        self._observers = observers if observers is not None else Observers()
        self._encoder = msgspec.json.Encoder()
        self._decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)
        self._listeners: dict[str, list[Revoked]] = {}
        self._closed = False

    def wake(self) -> None:
        """The store changed: whoever waits looks again."""
        self._bell.ring()

    async def publish(self, queue: str, messages: Sequence[Message]) -> None:
        """See ``Transport.publish``."""
        self._check_open(queue)
        bodies = [(self._encoder.encode(message), _expires_at(message)) for message in messages]
        try:
            await self._messages.put(queue, bodies)
        except StoreError as error:
            raise _unreachable(queue, error) from error
        self._bell.ring()

    async def take(self, queue: str, limit: int, lease: float) -> list[Delivery]:
        """See ``Transport.take``."""
        while True:
            self._check_open(queue)
            rung = self._bell.rung
            until = self._messages.now() + lease
            try:
                stored = await self._messages.take(queue, limit, lease)
            except StoreError as error:
                raise _unreachable(queue, error) from error
            if found := await self._read(queue, stored, until):
                return found
            if not stored:
                await self._bell.heard(rung)

    async def settle(self, queue: str, deliveries: Sequence[Delivery]) -> None:
        """See ``Transport.settle``."""
        await self._settle(queue, [delivery.token for delivery in deliveries])

    async def extend(self, queue: str, deliveries: Sequence[Delivery], lease: float) -> None:
        """See ``Transport.extend``."""
        self._check_open(queue)
        try:
            await self._messages.extend(queue, [delivery.token for delivery in deliveries], lease)
        except StoreError as error:
            raise _unreachable(queue, error) from error

    async def revoke(self, queue: str, task: str, run: int, key: str) -> None:
        """Tell the Agents of this process; those of others stop at their complete-by."""
        self._check_open(queue)
        for listener in tuple(self._listeners.get(queue, ())):
            listener(task, run, key)

    def on_revoke(self, queue: str, listener: Revoked) -> Callable[[], None]:
        """See ``Transport.on_revoke``."""
        listeners = self._listeners.setdefault(queue, [])
        listeners.append(listener)
        return lambda: listeners.remove(listener)

    async def adopt(self, queue: str, heir: str) -> None:
        """See ``Transport.adopt``."""
        self._check_open(queue)
        try:
            await self._messages.adopt(queue, heir)
        except StoreError as error:
            raise _unreachable(queue, error) from error
        self._bell.ring()

    async def close(self) -> None:
        """Refuse everything from now on, and end the takes that wait; the store is its owner's to close."""
        self._closed = True
        self._bell.ring()

    async def _read(self, queue: str, stored: Sequence[Stored], until: float) -> list[Delivery]:
        found: list[Delivery] = []
        dead: list[int] = []
        for item in stored:
            try:
                found.append(Delivery(self._decoder.decode(item.body), item.token, until))
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                dead.append(item.token)
                start = item.body[:200].decode(errors="replace")
                self._observers.tell("transport.dead_letter", queue=queue, error=str(error), start=start)
        if dead:
            await self._settle(queue, dead)
        return found

    async def _settle(self, queue: str, tokens: Sequence[int]) -> None:
        self._check_open(queue)
        try:
            await self._messages.settle(queue, tokens)
        except StoreError as error:
            raise _unreachable(queue, error) from error

    def _check_open(self, queue: str) -> None:
        if self._closed:
            raise TransportError(f"queue {queue}: expected an open transport, found it closed; open another")


def _expires_at(message: Message) -> float | None:
    return message.complete_by if isinstance(message, Request) else None


def _unreachable(queue: str, error: StoreError) -> TransportError:
    return TransportError(f"queue {queue}: expected the store to take or give messages, found: {error}")
