"""Replies on their way to Schedulers: what ends together leaves together; requests are settled after it, or with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from stepward.agent.call import Call
from stepward.clock import Environment, no_failpoint
from stepward.errors import TransportError
from stepward.events import Observers
from stepward.model.messages.requests import OUTCOME_COMPLETED, Outcome, Reply
from stepward.transport.contract import AgentMessage, Delivery, Transport
from stepward.transport.memory.direct_queues import direct_queues
from stepward.transport.store.messages_in_transaction import joint_commits

PAUSE = 1.0

UNFINISHED = frozenset({Outcome.GAVE_UP, Outcome.DEFERRED})
"""After these the step goes on, and its last progress is still of use."""

CallReply = tuple[Call, Reply]


class ReplySender:
    """Publishes replies, settles their requests, and gives each call that is dealt with to ``release``."""

    def __init__(
        self,
        transport: Transport,
        queue: str,
        *,
        now: Callable[[], float],
        environment: Environment,
        observers: Observers,
        release: Callable[[Call], None],
    ) -> None:
        self._transport = transport
        self._joint = joint_commits(transport)
        self._queues = direct_queues(transport)
        self._queue = queue
        self._now = now
        self._environment = environment
        self._has_failpoint = environment.failpoint is not no_failpoint
        self._observers = observers
        self._release = release
        self._answers: list[CallReply] = []
        self._settled: list[Delivery] = []
        self._flushing: asyncio.Task[None] | None = None

    def reply(self, call: Call, reply: Reply) -> None:
        """Publish ``reply``, settle the request, release the call."""
        queues = self._queues
        if queues is None or reply.outcome is not OUTCOME_COMPLETED:
            self._send_soon(call, reply)
            return
        try:
            queues[call.request.reply_to].append([reply])
        except TransportError:  # It is closed, and the reply is kept as for any other queue.
            self._send_soon(call, reply)
            return
        if self._has_failpoint:
            self._environment.failpoint("agent.reply.after")
        if not call.dropped:
            queues[self._queue].taken.pop(call.delivery.token, None)
        self._release(call)

    def settle(self, delivery: Delivery) -> None:
        """Settle a request that gets no reply."""
        self._settled.append(delivery)
        if self._flushing is None:
            self._start()

    async def flushed(self) -> None:
        """Wait until nothing is on its way."""
        while self._flushing is not None:
            await asyncio.wait([self._flushing])

    def close(self) -> None:
        """Give up what is still on its way."""
        if self._flushing is not None:
            self._flushing.cancel()

    def _send_soon(self, call: Call, reply: Reply) -> None:
        """Send it with what else ends now, and with the last progress, which may just be on its way here."""
        self._answers.append((call, reply))
        if self._flushing is None:
            self._start()

    def _start(self) -> None:
        # The task's first step comes after everything that ends in this turn of the loop.
        loop = asyncio.get_running_loop()
        self._flushing = asyncio.Task(self._flush(), loop=loop, name="agent-outbox")

    async def _flush(self) -> None:
        try:
            while self._answers or self._settled:
                answers, self._answers = self._answers, []
                settled, self._settled = self._settled, []
                unsent = await self._publish(answers, settled)
                await self._settle(settled)
                if unsent:
                    self._answers[:0] = unsent
                    await asyncio.sleep(PAUSE * (0.5 + self._environment.random.random() / 2))
                    self._answers = self._still_wanted(self._answers)
        finally:
            self._flushing = None

    async def _publish(self, answers: Sequence[CallReply], settled: list[Delivery]) -> list[CallReply]:
        sending = [self._send(queue, group, settled) for queue, group in _by_queue(answers).items()]
        if len(sending) == 1:
            return await sending[0]
        return [answer for unsent in await asyncio.gather(*sending) for answer in unsent]

    async def _send(self, queue: str, group: Sequence[CallReply], settled: list[Delivery]) -> list[CallReply]:
        answered = [call.delivery for call, _ in group]
        try:
            if self._joint is None:
                await self._transport.publish(queue, _progress(group))
            else:
                self._environment.failpoint("agent.reply.before")
                settled_now = [call.delivery for call, _ in group if not call.dropped]
                await self._joint.answer(queue, _progress(group), self._queue, settled_now)
        except TransportError as error:
            self._observers.emit("agent.transport_failed", queue=queue, verb="publish", error=str(error))
            return self._still_wanted(group)
        self._environment.failpoint("agent.reply.after")
        for (call, reply), delivery in zip(group, answered, strict=True):
            if call.delivery is not delivery:
                # The request came again during the publication: its reply is sent again, to the queue that it names.
                self._answers.append((call, reply))
                continue
            if self._joint is None and not call.dropped:
                settled.append(delivery)
            self._release(call)
        return []

    def _still_wanted(self, group: Sequence[CallReply]) -> list[CallReply]:
        now = self._now()
        wanted: list[CallReply] = []
        for call, reply in group:
            if call.request.complete_by > now:
                wanted.append((call, reply))
            else:
                self._release(call)
        return wanted

    async def _settle(self, settled: list[Delivery]) -> None:
        if not settled:
            return
        try:
            await self._transport.settle(self._queue, settled)
        except TransportError as error:
            self._observers.emit("agent.transport_failed", queue=self._queue, verb="settle", error=str(error))


def _by_queue(answers: Sequence[CallReply]) -> dict[str, list[CallReply]]:
    queues: dict[str, list[CallReply]] = {}
    for answer in answers:
        queues.setdefault(answer[0].request.reply_to, []).append(answer)
    return queues


def _progress(group: Sequence[CallReply]) -> list[AgentMessage]:
    """The replies, each after what its call had still to tell of its progress."""
    words: list[AgentMessage] = []
    for call, reply in group:
        if call.unpublished is not None and reply.outcome in UNFINISHED:
            words.append(call.unpublished)
        words.append(reply)
    return words
