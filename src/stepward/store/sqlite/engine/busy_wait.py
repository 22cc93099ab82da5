"""Waits for the lock of a file: bounded in tries, as time also passes while this process does not run.

What counts is the time that it meant to wait between two tries. While others commit, each try counts for less: nothing
is wrong then, and the gate gives the file to each in turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from stepward.clock import Environment
from stepward.errors import StoreUnavailable
from stepward.store.sqlite.engine.connection import WriterGate, is_memory
from stepward.store.sqlite.engine.error_translation import BUSY

T = TypeVar("T")

FIRST_PAUSE = 0.0004
LONGEST_PAUSE = 0.002
"""Seconds between tries while another process writes: its transactions may follow one another closely."""
PATIENT_SECONDS = 0.005
"""Seconds that a writer has waited when it closes the gate."""
GATE_SECONDS = 0.25
"""Seconds before a closed gate after which a writer tries all the same: the process that closed it may be stopped."""
TURN_WAITS = 6
"""How many times as long as for one transaction a writer waits for others that follow one another: in this process they
are known to be alive and to take turns, and in other processes they are seen to commit."""


class BusyWait:
    """How one store object waits for others that write to its file."""

    def __init__(self, path: str, environment: Environment, seconds: float, version: Callable[[], int]) -> None:
        self._path = path
        self._environment = environment
        self._seconds = seconds
        self._version = version
        self.gate = None if is_memory(path) else WriterGate(path)
        """None for a store in memory, which no other process has."""
        self.waited = 0.0
        """Seconds that count, of all waits of writers so far; one writer waits at a time, and all are behind it."""

    async def run(self, work: Callable[[], T]) -> T:
        """Run work, again while it finds the file locked. Raises StoreUnavailable if that lasts too long."""
        wait, waited = Pauses(self._environment, self._version), 0.0
        while True:
            try:
                return work()
            except BUSY:
                if waited >= self._seconds:
                    raise self.too_busy() from None
            waited += await wait.pause()

    async def write(self, work: Callable[[], T], since: float) -> T:
        """As ``run``, for work that writes and waits since that reading of ``waited``."""
        wait, began = Pauses(self._environment, self._version), self.waited
        try:
            while True:
                try:
                    if self._may_write(self.waited - began):
                        return work()
                except BUSY:
                    pass
                if self.waited - since >= self._seconds:
                    raise self.too_busy()
                counts = await wait.pause()
                self.waited += counts
        finally:
            if self.gate is not None:
                self.gate.open()

    @asynccontextmanager
    async def held(
        self, lock: asyncio.Lock, turns: float | None = TURN_WAITS, since: float | None = None
    ) -> AsyncIterator[None]:
        """Hold a lock of this process; ``turns``: for how many transactions it is waited, None: without bound.

        ``since``: when its caller came, by the event loop's clock, if that was not now.
        """
        seconds = None if turns is None else turns * self._seconds
        began = asyncio.get_running_loop().time() if since is None else since
        try:
            async with asyncio.timeout_at(None if seconds is None else began + seconds):
                await lock.acquire()
        except TimeoutError:
            raise self.too_busy(seconds) from None
        try:
            yield
        finally:
            lock.release()

    def too_busy(self, seconds: float | None = None) -> StoreUnavailable:
        """The error of one that has waited for so long."""
        return StoreUnavailable(
            f"store {self._path}: expected to write within {seconds or self._seconds:g} s, found another "
            "transaction open all the while; try again, and keep transactions short"
        )

    def forget(self) -> None:
        """Let go of the file."""
        if self.gate is not None:
            self.gate.forget()

    def _may_write(self, waited: float) -> bool:
        """Whether a writer that has waited so long may try; it closes the gate in time."""
        if self.gate is None:
            return True
        is_let_in = self.gate.close() if waited >= PATIENT_SECONDS else self.gate.is_open()
        return is_let_in or waited >= GATE_SECONDS


class Pauses:
    """The pauses of one caller between its tries."""

    def __init__(self, environment: Environment, version: Callable[[], int]) -> None:
        self._environment = environment
        self._version = version
        self._seen = 0
        self._longest = FIRST_PAUSE

    async def pause(self) -> float:
        """Wait before the next try; the seconds of it that count."""
        seconds = self._environment.random.uniform(self._longest / 2, self._longest)
        self._longest = min(2 * self._longest, LONGEST_PAUSE)
        await asyncio.sleep(seconds)
        seen, self._seen = self._seen, self._version()
        return seconds if seen == self._seen else seconds / TURN_WAITS
