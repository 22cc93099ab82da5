"""Links of a connection, each in a session of its own: a broker may end the session with a refusal of one link."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from cproton_ffi import ffi, lib
from proton import Condition, Delivery, Receiver, Sender, Session

from stepward.transport.amqp10.protocol.faults import AmqpFault, fault
from stepward.transport.amqp10.protocol.messages import Arrived, Asked, Sent, decoded

ENDED = "the link has ended"


class Touches(Protocol):
    """The connection of a link."""

    @property
    def is_counted(self) -> bool:
        """Whether the broker counts deliveries."""
        ...

    @property
    def adds_credit(self) -> bool:
        """Whether credit may be added to credit that is left."""
        ...

    def touch(self) -> None:
        """Send what the engine has to send, soon."""
        ...

    def leave(self, session: Session) -> None:
        """End the session of a link that is closed."""
        ...


class AmqpEndpoint:
    """A link that is opening, open, or ended."""

    def __init__(self, line: Touches, link: Sender | Receiver) -> None:
        self._line = line
        self._link = link
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.why: AmqpFault | None = None
        """The reason for its end; None while it has not ended."""

    @property
    def is_open(self) -> bool:
        """Whether it can be used."""
        return self.why is None and self._opened.done()

    @property
    def session(self) -> Session:
        """Its session."""
        return self._link.session

    @property
    def properties(self) -> Mapping[Any, Any]:
        """Properties that the peer attached."""
        return self._link.remote_properties or {}

    @property
    def largest(self) -> int:
        """Most bytes of a message; 0 for no limit."""
        return int(self._link.remote_max_message_size)

    async def opened(self) -> None:
        """Wait until the peer has answered. Raises AmqpFault."""
        await asyncio.shield(self._opened)

    def close(self) -> None:
        """End the link with its session: at RabbitMQ what it has not settled returns with the session's end."""
        if self.why is not None:
            return
        self.end(AmqpFault(ENDED))
        self._link.close()
        self._line.leave(self._link.session)

    def attached(self) -> None:
        """The peer has answered; an answer without a place announces the refusal that follows."""
        if self._is_refused():
            return
        if not self._opened.done():
            self._opened.set_result(None)

    def end(self, why: AmqpFault) -> None:
        """It has ended."""
        if self.why is None:
            self.why = why
        if not self._opened.done():
            self._opened.set_exception(self.why)
            self._opened.exception()  # The opening task may have given up.

    def ended(self, condition: Condition | None) -> None:
        """The peer has ended it."""
        self.end(fault(condition, ENDED))

    def _is_refused(self) -> bool:
        raise NotImplementedError


class SendingLink(AmqpEndpoint):
    """Sends messages, each confirmed by the broker."""

    _link: Sender

    def __init__(self, line: Touches, link: Sender) -> None:
        super().__init__(line, link)
        self._tags = itertools.count(1)
        self._unconfirmed: dict[str, asyncio.Future[None]] = {}

    def put(self, message: Sent | Asked) -> asyncio.Future[None]:
        """Send; the result comes with the broker's confirmation, or AmqpFault."""
        confirmed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.why is not None:
            confirmed.set_exception(self.why)
            return confirmed
        tag = str(next(self._tags))
        self._link.delivery(tag)
        self._link.stream(message.encoded())
        self._link.advance()
        self._unconfirmed[tag] = confirmed
        self._line.touch()
        return confirmed

    def confirmed(self, delivery: Delivery) -> None:
        """The broker says what became of a message."""
        state = delivery.remote_state
        if not state and not delivery.settled:
            return
        found = self._unconfirmed.pop(str(delivery.tag), None)
        condition = delivery.remote.condition if state == Delivery.REJECTED else None
        delivery.settle()
        if found is None or found.done():
            return
        if state == Delivery.ACCEPTED:
            found.set_result(None)
        else:
            found.set_exception(fault(condition, f"the broker did not take the message: {_name(state)}"))

    def end(self, why: AmqpFault) -> None:
        super().end(why)
        waiting, self._unconfirmed = self._unconfirmed, {}
        for each in waiting.values():
            if not each.done():
                each.set_exception(why)
                each.exception()  # The sending task may have given up.

    def _is_refused(self) -> bool:
        return self._link.remote_target.address is None


