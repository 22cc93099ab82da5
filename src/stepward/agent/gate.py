"""What stands between an Agent's calls and its service: breaker, rate limit and retry budget."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stepward.agent.breaker import Breaker, BreakerState
from stepward.agent.budget import RetryBudget
from stepward.agent.call import Call
from stepward.agent.declaration import Agent
from stepward.agent.rate import TokenBucket
from stepward.errors import StepwardError
from stepward.events import Observers


class Gate:
    """Lets calls of one Agent instance pass, or makes them wait inside their complete-by."""

    def __init__(self, agent: Agent, *, now: Callable[[], float], observers: Observers) -> None:
        self._agent = agent
        self._now = now
        self._observers = observers
        self._breaker = Breaker(agent.breaker)
        self._bucket = TokenBucket(agent.rate) if agent.rate is not None else None
        self._budget = RetryBudget()
        self._closed = asyncio.Event()
        self._closed.set()
        self.is_open = self._bucket is None
        """Whether every call passes at once."""

    @property
    def state(self) -> BreakerState:
        """The state of the breaker."""
        return self._breaker.state

    async def passed(self, call: Call) -> StepwardError | None:
        """Wait until ``call`` may be made; an error if its complete-by would come first."""
        complete_by = call.request.complete_by
        while wait := self._breaker.ask(now := self._now()):
            if self.state is BreakerState.OPEN and now + wait >= complete_by:
                return StepwardError(
                    f"Agent {self._agent.name!r}: expected its service to answer, found its breaker open "
                    "past the complete-by; look at the service"
                )
            await self._wait_for_breaker(wait)
        return None if self._bucket is None else await self._rated(self._bucket, complete_by)

    def may_retry(self, now: float) -> bool:
        """Take one retry from the budget."""
        return self._budget.spend(now)

    def succeeded(self) -> None:
        """The service answered a call."""
        self._budget.succeeded()
        if self._breaker.succeeded():
            self._closed.set()
            self.is_open = self._bucket is None
            self._observers.tell("agent.breaker_closed", agent=self._agent.name)

    def failed(self) -> None:
        """A call failed, or never ended."""
        if self._breaker.failed(self._now()):
            self._closed.clear()
            self.is_open = False
            self._observers.tell("agent.breaker_opened", agent=self._agent.name)

    async def _wait_for_breaker(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._closed.wait()
        except TimeoutError:
            return

    async def _rated(self, bucket: TokenBucket, complete_by: float) -> StepwardError | None:
        wait = bucket.reserve(self._now(), complete_by)
        if wait is None:
            return StepwardError(
                f"Agent {self._agent.name!r}: expected a call within its rate before the complete-by, "
                "found too many calls waiting; raise rate or complete_by"
            )
        if wait:
            await asyncio.sleep(wait)
        return None
