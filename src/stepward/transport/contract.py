"""Queues between Schedulers and Agents: hints about what the store holds, lost or doubled without harm."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from msgspec import Struct

from stepward.model.agents import AgentHealth
from stepward.model.messages.requests import Progress, Reply, Request

AgentMessage = Request | Reply | Progress
Revoked = Callable[[str, int, str], None]
"""Told the task, run and key of a step that nobody waits for any more."""
Lost = Callable[[str | None], None]
"""Told a queue whose messages are lost, or may be; None for all queues."""
OnAnnouncement = Callable[[str, AgentHealth], None]
"""Told by which process an Agent is served that has no store to register in, and how it is doing there."""


class Delivery(Struct, frozen=True, gc=False):
    """A message taken from a queue; ``token`` is the transport's own and settles it."""

    message: AgentMessage
    token: int
    leased_until: float = float("inf")
    """Nobody else is given it before, by the store's clock, counted from before the transport asked."""


class Transport(Protocol):
    """What every transport does; ``take`` is the only verb that waits for messages."""

    async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
        """Append messages; a request expires at its complete_by. Raises TransportError."""
        ...

    async def take(self, queue: str, limit: int, lease: float) -> list[Delivery]:
        """Wait for messages and take from 1 to ``limit``; unsettled ones return after ``lease`` seconds."""
        ...

    async def settle(self, queue: str, deliveries: Sequence[Delivery]) -> None:
        """These were dealt with and never return."""
        ...

    async def extend(self, queue: str, deliveries: Sequence[Delivery], lease: float) -> Sequence[Delivery]:
        """Keep these for another ``lease`` seconds; those of them that were revoked or settled meanwhile, as far as
        the transport knows: they return to nobody."""
        ...

    async def revoke(self, queue: str, task: str, run: int, key: str, attempt: int = 0) -> None:
        """Nobody waits for that step any more: withdraw its request, and tell an Agent that works on it.

        ``attempt`` is the last that was asked for; at a broker requests up to that one are answered when they are
        taken. A reply that gave up tells the Scheduler that nothing of the step runs any more; a transport that cannot
        withdraw or tell leaves it to wait for the complete-by.
        """
        ...

    async def remind(self, queue: str) -> None:
        """An Agent has come to that queue: tell it what this process revoked there before, if it cannot know."""
        ...

    def on_revoke(self, queue: str, listener: Revoked) -> Callable[[], None]:
        """Tell ``listener`` of every revocation in that queue until the function returned is called."""
        ...

    def on_lost(self, listener: Lost) -> Callable[[], None]:
        """Tell ``listener`` when what was published is lost, as far as that shows, until the function returned is
        called."""
        ...

    def expect(self, queue: str) -> None:
        """Report, once, when the queue works the next time, if that is not always so: ``transport.accepted``."""
        ...

    def on_announcement(self, listener: OnAnnouncement) -> Callable[[], None]:
        """Tell ``listener`` of Agents in other languages, again and again, until the function returned is called."""
        ...

    async def adopt(self, queues: Collection[str], heir: str, live: Collection[str] | None = None) -> None:
        """Move what stands in the queues of dead instances to the queue ``heir``; some may be left for the next call.

        With ``live``, the reply queues of all live Schedulers, so is what stands in other reply queues that a broker
        lists: their Scheduler is long forgotten, or their name invented.

        Queues that nobody takes from any more are deleted where they would remain.
        """
        ...

    async def release(self, queue: str) -> None:
        """This process takes no more from a queue of its own: delete it where it would remain, unless it holds
        something."""
        ...

    async def close(self) -> None:
        """Let go of whatever is held."""
        ...
