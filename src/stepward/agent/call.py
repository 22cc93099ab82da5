"""A request that an Agent works on, from its delivery to its reply."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import Any

from stepward.model.failures import FailureConverter
from stepward.model.messages import answers
from stepward.model.messages.requests import Progress, Reply, Request
from stepward.transport.contract import Delivery

CallKey = tuple[str, int, str, bool]
"""Task, run and key of a step, and whether it is undone."""


class Call:
    """What the runner knows of one request that it holds."""

    __slots__ = (
        "beaten_at",
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
        "untold",
    )

    def __init__(self, request: Request, delivery: Delivery, failures: FailureConverter) -> None:
        self.request = request
        self.step: CallKey = (request.task, request.run, request.key, request.undo)
        self.delivery = delivery
        self.failures = failures
        self.leased_until = delivery.leased_until
        """Until then no other Agent is given the request."""
        self.calls = 0
        """How often the function was called within this attempt."""
        self.maybe_done = False
        """Whether one of those calls failed and may have acted all the same."""
        self.started = False
        self.dropped = False
        """Nobody waits any more: whatever comes of it is thrown away."""
        self.revoked = False
        """Its step was given up: the Scheduler is told when nothing of it runs any more."""
        self.ended = False
        self.untold: Progress | None = None
        """What its code told of its progress and nobody was told yet."""
        self.beaten_at = float("-inf")
        """When a heartbeat of it was last passed on."""
        self.task: asyncio.Task[None] | None = None
        self.thread: concurrent.futures.Future[Any] | None = None

    def completed(self, output: bytes) -> Reply:
        """The function returned."""
        return answers.completed(self.request, output, calls=self.calls)

    def deferred(self) -> Reply:
        """The function has done its part; somebody else finishes the step."""
        return answers.deferred(self.request, calls=self.calls)

    def failed(self, error: BaseException) -> Reply:
        """Repeating is pointless."""
        return answers.failed(self.request, self.failures.convert(error), maybe_done=self.maybe_done, calls=self.calls)

    def gave_up(self, error: BaseException) -> Reply:
        """This attempt got nowhere; another may."""
        return answers.gave_up(self.request, self.failures.convert(error), maybe_done=self.maybe_done, calls=self.calls)
