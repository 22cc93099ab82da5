"""Acceptance: the application's rows of a message and its task, each pair in a savepoint of one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

from stepward.clock import Environment
from stepward.error_messages import message_of, named
from stepward.errors import Refused, StoreError, StoreUnusable, Unacceptable
from stepward.events import Observers
from stepward.model.application_calls import failure_of
from stepward.model.messages.cloudevents import CloudEvent, decode_event
from stepward.model.pipeline_plan import Plans
from stepward.model.records import Task
from stepward.model.tasks.key_rules import KeyRule
from stepward.payload import check_size
from stepward.store.contract import Submitted, Transaction
from stepward.submission.accept_calls import AcceptCalls
from stepward.submission.declaration import Accepted, Message, SubmissionQueue
from stepward.submission.message_results import MOST_TRIES, Verdicts, is_worn_out
from stepward.transport.queues.contract import Stored

TRANSACTION_SECONDS = 1.0
"""Seconds after which a transaction takes no more messages: the store's other writers wait for it."""
STORE_TRIES = 3
STORE_PAUSE = 0.2

Prepare = Callable[[Message, Accepted], Awaitable[Task]]
"""Makes the task record of an accepted message. Raises Refused for invalid input."""


class PlacedElsewhere(NamedTuple):
    """The ids of messages that begin no task in this store."""

    over: Collection[str]
    """Passed on to another store, or duplicates of tasks there."""
    waiting: Collection[str]
    """For another store that takes none at present."""


FindElsewhere = Callable[[Mapping[str, Stored]], Awaitable[PlacedElsewhere]]
"""Finds these among messages by id. Raises StoreUnavailable."""
Judged = Message | Refused
"""A message, or the reason why the body is none."""


class _IdIsTaken(Exception):
    """The task with the message's id exists already."""


class Acceptance:
    """Makes tasks of one submission's messages; the caller settles them or moves them to the dead letters."""

    def __init__(
        self,
        submission: SubmissionQueue,
        queue: str,
        *,
        transaction: Callable[[], AbstractAsyncContextManager[Transaction]],
        prepare: Prepare,
        elsewhere: FindElsewhere,
        plans: Plans,
        stores: Collection[str],
        environment: Environment,
        observers: Observers,
        payload_bytes: int,
    ) -> None:
        self._queue = queue
        self._calls = AcceptCalls(submission.accept)
        self._transaction = transaction
        self._prepare = prepare
        self._elsewhere = elsewhere
        self._plans = plans
        self._stores = stores
        """The identities of stores that a message may name, its own first; none in the simulation."""
        self._clock = environment.clock
        self._failpoint = environment.failpoint
        self._observers = observers
        self._limit = payload_bytes

    async def accept(self, found: Sequence[Stored]) -> Verdicts:
        """Write the accepted messages; the result of an unknown commit shows at the next try.

        An unavailable store is waited for. But a message may be what breaks the transaction: then all of them come
        again, each alone.
        """
        spoiled = 0
        while True:
            verdicts = Verdicts()
            try:
                await self._write(found, verdicts)
                return verdicts
            except StoreUnusable:
                raise
            except StoreError as error:
                self._observers.emit("store.unavailable", error=str(error))
                spoiled += verdicts.count > 0
                if spoiled == STORE_TRIES:
                    return self._spoiled(found, error)
            await asyncio.sleep(STORE_PAUSE)

    async def stop(self) -> None:
        """Abandon calls that do not end."""
        await self._calls.stop()

    async def _write(self, found: Sequence[Stored], verdicts: Verdicts) -> None:
        messages = [self._read(stored) for stored in found]
        by_id = {each.id: stored for stored, each in zip(found, messages, strict=True) if isinstance(each, Message)}
        elsewhere = await self._elsewhere(by_id)
        async with self._transaction() as transaction:
            known = await transaction.known(list(by_id))
            until = self._clock.boot() + TRANSACTION_SECONDS
            for stored, message in zip(found, messages, strict=True):
                verdicts.count += 1
                if isinstance(message, Message) and message.id in elsewhere.over:
                    verdicts.done.append(stored.token)
                elif isinstance(message, Message) and message.id in elsewhere.waiting:
                    verdicts.postpone(stored)
                else:
                    await self._judge(stored, message, transaction, known, verdicts)
                if self._clock.boot() >= until:
                    break
            self._failpoint("submission.commit.before")
        self._failpoint("submission.commit.after")

    def _read(self, stored: Stored) -> Judged:
        try:
            event = decode_event(stored.body)
            check_size(bytes(event.data), f"message {event.id[:100]!r}", limit=self._limit)
            self._check_store(event)
        except Refused as error:
            return error
        return Message(event, stored.tries)

    def _check_store(self, event: CloudEvent) -> None:
        if event.store is not None and self._stores and event.store not in self._stores:
            raise Unacceptable(
                f"message {event.id[:100]!r}: expected one for the store {next(iter(self._stores))!r}, found one for "
                f"{event.store!r:.60}; post it where that store's application reads"
            )

    async def _judge(
        self, stored: Stored, message: Judged, transaction: Transaction, known: set[str], verdicts: Verdicts
    ) -> None:
        if isinstance(message, Refused):
            verdicts.refuse(stored, str(message))
        elif message.id in known:
            self._observers.emit("submission.duplicate", queue=self._queue, id=message.id)
            verdicts.done.append(stored.token)
        elif is_worn_out(stored):
            verdicts.refuse(stored, f"{_named(message)}: taken {MOST_TRIES} times, and each time the process ended")
        elif await self._became_task(stored, message, transaction, verdicts):
            known.add(message.id)

    async def _became_task(
        self, stored: Stored, message: Message, transaction: Transaction, verdicts: Verdicts
    ) -> bool:
        try:
            async with transaction.savepoint():
                accepted = await self._calls.call(message, transaction)
                task = await self._prepare(message, accepted)
                submitted = await self._submit(task, accepted.per_key, transaction)
                if not submitted.created and not submitted.joined:
                    raise _IdIsTaken
        except _IdIsTaken:
            # Made by another message of this batch: the rows of this message belong to that task.
            self._observers.emit("submission.duplicate", queue=self._queue, id=message.id)
            verdicts.done.append(stored.token)
        except Refused as error:
            verdicts.refuse(stored, message_of(error))
        except StoreError:
            raise
        except BaseException as error:
            self._fail(stored, message, failure_of(error), verdicts)
        else:
            verdicts.accept(stored)
            return True
        return False

    async def _submit(self, task: Task, rule: KeyRule | None, transaction: Transaction) -> Submitted:
        if rule is None:
            (submitted,) = await transaction.submit([task], self._plans)
        else:
            (submitted,) = await transaction.submit_keyed([task], rule, self._plans, actor=f"queue {self._queue}")
        return submitted

    def _spoiled(self, found: Sequence[Stored], error: StoreError) -> Verdicts:
        verdicts = Verdicts()
        verdicts.count = len(found)
        message = self._read(found[0])
        if len(found) > 1 or isinstance(message, Refused):
            verdicts.try_all_again(found)
        else:
            self._fail(found[0], message, error, verdicts)
        return verdicts

    def _fail(self, stored: Stored, message: Message, error: Exception, verdicts: Verdicts) -> None:
        why = named(error)
        self._observers.emit(
            "submission.accept_failed", queue=self._queue, id=message.id, error=why, tries=stored.tries
        )
        verdicts.fail(stored, why)


def _named(message: Message) -> str:
    return f"message {message.id[:100]!r}"
