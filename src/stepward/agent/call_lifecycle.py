"""The calls of an Agent instance, from delivery to reply: started, watched, replaced, dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from stepward.agent.call import Call
from stepward.agent.call_execution import CallExecution
from stepward.agent.call_slots import Slots
from stepward.agent.declaration import Agent
from stepward.agent.heartbeats import Heartbeats
from stepward.agent.leases_and_deadlines import Deadlines, RequestLeases, overrun
from stepward.agent.protection.gate import Gate
from stepward.agent.protection.shared_state import SharedState
from stepward.agent.reply_sender import ReplySender
from stepward.clock import Environment
from stepward.error_messages import named
from stepward.errors import StepwardError
from stepward.events import Observers
from stepward.model.application_calls import failure_of
from stepward.model.current_step import CurrentStep, enter
from stepward.model.failures import FailureConverter
from stepward.model.messages.completion_tokens import Sign
from stepward.model.messages.requests import Outcome, Reply, Request, request_queue
from stepward.runtime.cancelling import end_tasks
from stepward.runtime.threads import Threads
from stepward.transport.contract import Delivery, Transport

LAST_WAIT = 1.0
STOPPED = "stopped, because the step's outcome is no longer needed"
WELL = frozenset({Outcome.COMPLETED, Outcome.DEFERRED})


class Calls:
    """Works on requests, each under the least of its complete-by, its lease and the instance's own lease."""

    def __init__(
        self,
        agent: Agent,
        transport: Transport,
        *,
        now: Callable[[], float],
        environment: Environment,
        observers: Observers,
        lease_until: Callable[[], float],
        standing: SharedState,
        request_lease: float,
        sign: Sign | None,
        threads: bool,
        payload_bytes: int,
        failures: FailureConverter,
    ) -> None:
        queue = request_queue(agent.name)
        self.slots = Slots(agent.concurrency)
        self._agent = agent
        self._failures = failures
        self._now = now
        self._observers = observers
        self._threads = Threads(agent.concurrency, f"agent-{agent.name}") if threads else None
        self._deadlines = Deadlines(now=now, lease_until=lease_until, passed=self._overran)
        self._leases = RequestLeases(
            transport, queue, self.slots, now=now, seconds=request_lease, observers=observers, revoked=self._revoke
        )
        self._heartbeats = Heartbeats(
            transport, self.slots, now=now, observers=observers, deadline=self._deadlines.of, extend=self._leases.extend
        )
        self._beat = self._heartbeats.beat
        self._sign = sign
        self._outbox = ReplySender(
            transport, queue, now=now, environment=environment, observers=observers, release=self.slots.release
        )
        self._performance = CallExecution(
            agent,
            now=now,
            is_late=self._deadlines.is_late,
            environment=environment,
            observers=observers,
            standing=standing,
            threads=self._threads,
            payload_bytes=payload_bytes,
        )

    @property
    def gate(self) -> Gate:
        """The breaker, rate limit and retry budget between the calls and the service."""
        return self._performance.gate

    def open(self) -> None:
        """Take heartbeats from now on, on the loop that runs."""
        self._heartbeats.open()

    def let_go_unbegun(self) -> list[Delivery]:
        """Work no more on what was taken and has not begun; the deliveries are the caller's to settle."""
        unbegun = list(self.slots.unbegun())
        for call in unbegun:
            self._drop(call, settle=False)
        return [call.delivery for call in unbegun]

    def settle(self, delivery: Delivery) -> None:
        """Settle a request that is no call's any more."""
        self._outbox.settle(delivery)

    def receive(self, deliveries: Sequence[Delivery]) -> None:
        """Start work on what was taken."""
        for delivery in deliveries:
            if isinstance(delivery.message, Request):
                self._receive(delivery, delivery.message)
            else:
                self._outbox.settle(delivery)
                self._observers.emit("agent.not_a_request", agent=self._agent.name, task_uid=delivery.message.task)
        self._leases.keep()

    def revoke(self, task: str, run: int, key: str) -> None:
        """Stop working on that step, and tell when nothing of it runs any more: its undo waits for that."""
        for undo in (False, True):
            call = self.slots.find(task, run, key, undo)
            if call is not None:
                self._revoke(call)

    async def drain(self, grace: float) -> None:
        """Let calls end within ``grace`` seconds; cancel the others silently, for another Agent to take."""
        try:
            async with asyncio.timeout(grace):
                await self.slots.emptied()
                await self._outbox.flushed()
        except TimeoutError:
            await self._cancel_all()
        self._leases.close()
        self._heartbeats.close()
        self._deadlines.close()
        self._outbox.close()
        if self._threads is not None:
            self._threads.close()

    def _receive(self, delivery: Delivery, request: Request) -> None:
        running = self.slots.find(request.task, request.run, request.key, request.undo)
        if running is None or running.dropped:
            self._start(Call(request, delivery, self._failures))
        elif request.attempt > running.request.attempt:
            self._drop(running, settle=True)
            self._start(Call(request, delivery, self._failures))
        elif request.attempt == running.request.attempt:
            # Delivered again, or a new owner asks: the one call serves both, and answers the last who asked.
            self._outbox.settle(running.delivery)
            running.request, running.delivery = request, delivery
            running.leased_until = delivery.leased_until
        else:
            self._outbox.settle(delivery)

    def _start(self, call: Call) -> None:
        self.slots.hold(call)
        call.task = asyncio.Task(self._perform(call), loop=asyncio.get_running_loop(), name="agent-call")
        self._deadlines.add(call)

    async def _perform(self, call: Call) -> None:
        call.started = True
        if self._observers.measuring:
            call.began_at = self._now()
        current = CurrentStep(call.request, self._now, self._beat, call.written, self._sign)
        enter(current, call.request)
        reply: Reply | None = None
        try:
            if not call.dropped:
                reply = await self._performance.perform(call)
        except asyncio.CancelledError:
            reply = self._cancelled(call)
        except BaseException as error:  # of what surrounds the function, such as the hooks of its argument types
            reply = self._broke(call, failure_of(error))
        self._end(call, reply)

    def _revoke(self, call: Call) -> None:
        if not (call.dropped or call.ended):
            call.revoked = True
            self._drop(call, settle=True)

    def _cancelled(self, call: Call) -> Reply | None:
        if call.dropped or call.task is None or call.task.cancelling():
            return None
        call.maybe_done = True
        return call.gave_up(StepwardError("the operation cancelled itself; let it return or raise"))

    def _broke(self, call: Call, error: Exception) -> Reply:
        call.maybe_done |= call.calls > 0
        what = f"{call.request.operation}: expected a reply, found {named(error)}"
        return call.gave_up(StepwardError(f"{what}; mend the operation, its argument types or its errors"))

    def _end(self, call: Call, reply: Reply | None) -> None:
        call.ended = True
        if call.began_at is not None:
            self._measure(call, call.began_at, reply)
        self._deadlines.forget()
        if not call.dropped and self._deadlines.is_late(call):
            # Past its lease another instance has the request: what came of it here, perhaps long ago, is thrown away.
            self._emit_overrun(call)
            self._disown(call, settle=self._now() >= call.request.complete_by)
        if reply is None or (call.dropped and not self._is_still_heard(call, reply)):
            self._let_go(call)
            return
        if reply.outcome not in WELL and self._observers.listening:
            self._emit(f"agent.{reply.outcome}", call, error=reply.error, calls=reply.calls)
        self._outbox.reply(call, reply)

    def _measure(self, call: Call, began_at: float, reply: Reply | None) -> None:
        request = call.request
        self._observers.measure(
            "agent.attempted",
            agent=self._agent.name,
            operation=f"{request.operation}.undo" if request.undo else request.operation,
            outcome="dropped" if reply is None else str(reply.outcome),
            calls=call.calls,
            seconds=max(0.0, self._now() - began_at),
            request=request,
            began_at=began_at,
            error=None if reply is None else reply.error,
        )

    def _is_still_heard(self, call: Call, reply: Reply) -> bool:
        """Whether a call that would not be cancelled has brought what the undo of its step is to know."""
        return call.revoked and reply.outcome is Outcome.COMPLETED and not self._deadlines.is_late(call)

    def _let_go(self, call: Call) -> None:
        if call.thread is None or call.thread.done():
            self._stopped(call)
            return
        loop = asyncio.get_running_loop()
        call.thread.add_done_callback(lambda _: _release_in_loop(loop, self._stopped, call))

    def _stopped(self, call: Call) -> None:
        """Ends a call of which no code runs any more."""
        if call.revoked:
            call.maybe_done |= call.calls > 0
            self._outbox.reply(call, call.gave_up(StepwardError(STOPPED)))
        else:
            self.slots.release(call)

    def _overran(self, call: Call) -> None:
        self._emit_overrun(call)
        self._drop(call, settle=self._now() >= call.request.complete_by)

    def _emit_overrun(self, call: Call) -> None:
        now = self._now()
        self._emit("agent.overran", call, **overrun(call, now))
        if now >= call.request.complete_by and call.calls:
            self._performance.gate.failed()

    def _drop(self, call: Call, *, settle: bool) -> None:
        if call.dropped or call.ended:
            return
        self._disown(call, settle=settle)
        # A task that has not begun must begin, or its slot would never be released.
        if call.started and call.task is not None:
            call.task.cancel()

    def _disown(self, call: Call, *, settle: bool) -> None:
        call.dropped = True
        if settle:
            self._outbox.settle(call.delivery)

    async def _cancel_all(self) -> None:
        calls = {call.task: call for call in self.slots if call.task is not None}
        for call in calls.values():
            if not call.ended:
                self._disown(call, settle=False)
        for task in await end_tasks(calls, LAST_WAIT):
            self._emit("agent.call_stuck", calls[task])

    def _emit(self, name: str, call: Call, **fields: object) -> None:
        request = call.request
        self._observers.emit(
            name,
            agent=self._agent.name,
            operation=request.operation,
            task=request.task_id,
            step=request.key,
            attempt=request.attempt,
            **fields,
        )


def _release_in_loop(loop: asyncio.AbstractEventLoop, release: Callable[[Call], None], call: Call) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(release, call)
