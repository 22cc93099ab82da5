"""One call of an Agent's operation, from the delivery of its request to its reply."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import Any

from stepward.model.failures import FailureConverter
from stepward.model.live_values import WriteBuffer
from stepward.model.messages.requests import OUTCOME_COMPLETED, CheckedReply, Progress, Reply, Request
from stepward.transport.contract import Delivery

CallKey = tuple[str, int, str, bool]
"""Task, run and key of a step, and whether it is undone."""


class Call:
    """What the runner knows of one request that it holds."""

    __slots__ = (
        "beaten_at",
        "began_at",
        "calls",
        "delivery",
        "dropped",
        "ended",
        "failures",
        "leased_until",
        "maybe_done",
        "request",
        "revoked",
        "started",
        "step",
        "task",
        "thread",
        "unpublished",
        "written",
    )

    def __init__(self, request: Request, delivery: Delivery, failures: FailureConverter) -> None:
        self.request = request
        self.step: CallKey = (request.task, request.run, request.key, request.undo)
        self.delivery = delivery
        self.failures = failures
        self.leased_until = delivery.leased_until
        """Until then no other Agent is given the request."""
        self.written: list[WriteBuffer] = []
        """The values that the present call of the function wrote; empty for none."""
        self.calls = 0
        """How often the function was called within this attempt."""
        self.maybe_done = False
        """Whether one of those calls failed and may have acted all the same."""
        self.began_at: float | None = None
        """When work on it began, where that is measured."""
        self.started = False
        self.dropped = False
        """The Scheduler no longer waits for it: its result is discarded."""
        self.revoked = False
        """Its step was given up: a reply follows once nothing of it runs any more."""
        self.ended = False
        self.unpublished: Progress | None = None
        """The latest progress that its code reported and that was not published yet."""
        self.beaten_at = float("-inf")
        """When a heartbeat of it was last passed on."""
        self.task: asyncio.Task[None] | None = None
        self.thread: concurrent.futures.Future[Any] | None = None

    def completed(self, output: bytes) -> Reply:
        """The function returned; ``output``, its result, fits what the operation declares."""
        request = self.request
        return CheckedReply(
            task=request.task,
            run=request.run,
            key=request.key,
            attempt=request.attempt,
            outcome=OUTCOME_COMPLETED,
            output=output,
            written=self.written[0].encoded() if self.written else None,
            calls=self.calls,
            agent=request.agent,
            proof=request.proof,
        )

    def deferred(self) -> Reply:
        """The function has done its part; the step is finished from outside."""
        return self.request.deferred(calls=self.calls)

    def failed(self, error: BaseException) -> Reply:
        """Repeating is pointless."""
        return self.request.failed(self.failures.convert(error), maybe_done=self.maybe_done, calls=self.calls)

    def gave_up(self, error: BaseException) -> Reply:
        """This attempt got nowhere; another may."""
        return self.request.gave_up(self.failures.convert(error), maybe_done=self.maybe_done, calls=self.calls)
