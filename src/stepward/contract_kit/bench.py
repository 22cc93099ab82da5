"""The parts that a check works with, and the steps that checks share."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from stepward.contract_kit.agent_process import AgentProcess
from stepward.contract_kit.checked_service import CheckedService, ServiceCase
from stepward.contract_kit.observed_changes import Changes
from stepward.contract_kit.reply_reader import data_of
from stepward.contract_kit.scheduler_role import SchedulerRole
from stepward.model.messages.requests import Request
from stepward.transport.wire.wire_events import ReplyEvent

PATIENCE = 15.0
"""Seconds within which a reply, a call or the end of a process is expected."""
QUIET = 0.7
"""Seconds in which nothing may come, after a later request was answered."""
START = 60.0
"""Seconds within which a started Agent answers its first request."""
MOST_CAPACITY = 64
"""The largest capacity that a check fills."""


class CheckFailed(Exception):
    """The Agent behaves otherwise than expected."""

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(f"expected {expected}, found {found}")
        self.expected = expected
        self.found = found


class CheckSkipped(Exception):
    """A check that cannot be made here; the message says why."""


class BenchOptions(Struct, frozen=True, kw_only=True):
    """How the run is set up."""

    capacity: int
    """The number of requests that the Agent works on at once."""
    lease: float
    """The lease of requests in seconds."""
    reports_to_store: bool = False
    """Whether the Agent is one in Python: it reports its capacity to the store and not over the broker."""


@dataclass
class Drain:
    """What the Agent did after SIGTERM, observed once for all checks of its end."""

    answered: bool = False
    exit_code: int | None = None
    began_new: bool = False
    announced_zero: bool = False
    answered_after_restart: bool = False


@dataclass
class ContractBench:
    """One run of the kit; ``process`` is None for an Agent that the kit did not start."""

    scheduler: SchedulerRole
    service: CheckedService
    process: AgentProcess | None
    changes: Changes
    options: BenchOptions
    drain: Drain | None = field(default=None)

    @property
    def capacity(self) -> int:
        """The number of requests that the Agent works on at once, by its latest announcement. Raises CheckSkipped."""
        announced = [health.capacity for _, _, health in self.scheduler.announcements if health.capacity]
        capacity = announced[-1] if announced else self.options.capacity
        if capacity > MOST_CAPACITY:
            raise CheckSkipped(f"expected a capacity of at most {MOST_CAPACITY}, found {capacity:,}; lower it")
        return capacity

    async def ask(self, operation: str, *arguments: object) -> ReplyEvent:
        """Send a request, and wait for its reply. Raises CheckFailed."""
        request = self.scheduler.request(operation, *arguments)
        await self.scheduler.send(request)
        return await self.reply_to(request)

    async def call(self, case: ServiceCase) -> Request:
        """Send a request for the operation ``call``, and wait until the service is called. Raises CheckFailed."""
        request = self.scheduler.request("call", case.body)
        await self.scheduler.send(request)
        await self.called(case)
        return request

    async def called(self, case: ServiceCase, times: int = 1) -> None:
        """Wait until the service was called so often. Raises CheckFailed."""
        await self.changes.until(lambda: len(case.calls) >= times, PATIENCE)
        if len(case.calls) < times:
            raise CheckFailed(
                f"{times} calls of the service" if times > 1 else "a call of the service",
                self._found(f"{len(case.calls)}"),
            )

    async def reply_to(self, request: Request, *, seconds: float = PATIENCE, number: int = 1) -> ReplyEvent:
        """The reply to a request, the ``number``-th one. Raises CheckFailed."""
        replies = self.scheduler.arrival.replies
        await self.changes.until(lambda: len(replies(request)) >= number, seconds)
        self.scheduler.check_reading()
        found = replies(request)
        if len(found) < number:
            raise CheckFailed(f"a reply to {request.operation} within {seconds:g} s", self._found("none"))
        return found[number - 1]

    async def echoed(self) -> None:
        """Have a plain request answered: the Agent has taken what was sent before. Raises CheckFailed."""
        await self.ask("echo", "still there")

    async def quiet(self) -> None:
        """Give what must not come the time to come: a later request is answered, and then nothing is sent."""
        await self.echoed()
        await asyncio.sleep(QUIET)

    async def restarted(self) -> AgentProcess:
        """Start the Agent again if it has ended, and wait until it answers. Raises CheckFailed or CheckSkipped."""
        process = self.own_process()
        if not process.is_running:
            await process.start()
            request = self.scheduler.request("echo", "started")
            await self.scheduler.send(request)
            await self.reply_to(request, seconds=START)
        return process

    def own_process(self) -> AgentProcess:
        """The process of the Agent. Raises CheckSkipped if the kit did not start it."""
        if self.process is None:
            raise CheckSkipped("the kit did not start the Agent; give its command after --")
        return self.process

    def _found(self, found: str) -> str:
        if self.process is not None and not self.process.is_running:
            return f"{found}: the process of the Agent has ended"
        unreadable = self.scheduler.arrival.unreadable
        return f"{found}, and an unreadable message: {unreadable[-1]}" if unreadable else found


def expect(holds: bool, expected: str, found: object) -> None:
    """Raise CheckFailed unless that holds."""
    if not holds:
        raise CheckFailed(expected, str(found))


def described(replies: Sequence[ReplyEvent]) -> str:
    """Replies as a finding quotes them."""
    shown = [f"{event.outcome} {msgspec.json.encode(data_of(event)).decode()[:100]}" for event in replies]
    return ", then ".join(shown) or "no reply"
