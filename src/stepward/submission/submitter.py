"""The submission actor: takes messages from a queue, accepts them, and acknowledges those that are committed.

A message may come twice, and this process may crash at any point: the task's id is the message's, so that nothing is
done twice, and an unacknowledged message comes again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from stepward.clock import Environment
from stepward.errors import StoreUnusable, TransportError
from stepward.events import Observers
from stepward.submission.acceptance import Acceptance
from stepward.submission.message_results import Verdicts
from stepward.transport.queues.contract import AppQueues, Stored

BATCH = 500
"""Most messages of one transaction."""
LEASE = 15.0
"""The lease of a message in seconds, longer than a transaction may take: a second, and the last call of ``accept``.

After a crash of this instance, others get the message once the lease is over.
"""
QUEUE_PAUSE = 0.5


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
        self._draining = False
        self._idle = asyncio.Event()
        self._idle.set()

    async def run(self) -> None:
        """Take messages and make tasks of them until cancelled or drained."""
        while not self._draining:
            try:
                found = await self._queues.take(self._queue, BATCH, LEASE)
                self._idle.clear()
                self._failpoint("submission.take.after")
                await self._work(found)
            except TransportError as error:
                if isinstance(error.__cause__, StoreUnusable):
                    raise error.__cause__ from None
                self._observers.emit("submission.queue_failed", queue=self._queue, error=str(error))
                await asyncio.sleep(QUEUE_PAUSE)
            finally:
                self._idle.set()

    @property
    def is_draining(self) -> bool:
        """Whether it was asked to end."""
        return self._draining

    async def drain(self, grace: float) -> None:
        """Take no more messages, and let running work end within ``grace`` seconds."""
        self._draining = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._idle.wait()
        await self._acceptance.stop()

    async def _work(self, rest: Sequence[Stored]) -> None:
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
