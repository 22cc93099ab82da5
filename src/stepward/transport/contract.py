"""Queues between Schedulers and Agents: their messages are hints about the store, lost or doubled without harm."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from msgspec import Struct

from stepward.model.agents import AgentHealth
from stepward.model.messages.requests import Progress, Reply, Request

AgentMessage = Request | Reply | Progress
Revoked = Callable[[str, int, str], None]
"""Called with the task, run and key of a revoked step."""
Lost = Callable[[str | None], None]
"""Called with a queue whose messages are or may be lost; None for all queues."""
OnAnnouncement = Callable[[str, AgentHealth], None]
"""Called with a process that serves an Agent without access to the store, and the Agent's health."""


class Delivery(Struct, frozen=True, gc=False):
    """A message taken from a queue; ``token`` is the transport's own and settles it."""

    message: AgentMessage
    token: int
    leased_until: float = float("inf")
    """The end of its lease, by the store's clock, counted from before the transport asked."""


class Transport(Protocol):
    """The verbs of every transport; only ``take`` waits for messages."""

    async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
        """Append messages; a request expires at its complete_by. Raises TransportError."""
        ...

    async def take(self, queue: str, limit: int, lease: float) -> list[Delivery]:
        """Wait for messages and take from 1 to ``limit``; unsettled ones return after ``lease`` seconds."""
        ...

    async def settle(self, queue: str, deliveries: Sequence[Delivery]) -> None:
        """Acknowledge these messages: they never return."""
        ...

    async def extend(self, queue: str, deliveries: Sequence[Delivery], lease: float) -> Sequence[Delivery]:
        """Extend the leases of these; the tokens that were revoked or settled meanwhile, as far as known, which
        never return."""
        ...

    async def revoke(self, queue: str, task: str, run: int, key: str, attempt: int = 0) -> None:
        """Revoke a step: withdraw its request, and notify an Agent that works on it.

        ``attempt`` is the last that was requested; at a broker requests up to it are answered when they are taken. A
        reply with the outcome "gave up" tells the Scheduler that nothing of the step runs any more. Where a transport
        can neither withdraw nor notify, the Scheduler waits for the complete-by.
        """
        ...

    async def remind(self, queue: str) -> None:
        """Repeat this process's revocations for a queue to which an Agent has come, if the Agent cannot know them."""
        ...

    def on_revoke(self, queue: str, listener: Revoked) -> Callable[[], None]:
        """Call ``listener`` at every revocation in that queue, until the returned function is called."""
        ...

    def on_lost(self, listener: Lost) -> Callable[[], None]:
        """Call ``listener`` when published messages are lost, as far as that shows, until the returned function is
        called."""
        ...

    def expect(self, queue: str) -> None:
        """Emit ``transport.accepted`` once, when the queue works the next time, if it does not always work."""
        ...

    def on_announcement(self, listener: OnAnnouncement) -> Callable[[], None]:
        """Call ``listener`` for announcements of Agents in other languages, until the returned function is called."""
        ...

    async def adopt(self, queues: Collection[str], heir: str, live: Collection[str] | None = None) -> None:
        """Move the messages of dead instances' queues to the queue ``heir``; some may be left for the next call.

        With ``live``, the reply queues of all live Schedulers, other reply queues that a broker lists are emptied too:
        their Schedulers ended long ago, or their names are invented. Queues without consumers are deleted where they
        would remain.
        """
        ...

    async def release(self, queue: str) -> None:
        """Delete this process's own queue, unless it holds messages; this process takes no more from it."""
        ...

    async def close(self) -> None:
        """Release all resources."""
        ...
