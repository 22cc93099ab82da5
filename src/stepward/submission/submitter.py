"""The submission actor: takes messages from a queue, accepts them, and acknowledges those that are committed.

A message may come twice, and this process may crash at any point: the task's id is the message's, so that nothing is
done twice, and an unacknowledged message comes again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stepward.clock import Environment
from stepward.events import Observers
from stepward.submission.acceptance import Acceptance
from stepward.submission.message_results import Verdicts
from stepward.submission.queue_consumption import QueueConsumption
from stepward.transport.queues.contract import AppQueues, Stored

BATCH = 500
"""Most messages of one transaction."""
LEASE = 15.0
"""The lease of a message in seconds, longer than a transaction may take: a second, and the last call of ``accept``.

After a crash of this instance, others get the message once the lease is over.
"""


class Submitter:
    """One instance of a submission."""

    def __init__(
        self,
        acceptance: Acceptance,
        queues: AppQueues,
        queue: str,
        *,
        submitted: Callable[[], None],
        refused: Callable[[bytes, str], tuple[str, bytes] | None],
        environment: Environment,
        observers: Observers,
    ) -> None:
        self._acceptance = acceptance
        self._queues = queues
        self._queue = queue
        self._submitted = submitted
        self._refused = refused
        self._failpoint = environment.failpoint
        self._observers = observers
        self._consumption = QueueConsumption(
            queues, queue, batch=BATCH, lease=LEASE, work=self._work, observers=observers
        )
        self.run = self._consumption.run

    @property
    def is_draining(self) -> bool:
        """Whether it was asked to end."""
        return self._consumption.is_draining

    async def drain(self, grace: float) -> None:
        """Take no more messages, and let running work end within ``grace`` seconds."""
        await self._consumption.drain(grace)
        await self._acceptance.stop()

    async def _work(self, rest: Sequence[Stored]) -> None:
        self._failpoint("submission.take.after")
        while rest:
            verdicts = await self._acceptance.accept(_together(rest))
            self._failpoint("submission.acknowledge.before")
            await self._acknowledge(verdicts)
            self._failpoint("submission.acknowledge.after")
            rest = rest[verdicts.count :]
            if rest:
                await self._queues.extend(self._queue, [stored.token for stored in rest], LEASE)

    async def _acknowledge(self, verdicts: Verdicts) -> None:
        if verdicts.accepted:
            self._submitted()
        if verdicts.done:
            await self._queues.settle(self._queue, verdicts.done)
        if verdicts.dead:
            reasons = [reason for _, reason in verdicts.dead]
            self._observers.emit("submission.dead_letter", queue=self._queue, reasons=reasons)
            await self._bury(verdicts.dead)
        for delay, tokens in verdicts.later.items():
            await self._queues.extend(self._queue, tokens, delay)

    async def _bury(self, dead: Sequence[tuple[Stored, str]]) -> None:
        """The event for a refused message's response queue, appended in the commit that moves the message to the
        dead letters."""
        dead_letters = [(stored.token, reason) for stored, reason in dead]
        events = {stored.token: event for stored, reason in dead if (event := self._refused(stored.body, reason))}
        await self._queues.bury(self._queue, dead_letters, events)
        if events:
            self._submitted()


def _together(found: Sequence[Stored]) -> Sequence[Stored]:
    """Messages at the front that share a transaction: one that returned is alone, because it may have crashed its
    last consumer."""
    return found[: next((n for n, stored in enumerate(found) if stored.tries > 1), len(found)) or 1]
