"""Queues of this process that take messages by a plain call, beside the verbs of their transport."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from stepward.transport.contract import AgentMessage, Delivery, Transport


class DirectQueue(Protocol):
    """What ``publish`` and ``settle`` do with one queue."""

    @property
    def taken(self) -> dict[int, Delivery]:
        """The deliveries that are not settled, by token; what is removed is settled."""
        ...

    def append(self, messages: Iterable[AgentMessage]) -> None:
        """Put messages behind those of their priority. Raises TransportError."""
        ...


class DirectQueues(Protocol):
    """The queues by name."""

    def __getitem__(self, name: str, /) -> DirectQueue:
        """Raises TransportError if the transport is closed."""
        ...


@runtime_checkable
class DirectTransport(Protocol):
    """A transport that may offer such queues."""

    def direct_queues(self) -> DirectQueues | None:
        """The queues; None where only the verbs may be used."""
        ...


def direct_queues(transport: Transport) -> DirectQueues | None:
    """The queues that a transport offers for plain calls; None if it offers none."""
    return transport.direct_queues() if isinstance(transport, DirectTransport) else None
