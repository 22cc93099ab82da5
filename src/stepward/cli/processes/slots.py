"""What a group remembers of each of its places: who is there, and how often those before died."""

from __future__ import annotations

import signal
from typing import NamedTuple

from stepward.cli.failures import DONE, WRONG
from stepward.cli.processes.child import Child
from stepward.policies import grown

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
STEADY_SECONDS = 60.0
"""Whoever was at work for so long has not died of its start: the pauses begin anew."""
STARTS = 3
"""Failed starts in a row that are enough, if all the others fail as well."""


class SlotEnd(NamedTuple):
    """How a process ended, after how many seconds at work (None: never), and what it said of that."""

    code: int
    worked: float | None = None
    complaint: str = ""

    @property
    def how(self) -> str:
        """The code or the signal, in words."""
        before = " before it was at work" if self.worked is None else ""
        if self.code == DONE:
            return f"ended in good order{before}"
        if self.code >= 0:
            return f"ended with code {self.code}{before}"
        known = {each.value: each.name for each in signal.Signals}
        return f"was killed by {known.get(-self.code, f'signal {-self.code}')}{before}"

    @property
    def why(self) -> str:
        """What it said, to be put behind."""
        return f": {self.complaint}" if self.complaint else ""

    @property
    def is_final(self) -> bool:
        """Whether another start would end alike: the application or its settings are wrong."""
        return self.code == WRONG and self.worked is None


class Slot:
    """A place for one process at a time."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.child: Child | None = None
        self.at_work = False
        self.failed_starts = 0
        """In a row."""
        self.is_given_up = False
        """Whether no other process is begun here."""
        self._deaths = 0
        """In a row, with no steady work in between."""

    @property
    def name(self) -> str:
        """What an operator reads of it."""
        return f"process {self.number}" if self.child is None else f"process {self.number} (pid {self.child.pid})"

    @property
    def is_taken(self) -> bool:
        """Whether anybody was ever tried here."""
        return self.child is not None or self.failed_starts > 0

    @property
    def is_hopeless(self) -> bool:
        """Whether its starts have failed often enough, if all the others fail as well."""
        return self.is_given_up or self.failed_starts >= STARTS

    def began(self) -> None:
        """Its process is at work."""
        self.at_work = True
        self.failed_starts = 0

    def pause_after(self, end: SlotEnd) -> float:
        """Its process has ended; the seconds until the next one."""
        is_steady = end.worked is not None and end.worked >= STEADY_SECONDS
        self._deaths = 1 if is_steady else self._deaths + 1
        self.failed_starts += end.worked is None
        self.is_given_up = end.is_final
        return grown(FIRST_PAUSE, 2.0, LONGEST_PAUSE, self._deaths)
