"""Clocks, randomness, ids and failpoints: the one module that reads them; all others receive them."""

from __future__ import annotations

import os
import random
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

MILLISECONDS = 1000
BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""The boot clock; hosts without one use their monotonic clock."""


class Clock(Protocol):
    """The source of time. All instants are in seconds."""

    def wall(self) -> float:
        """Seconds since 1970 by the host's wall clock, which may jump."""
        ...

    def boot(self) -> float:
        """Seconds since the host started, suspended time included; never jumps."""
        ...

    def boot_id(self) -> str:
        """The id of this start of the host: two processes with one boot id share ``boot``."""
        ...


class SystemClock:
    """The host's clocks."""

    def wall(self) -> float:
        return time.time()

    boot = staticmethod(partial(time.clock_gettime, BOOT))  # Read at every turn and call: no frame of Python's between.

    def boot_id(self) -> str:
        source = Path("/proc/sys/kernel/random/boot_id")
        return source.read_text().strip() if source.exists() else f"host-{uuid.getnode()}"


class OffsetClock:
    """Shows the time by the host's boot clock and an offset: jumps of the wall clock move nothing."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset = 0.0

    def now(self) -> float:
        """Seconds, near those since 1970."""
        return self._clock.boot() + self._offset


def no_failpoint(name: str) -> None:
    """Do nothing: the failpoints of a process that is not under test."""


class ExitAtFailpoint:
    """Ends the process, as ``kill -9`` would, when the failpoint ``name`` is passed for the ``nth`` time."""

    def __init__(self, name: str, nth: int = 1) -> None:
        self._name = name
        self._left = nth

    def __call__(self, name: str) -> None:
        """Count a passage; the last one ends the process."""
        if name == self._name:
            self._left -= 1
            if self._left == 0:
                os._exit(137)


def failpoint_from(text: str | None) -> Callable[[str], None]:
    """Read ``NAME`` or ``NAME:NTH`` (the variable ``STEPWARD_FAILPOINT``); None means no failpoint."""
    if not text:
        return no_failpoint
    name, _, nth = text.partition(":")
    return ExitAtFailpoint(name, int(nth or 1))


@dataclass(frozen=True, slots=True)
class Environment:
    """What a process uses besides its store and transport; the simulation passes its own."""

    clock: Clock = field(default_factory=SystemClock)
    random: random.Random = field(default_factory=random.SystemRandom)
    failpoint: Callable[[str], None] = no_failpoint

    def new_uid(self) -> str:
        """A UUIDv7 (RFC 9562), ordered by time, so that rows with new keys are appended to an index."""
        return uuid7(int(self.clock.wall() * MILLISECONDS), self.random.getrandbits(74))


def uuid7(milliseconds: int, chance: int) -> str:
    """The text of a UUIDv7 from a Unix time and 74 random bits."""
    high, low = chance >> 62, chance & (1 << 62) - 1
    number = (milliseconds & (1 << 48) - 1) << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
