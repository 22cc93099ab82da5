"""Delivery of status events to webhooks: at least once, in order for each task, as long as the receiver takes them.

The queue of a webhook in the store is the outbox: an event is deleted from it in the commit that records that its
receiver took it. The events of a task wait behind one that was refused; those of other tasks do not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from msgspec.structs import replace

from stepward.clock import Environment
from stepward.error_messages import message_of
from stepward.errors import AlertRefused
from stepward.events import EventReceiver, Observers
from stepward.model.application_calls import failure_of
from stepward.model.messages.webhook_retries import (
    LONGEST_ERROR,
    Deliveries,
    WaitingEvent,
    Webhook,
    after_failing,
    after_taking,
    is_given_up,
    refused_event,
)
from stepward.store.contract import SupervisorStore
from stepward.supervisor.webhooks.due_events import DueEvents, Lane

TASKS_AT_ONCE = 8
"""Tasks whose events are posted at the same time to one receiver."""
REFUSALS_IN_A_ROW = 3
"""Refusals without an event taken in between, after which a receiver is asked nothing more in this round."""
MOST_ROUNDS = 50
"""Rounds of one run beside the passes; the next pass begins another."""
ROUND_SECONDS = 20.0
"""Seconds after which a round posts nothing more, so that what was taken is recorded however slow the receiver is."""
GONE = 410
OF_THE_EVENT = frozenset({400, 409, 413, 415, 422})
"""Answers that refuse an event; with any other the receiver takes nothing at all."""


class WebhookDelivery:
    """Delivers to the webhooks of this process while it leads; ``leads`` says whether it does."""

    def __init__(
        self,
        store: SupervisorStore,
        receivers: Sequence[EventReceiver],
        observers: Observers,
        environment: Environment,
        leads: Callable[[], bool],
    ) -> None:
        self._store = store
        self._receivers = receivers
        self._observers = observers
        self._random = environment.random
        self._boot = environment.clock.boot
        self._failpoint = environment.failpoint
        self._leads = leads
        self._is_reported = False
        self._reporting = asyncio.Lock()
        self._due = {receiver.name: DueEvents(store, receiver.queue) for receiver in receivers}
        self.works: list[Callable[[], Awaitable[None]]] = [
            *(partial(self._run_on, receiver) for receiver in receivers),
            *([] if receivers else [self._forget_all]),
        ]
        """For each webhook, rounds until nothing more is taken: a slow receiver holds up none of the others."""

    async def run(self) -> int:
        """Offer what is due to every webhook, a round each; how many events were taken.

        A process without webhooks asks the store once whether there were any before.
        """
        if not self._receivers:
            await self._forget_all()
        rounds = await asyncio.gather(*map(self._offer, self._receivers), return_exceptions=True)
        for failure in rounds:
            if isinstance(failure, BaseException):
                raise failure
        return sum(taken for taken in rounds if isinstance(taken, int))

    async def _forget_all(self) -> None:
        """Forget the webhooks of before, with how they fared, once none is declared any more."""
        if not self._is_reported and any(known.disabled_at is None for known in await self._store.webhooks()):
            await self._store.report_webhooks([])
        self._is_reported = True

    async def _run_on(self, receiver: EventReceiver) -> None:
        for _ in range(MOST_ROUNDS):
            if not self._leads() or not await self._offer(receiver):
                return

    async def _offer(self, receiver: EventReceiver) -> int:
        await self._report_all()
        webhook = await self._known(receiver.name)
        if webhook is None:
            # A process with other webhooks has led meanwhile.
            self._is_reported = False
            await self._report_all()
            webhook = await self._known(receiver.name)
        if webhook is None or webhook.disabled_at is not None or webhook.next_try > self._store.now():
            return 0
        return await self._round(receiver, webhook)

    async def _report_all(self) -> None:
        async with self._reporting:
            if not self._is_reported:
                reported = [Webhook(name=each.name, description=each.description) for each in self._receivers]
                await self._store.report_webhooks(reported)
                self._is_reported = True

    async def _known(self, name: str) -> Webhook | None:
        return next((webhook for webhook in await self._store.webhooks() if webhook.name == name), None)

    async def _round(self, receiver: EventReceiver, webhook: Webhook) -> int:
        due = self._due[receiver.name]
        lanes, unreadable = await due.find()
        if not lanes and not unreadable:
            return 0
        ends = self._boot() + ROUND_SECONDS
        round_ = Round(receiver, lambda: self._leads() and self._boot() < ends)
        try:
            await round_.deliver(lanes)
        except asyncio.CancelledError:
            # The next leader posts what was not taken, and no more.
            await self._record(receiver, webhook, round_, unreadable)
            raise
        taken = await self._record(receiver, webhook, round_, unreadable)
        due.went_on(round_.taken)
        return taken

    async def _record(
        self, receiver: EventReceiver, webhook: Webhook, round_: Round, unreadable: Sequence[tuple[int, str]]
    ) -> int:
        self._failpoint("webhooks.record.before")
        deliveries = self._deliveries(webhook, round_, unreadable)
        await self._store.record_deliveries(receiver.queue, deliveries)
        self._failpoint("webhooks.record.after")
        self._report(deliveries)
        return len(deliveries.taken)

    def _deliveries(self, webhook: Webhook, round_: Round, unreadable: Sequence[tuple[int, str]]) -> Deliveries:
        now, jitter = self._store.now(), self._random.random
        refused = [refused_event(event, error, now, jitter()) for event, error in round_.refused]
        last = round_.refused[-1][1] if round_.refused else None
        if round_.taken or last is None:
            webhook = after_taking(webhook, len(round_.taken), last, now) if round_.taken else webhook
        elif round_.is_failing:
            webhook = after_failing(webhook, last, now, jitter(), gone=round_.is_gone)
        else:
            webhook = replace(webhook, error=last[:LONGEST_ERROR])
        return Deliveries(
            taken=round_.taken,
            refused=[each for each in refused if not is_given_up(each, now)],
            dead=[*unreadable, *((each.token, each.error) for each in refused if is_given_up(each, now))],
            webhook=webhook,
        )

    def _report(self, deliveries: Deliveries) -> None:
        webhook = deliveries.webhook
        counts = {"taken": len(deliveries.taken), "refused": len(deliveries.refused), "dead": len(deliveries.dead)}
        self._observers.emit("webhook.delivered", webhook=webhook.name, **counts)
        if deliveries.refused or deliveries.dead:
            self._observers.emit("webhook.refused", webhook=webhook.name, tries=webhook.tries, error=webhook.error)
        if webhook.disabled_at is not None:
            self._observers.emit("webhook.disabled", webhook=webhook.name, error=webhook.error)


class Round:
    """What one receiver took and refused of the events that it was offered at one time."""

    def __init__(self, receiver: EventReceiver, goes_on: Callable[[], bool]) -> None:
        self._receiver = receiver
        self._goes_on = goes_on
        self.taken: list[int] = []
        self.refused: list[tuple[WaitingEvent, str]] = []
        self.is_failing = False
        """Whether a refusal said nothing about its event alone."""
        self.is_gone = False
        self._in_a_row = 0

    async def deliver(self, lanes: Sequence[Lane]) -> None:
        """Post the events of each task in order up to its first refusal, of several tasks at once."""
        waiting = iter(lanes)

        async def work() -> None:
            for lane in waiting:
                if self._in_a_row >= REFUSALS_IN_A_ROW or self.is_gone:
                    return
                await self._lane(lane)

        await asyncio.gather(*(work() for _ in range(min(TASKS_AT_ONCE, len(lanes)))))

    async def _lane(self, lane: Lane) -> None:
        for event, leaving in lane:
            if not self._goes_on():
                return
            try:
                await self._receiver.deliver(leaving.id, leaving.body)
            except BaseException as caught:
                self._note(event, failure_of(caught))
                return
            self.taken.append(event.token)
            self._in_a_row = 0

    def _note(self, event: WaitingEvent, failure: BaseException) -> None:
        status = failure.status if isinstance(failure, AlertRefused) else None
        self.refused.append((event, message_of(failure)))
        self._in_a_row += 1
        self.is_failing |= status not in OF_THE_EVENT
        self.is_gone |= status == GONE
