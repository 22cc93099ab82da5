"""How fast time passes for a transport: in leaps where it is ours, as it is where a server's clock counts."""

from __future__ import annotations

import asyncio
import selectors
import time
from dataclasses import dataclass
from typing import Any

from stepward.transport.contract import Delivery
from tests.virtual import START, settle


@dataclass(frozen=True)
class Pace:
    lease: float
    almost: float
    """Nearly a lease, in seconds."""
    short: float
    """Long enough for what can come to come."""
    ages: float
    share: float
    """How much of a lease is left at least when a message is given out."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def is_leased(self, delivery: Delivery) -> bool:
        now = self.now()
        return now + self.share * self.lease - 0.1 <= delivery.leased_until <= now + self.lease + 0.1

    async def settle(self) -> None:
        """Let everything come to rest."""
        await settle()
        if self is REAL:
            await asyncio.sleep(self.short / 2)


LEAPING = Pace(lease=30.0, almost=29.0, short=5.0, ages=100_000.0, share=1.0)
REAL = Pace(lease=1.0, almost=0.6, short=0.3, ages=1.5, share=0.6)


class PacedLoop(asyncio.SelectorEventLoop):
    """Leaps like a virtual loop, until a server takes part."""

    def __init__(self) -> None:
        self._now = START
        self._real_since: float | None = None
        super().__init__(PacedSelector(self))

    @property
    def is_real(self) -> bool:
        return self._real_since is not None

    def be_real(self) -> None:
        self._real_since = time.monotonic()

    def leap(self, seconds: float) -> None:
        # A little more, so that rounding never leaves the timer in the future.
        self._now += seconds + 1e-6

    def time(self) -> float:
        return self._now if self._real_since is None else START + time.monotonic() - self._real_since


class PacedSelector(selectors.DefaultSelector):
    def __init__(self, loop: PacedLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None or self._loop.is_real:
            return super().select(timeout)
        events = super().select(0)
        if not events:
            self._loop.leap(timeout)
        return events


def be_real() -> None:
    """A server takes part in this test: its clock cannot leap."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, PacedLoop)
    loop.be_real()
