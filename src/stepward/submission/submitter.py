"""The submission actor: what a message asks for and its task are written in one transaction, acknowledged after it.

A message may come twice, or this process die anywhere: the task's id is the message's, so that nothing is done
twice, and what was not acknowledged comes again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager

from stepward.clock import Environment
from stepward.errors import InvalidPayload, Refused, StoreError, TransportError, message_of
from stepward.events import Observers
from stepward.model.cloudevents import decode_event
from stepward.model.containment import contained
from stepward.model.records import Task
from stepward.policies import grown
from stepward.store.contract import Transaction
from stepward.submission.declaration import Accepted, Message, Submission
from stepward.transport.queues import AppQueues, Stored

BATCH = 500
"""Messages of one transaction."""
LEASE = 60.0
"""Seconds for which a message is this instance's; when it dies, others have it after that."""
ACCEPT_SECONDS = 10.0
"""How long the application may take over one message: it holds up the store's other writers."""
MOST_TRIES = 5
FIRST_DELAY, LONGEST_DELAY = 1.0, 60.0
STORE_PAUSE = 0.2
STORE_TRIES = 3

Prepare = Callable[[Message, Accepted], Awaitable[Task]]
"""Makes the task record that an accepted message asks for. Raises Refused for what does not fit."""


class Verdicts:
    """What becomes of the messages of one transaction."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.done: list[int] = []
        self.dead: list[tuple[int, str]] = []
        self.later: list[tuple[int, float]] = []
        """Tokens of messages to be tried again, with the seconds until then."""


class Submitter:
    """One instance of a submission."""

    def __init__(
        self,
        submission: Submission,
        queues: AppQueues,
        queue: str,
        *,
        transaction: Callable[[], AbstractAsyncContextManager[Transaction]],
        prepare: Prepare,
        submitted: Callable[[], None],
        environment: Environment,
        observers: Observers,
    ) -> None:
        self._submission = submission
        self._queues = queues
        self._queue = queue
        self._transaction = transaction
        self._prepare = prepare
        self._submitted = submitted
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
                await self._work(found)
            except TransportError as error:
                self._observers.tell("submission.queue_failed", queue=self._queue, error=str(error))
                await asyncio.sleep(STORE_PAUSE)
            finally:
                self._idle.set()

    @property
    def is_draining(self) -> bool:
        """Whether it was told to end."""
        return self._draining

    async def drain(self, grace: float) -> None:
        """Take nothing new, and let what is under way end within ``grace`` seconds."""
        self._draining = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._idle.wait()

    async def _work(self, found: Sequence[Stored]) -> None:
        self._failpoint("M1.after")
        first = [stored for stored in found if stored.tries == 1]
        if first:
            await self._submit(first)
        for stored in found:
            # Alone, or what ends the process at each try would take its neighbours along.
            if stored.tries > 1:
                await self._submit([stored])

    async def _submit(self, found: Sequence[Stored]) -> None:
        verdicts = await self._until_stored(found)
        self._failpoint("M3.before")
        if verdicts.tasks:
            self._submitted()
        if verdicts.done:
            await self._queues.settle(self._queue, verdicts.done)
        if verdicts.dead:
            self._observers.tell("submission.refused", queue=self._queue, reasons=[why for _, why in verdicts.dead])
            await self._queues.bury(self._queue, verdicts.dead)
        for token, delay in verdicts.later:
            await self._queues.extend(self._queue, [token], delay)
        self._failpoint("M3.after")

    async def _until_stored(self, found: Sequence[Stored]) -> Verdicts:
        """Write what is accepted; what a commit of unknown outcome wrote is known at the next try.

        A message may itself be what spoils the transaction: in the end they all come again, one by one.
        """
        for _ in range(STORE_TRIES):
            try:
                return await self._store(found)
            except StoreError as error:
                self._observers.tell("store.unavailable", error=str(error))
                await asyncio.sleep(STORE_PAUSE)
        verdicts = Verdicts()
        verdicts.later = [(stored.token, FIRST_DELAY) for stored in found]
        return verdicts

    async def _store(self, found: Sequence[Stored]) -> Verdicts:
        verdicts = Verdicts()
        messages = self._read(found, verdicts)
        if not messages:
            return verdicts
        async with self._transaction() as transaction:
            known = await transaction.known([message.id for _, message in messages])
            for stored, message in messages:
                if message.id in known:
                    self._observers.tell("submission.duplicate", queue=self._queue, id=message.id)
                    verdicts.done.append(stored.token)
                else:
                    known.add(message.id)
                    await self._consider(stored, message, transaction, verdicts)
            await transaction.submit(verdicts.tasks)
            self._failpoint("M2.before")
        self._failpoint("M2.after")
        return verdicts

    def _read(self, found: Sequence[Stored], verdicts: Verdicts) -> list[tuple[Stored, Message]]:
        messages = []
        for stored in found:
            try:
                message = Message(decode_event(stored.body), stored.tries)
            except InvalidPayload as error:
                verdicts.dead.append((stored.token, str(error)))
                continue
            if stored.tries > MOST_TRIES:
                reason = f"message {message.id!r}: taken {MOST_TRIES} times, and each time the process ended or failed"
                verdicts.dead.append((stored.token, reason))
            else:
                messages.append((stored, message))
        return messages

    async def _consider(self, stored: Stored, message: Message, transaction: Transaction, verdicts: Verdicts) -> None:
        try:
            async with transaction.savepoint(), asyncio.timeout(ACCEPT_SECONDS):
                with contained:
                    accepted = await self._submission.accept(message, transaction)
                verdicts.tasks.append(await self._prepare(message, _checked(accepted, self._queue)))
            verdicts.done.append(stored.token)
        except Refused as error:
            verdicts.dead.append((stored.token, message_of(error)))
        except StoreError:
            raise
        except (Exception, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            self._fail(stored, message, error, verdicts)

    def _fail(self, stored: Stored, message: Message, error: BaseException, verdicts: Verdicts) -> None:
        """Perhaps it is a matter of time; after the last try it is not."""
        why = f"{type(error).__name__}: {message_of(error)}"
        self._observers.tell("submission.failed", queue=self._queue, id=message.id, error=why, tries=stored.tries)
        if stored.tries >= MOST_TRIES:
            verdicts.dead.append((stored.token, f"message {message.id!r}: failed {MOST_TRIES} times, at last: {why}"))
        else:
            verdicts.later.append((stored.token, grown(FIRST_DELAY, 2.0, LONGEST_DELAY, stored.tries)))


def _checked(accepted: object, queue: str) -> Accepted:
    if not isinstance(accepted, Accepted):
        raise TypeError(f"submission {queue}: expected accept to return an Accepted, found {accepted!r:.100}")
    return accepted
