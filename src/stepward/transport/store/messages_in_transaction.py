"""Messages that are written in a transaction of the store, where the queues are in the same store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from stepward.model.messages.requests import MessageRow
from stepward.payload.sealed import PayloadCodec
from stepward.transport.contract import AgentMessage, Delivery, Transport
from stepward.transport.sealed_transport import SealedTransport, sealed
from stepward.transport.store.store_transport import StoreTransport


class JointCommits(Protocol):
    """What a transport in the store can do beside the verbs of every transport."""

    def rows(self, queue: str, messages: Sequence[AgentMessage]) -> list[MessageRow]:
        """The rows that ``publish`` would write, for a transaction of the caller; after it ``wake`` is to be called."""
        ...

    def wake(self) -> None:
        """Wake the waiting calls of this process: such a transaction has committed."""
        ...

    async def answer(
        self, queue: str, messages: Sequence[AgentMessage], asked: str, deliveries: Sequence[Delivery]
    ) -> None:
        """``publish``, and ``settle`` of deliveries of the queue ``asked``, in one transaction.

        Raises TransportError.
        """
        ...


@dataclass(frozen=True, slots=True)
class SealedJointCommits:
    """Encrypts what the messages carry, as ``SealedTransport`` does."""

    inner: StoreTransport
    codec: PayloadCodec

    def rows(self, queue: str, messages: Sequence[AgentMessage]) -> list[MessageRow]:
        return self.inner.rows(queue, [sealed(message, self.codec) for message in messages])

    def wake(self) -> None:
        self.inner.wake()

    async def answer(
        self, queue: str, messages: Sequence[AgentMessage], asked: str, deliveries: Sequence[Delivery]
    ) -> None:
        await self.inner.answer(queue, [sealed(message, self.codec) for message in messages], asked, deliveries)


def joint_commits(transport: Transport) -> JointCommits | None:
    """The joint commits of a transport in the store; None for others, and where large payloads go outside first."""
    if isinstance(transport, SealedTransport) and isinstance(transport.inner, StoreTransport):
        return SealedJointCommits(transport.inner, transport.codec)
    return transport if isinstance(transport, StoreTransport) else None