class Received:
    """A message that is not settled, and the link that it came over."""

    __slots__ = ("_delivery", "link", "message")

    def __init__(self, link: ReceivingLink, delivery: Delivery, message: Arrived) -> None:
        self.link = link
        self._delivery = delivery
        self.message = message

    @property
    def tag(self) -> bytes:
        """The bytes of the delivery's tag, which Proton's own property reads as UTF-8."""
        tag = lib.pn_delivery_tag(self._delivery._impl)
        return bytes(ffi.unpack(tag.start, tag.size))

    def settle(self, state: int) -> None:
        """Say what became of it, unless its link has ended: then the broker gives it to another."""
        if self.link.why is None:
            self._delivery.update(state)
            self._delivery.settle()
            self.link.settled(self)

    def accept(self) -> None:
        """It is done, and never returns."""
        self.settle(Delivery.ACCEPTED)

    def release(self) -> None:
        """The broker may give it to another at once."""
        self.settle(Delivery.RELEASED)


class ReceivingLink(AmqpEndpoint):
    """Receives messages as far as it has given credit for; ``on_message`` is called with each."""

    _link: Receiver

    def __init__(self, line: Touches, link: Receiver, on_message: Callable[[Received], None]) -> None:
        super().__init__(line, link)
        self._on_message = on_message
        self._parts = bytearray()
        self._later = 0
        """Credit to give once none is left, at a broker that adds none."""
        self.unsettled: dict[Received, None] = {}
        """What it has received and not settled, oldest first."""
        self.on_end: Callable[[], None] = lambda: None

    @property
    def credit(self) -> int:
        """How many more messages the broker may send."""
        return int(self._link.credit) + self._later

    def allow(self, count: int) -> None:
        """Let the broker send up to ``count`` further messages."""
        if self.why is None and count > 0:
            self._later += count
            self._give_credit()

    def withdraw(self) -> None:
        """Take the credit back; a message that is on its way still arrives.

        A broker that adds none would keep back what it has chosen for this link meanwhile: there the credit stays.
        """
        self._later = 0
        if self.why is None and self._line.adds_credit and self._link.credit > 0:
            self._link.flow(-self._link.credit)
            self._line.touch()

    def settled(self, received: Received) -> None:
        """One of its messages is settled."""
        self.unsettled.pop(received, None)
        self._line.touch()

    def came(self, delivery: Delivery) -> None:
        """Bytes of a message are there; what still comes over a link that has ended is the broker's again."""
        if not delivery.readable or self.why is not None:
            return
        found = self._link.recv(delivery.pending)
        if delivery.aborted:
            self._parts.clear()
            delivery.settle()
            self._link.advance()
            return
        if delivery.partial:
            self._parts += found or b""
            return
        data = bytes(self._parts + (found or b"")) if self._parts else found or b""
        self._parts.clear()
        self._link.advance()
        received = Received(self, delivery, decoded(data, is_counted=self._line.is_counted))
        self.unsettled[received] = None
        self._on_message(received)
        self._give_credit()

    def end(self, why: AmqpFault) -> None:
        if self.why is not None:
            return
        super().end(why)
        self.unsettled.clear()
        self.on_end()

    def _give_credit(self) -> None:
        if self.why is None and self._later and (self._line.adds_credit or self._link.credit <= 0):
            self._link.flow(self._later)
            self._later = 0
            self._line.touch()

    def _is_refused(self) -> bool:
        return self._link.remote_source.address is None


def _name(state: int) -> str:
    return getattr(state, "name", str(state)).lower()
