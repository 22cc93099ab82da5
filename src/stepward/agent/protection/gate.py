"""The gate between an Agent's calls and its service: breaker, rate limit and retry budget."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stepward.agent.call import Call
from stepward.agent.declaration import Agent
from stepward.agent.protection.circuit_breaker import Breaker, BreakerState, RetryBudget
from stepward.agent.protection.rate_limit import TokenBucket
from stepward.agent.protection.shared_state import SharedState
from stepward.errors import StepwardError
from stepward.events import Observers
from stepward.model.agents import AgentStanding
from stepward.model.limits.rate import RateLimit

AGAIN = 1.0
"""Seconds before an instance that was refused the probe asks again."""


class Gate:
    """Lets calls of one Agent instance pass, or makes them wait inside their complete-by."""

    def __init__(self, agent: Agent, *, now: Callable[[], float], observers: Observers, standing: SharedState) -> None:
        self._agent = agent
        self._now = now
        self._observers = observers
        self._standing = standing
        self._breaker = Breaker(agent.breaker)
        self._rate = agent.rate
        self._instances = 1
        self._bucket = TokenBucket(agent.rate) if agent.rate is not None else None
        self._budget = RetryBudget()
        self._closed = asyncio.Event()
        self._closed.set()
        self._rated: dict[asyncio.Future[bool], None] = {}
        """Calls that already have a token and wait for its time, in order."""
        self._shut: list[Callable[[], None]] = []
        self.is_open = self._bucket is None
        """Whether every call passes at once."""

    @property
    def state(self) -> BreakerState:
        """The state of the breaker."""
        return self._breaker.state

    @property
    def wait(self) -> float:
        """Seconds until a call may pass the breaker; past an open one that is one call alone."""
        return self._breaker.wait(self._now())

    def within_rate(self, room: int, unbegun: Callable[[], int]) -> int:
        """Of that room, for how many calls there is a token beside those that were taken and have not begun.

        One may wait for its turn: what else waits is for other instances too.
        """
        if self._bucket is None:
            return room
        taken = unbegun()
        return min(room, max(self._bucket.ready(self._now()) - taken, int(not taken)))

    async def passes(self) -> None:
        """Wait until the next of those that wait for the rate passes."""
        waiting = [waiter for waiter in self._rated if not waiter.done()]
        if waiting:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(0)

    def on_shut(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` whenever the breaker opens, here or at another instance."""
        self._shut.append(listener)

    async def passed(self, call: Call) -> StepwardError | None:
        """Wait until ``call`` may be made; an error if its complete-by would come first."""
        complete_by = call.request.complete_by
        while wait := await self._asked():
            if self.state is BreakerState.OPEN and self._now() + wait >= complete_by:
                return StepwardError(
                    f"Agent {self._agent.name!r}: expected its service to answer, found its breaker open "
                    "past the complete-by; look at the service"
                )
            await self.closes(wait)
        return await self._token(complete_by)

    async def closes(self, seconds: float) -> None:
        """Wait until the breaker is closed, at most so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._closed.wait()
        except TimeoutError:
            return

    def may_retry(self, now: float) -> bool:
        """Take one retry from the budget."""
        return self._budget.spend(now)

    def succeeded(self) -> None:
        """The service answered a call."""
        self._budget.succeeded()
        if self._breaker.succeeded():
            self._let_pass()
            self._standing.closed(self._agent.name)
            self._observers.emit("agent.breaker_closed", agent=self._agent.name)

    def failed(self) -> None:
        """A call failed, or never ended."""
        if self._breaker.failed(self._now()):
            self._standing.opened(self._agent.name, self._agent.breaker.reset_seconds)
            self._observers.emit("agent.breaker_opened", agent=self._agent.name)
            self._bar()

    def heed(self, standing: AgentStanding, *, is_ours: bool) -> None:
        """All instances stand so; ``is_ours``: it is this one that finds out whether the service is back."""
        if not standing.is_open:
            if self.state is not BreakerState.CLOSED:
                self._breaker.close()
                self._let_pass()
        elif not (is_ours and self.state is BreakerState.HALF_OPEN):
            was_closed = self.state is BreakerState.CLOSED
            self._breaker.open(standing.asks_at or 0.0)
            if was_closed:
                self._bar()

    def share(self, instances: int) -> None:
        """So many instances share the rate: calls that wait for a token wait by the new part."""
        self._instances = max(1, instances)
        if self._bucket is None or not self._bucket.is_divided(instances):
            return
        waiting = self._recalled()
        self._bucket.divide(instances, self._now(), returned=len(waiting))
        for waiter in waiting:
            waiter.set_result(False)

    def set_rate(self, rate: RateLimit | None) -> None:
        """Bound the calls of all instances together by this rate from now on; None: by none.

        Calls that wait for a token wait by the new rate. A rate where there was none begins without tokens.
        """
        if rate == self._rate:
            return
        self._rate = rate
        waiting = self._recalled()
        if rate is None:
            self._bucket = None
        elif self._bucket is None:
            self._bucket = TokenBucket.empty(rate, self._instances, self._now())
        else:
            self._bucket.change_rate(rate, self._now(), returned=len(waiting))
        self.is_open = self._bucket is None and self._closed.is_set()
        for waiter in waiting:
            waiter.set_result(False)

    def _recalled(self) -> list[asyncio.Future[bool]]:
        """The calls that wait for the time of their token, and do so no more."""
        waiting = [waiter for waiter in self._rated if not waiter.done()]
        self._rated.clear()
        return waiting

    def _let_pass(self) -> None:
        self._closed.set()
        self.is_open = self._bucket is None

    def _bar(self) -> None:
        self._closed.clear()
        self.is_open = False
        for listener in self._shut:
            listener()

    async def _asked(self) -> float:
        """0.0 if the caller may call now, else when to ask again; all instances let one alone find out."""
        wait = self._breaker.ask(self._now())
        if wait or self.state is BreakerState.CLOSED:
            return wait
        allowed = await self._standing.may_probe(self._agent.name, self._agent.breaker.reset_seconds)
        if self._closed.is_set():
            return 0.0
        if allowed:
            self._breaker.probe(self._now())
            return 0.0
        if self.state is BreakerState.HALF_OPEN:
            self._breaker.open(self._now() + AGAIN)
        return max(AGAIN, self.wait)

    async def _token(self, complete_by: float) -> StepwardError | None:
        """Wait for a token of the bucket; an error if the complete-by would come first."""
        while (bucket := self._bucket) is not None:
            wait = bucket.reserve(self._now(), complete_by)
            if wait is None:
                return StepwardError(
                    f"Agent {self._agent.name!r}: expected a call within its rate before the complete-by, "
                    "found too many calls waiting; raise the rate or complete_by"
                )
            if not wait or await self._waited(bucket, wait):
                return None
        return None

    async def _waited(self, bucket: TokenBucket, seconds: float) -> bool:
        """Whether the token's time came; False if the rate was divided again, and the token went back."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        self._rated[waiter] = None
        timer = loop.call_later(seconds, _come, waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter in self._rated:
                bucket.put_back()
            raise
        finally:
            timer.cancel()
            self._rated.pop(waiter, None)


def _come(waiter: asyncio.Future[bool]) -> None:
    if not waiter.done():
        waiter.set_result(True)
