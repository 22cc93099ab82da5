"""Heartbeats of running operations: each keeps the lease on its request, and reports progress at intervals."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from stepward.agent.bounded_close import cancel_background
from stepward.agent.call import Call
from stepward.agent.call_slots import Slots
from stepward.errors import LeaseLapsed, TransportError
from stepward.events import Observers
from stepward.model.messages.requests import Progress, Request
from stepward.transport.contract import Transport

EVERY = 1.0
"""Minimum seconds between two progress messages of one call; those in between are coalesced."""


class Heartbeats:
    """Passes on what calls tell of themselves; ``deadline`` bounds their work, ``extend`` keeps their leases."""

    def __init__(
        self,
        transport: Transport,
        slots: Slots,
        *,
        now: Callable[[], float],
        observers: Observers,
        deadline: Callable[[Call], float],
        extend: Callable[[list[Call]], None],
    ) -> None:
        self._transport = transport
        self._slots = slots
        self._now = now
        self._observers = observers
        self._deadline = deadline
        self._extend = extend
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: dict[Call, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self) -> None:
        """Heartbeats may come from now on."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()

    def beat(self, request: Request, progress: bytes | None) -> None:
        """A heartbeat of the code that works on ``request``, from any thread. Raises LeaseLapsed."""
        call = self._call_of(request)
        if call is None or self._now() >= self._deadline(call):
            raise LeaseLapsed(
                f"{request.operation} for task {request.task_id}: expected the lease on its request, found it over: "
                "another instance may be at work on the step; stop"
            )
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._beaten, request, progress)

    def close(self) -> None:
        """Tell nothing more."""
        cancel_background(self._timer, self._tasks)
        self._timer = None

    def _beaten(self, request: Request, progress: bytes | None) -> None:
        call = self._call_of(request)
        if call is None:
            return
        if progress is not None:
            call.unpublished = call.request.progressed(progress, self._now())
        if call.ended:
            return  # Its reply is about to leave, and takes along what is still of use.
        if self._now() >= call.beaten_at + EVERY:
            self._pass_on([call])
        else:
            self._waiting[call] = None
            self._wait()

    def _call_of(self, request: Request) -> Call | None:
        call = self._slots.find(request.task, request.run, request.key, request.undo)
        is_its = call is not None and not call.dropped and call.request.attempt == request.attempt
        return call if is_its else None

    def _wait(self) -> None:
        if self._timer is None and self._waiting:
            first = min(call.beaten_at for call in self._waiting)
            seconds = max(0.0, first + EVERY - self._now())
            self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        self._timer = None
        due = [call for call in self._waiting if self._now() >= call.beaten_at + EVERY]
        for call in due:
            del self._waiting[call]
        self._pass_on([call for call in due if not (call.dropped or call.ended)])
        self._wait()

    def _pass_on(self, calls: list[Call]) -> None:
        if not calls:
            return
        for call in calls:
            call.beaten_at = self._now()
        self._extend(calls)
        self._observe(calls)
        for queue, words in _by_queue(calls).items():
            task = asyncio.get_running_loop().create_task(self._publish(queue, words))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _observe(self, calls: Sequence[Call]) -> None:
        if self._observers.listening:
            for asked in (call.request for call in calls):
                self._observers.emit("agent.heartbeat", task=asked.task_id, step=asked.key, attempt=asked.attempt)

    async def _publish(self, queue: str, words: Sequence[Progress]) -> None:
        try:
            await self._transport.publish(queue, words)
        except TransportError as error:
            # The next message repeats all that this one held.
            self._observers.emit("agent.transport_failed", queue=queue, verb="publish", error=str(error))


def _by_queue(calls: Sequence[Call]) -> dict[str, list[Progress]]:
    queues: dict[str, list[Progress]] = {}
    for call in calls:
        word, call.unpublished = call.unpublished, None
        if word is not None:
            queues.setdefault(call.request.reply_to, []).append(word)
    return queues
