"""The history of each slot of a process group: its process, and how often earlier ones died."""

from __future__ import annotations

import signal
from typing import NamedTuple

from stepward.cli.exit_codes import DONE, WRONG
from stepward.cli.processes.child import Child
from stepward.policies import grown

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
STEADY_SECONDS = 60.0
"""Seconds of work after which a death does not count as a failed start: the pauses begin again."""
STARTS = 3
"""Failed starts in a row after which a slot gives up, if all other slots fail too."""


class SlotEnd(NamedTuple):
    """The end of a process: the code, the seconds at work (None: never), and its own message."""

    code: int
    worked: float | None = None
    complaint: str = ""
    is_drained: bool = False
    """Whether an operator ended it: no other begins in its place."""

    @property
    def how(self) -> str:
        """The exit code or the signal, in words."""
        before = " before it was at work" if self.worked is None else ""
        if self.code == DONE:
            return f"ended in good order{before}"
        if self.code >= 0:
            return f"ended with code {self.code}{before}"
        known = {each.value: each.name for each in signal.Signals}
        return f"was killed by {known.get(-self.code, f'signal {-self.code}')}{before}"

    @property
    def why(self) -> str:
        """Its own message, as the end of a sentence."""
        return f": {self.complaint}" if self.complaint else ""

    @property
    def is_final(self) -> bool:
        """Whether another start would end alike, because the application or its settings are wrong."""
        return self.code == WRONG and self.worked is None


class Slot:
    """A slot for one process at a time."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.child: Child | None = None
        self.at_work = False
        self.failed_starts = 0
        """Failed starts in a row."""
        self.is_given_up = False
        """Whether no other process is started here."""
        self._deaths = 0
        """Deaths in a row without steady work in between."""

    @property
    def name(self) -> str:
        """The slot's state, for operators."""
        return f"process {self.number}" if self.child is None else f"process {self.number} (pid {self.child.pid})"

    @property
    def is_taken(self) -> bool:
        """Whether a process was ever started here."""
        return self.child is not None or self.failed_starts > 0

    @property
    def is_hopeless(self) -> bool:
        """Whether its starts have failed often enough, if all other slots fail too."""
        return self.is_given_up or self.failed_starts >= STARTS

    def began(self) -> None:
        """Note that its process is at work."""
        self.at_work = True
        self.failed_starts = 0

    def pause_after(self, end: SlotEnd) -> float:
        """Note that its process has ended; the seconds until the next start."""
        is_steady = end.worked is not None and end.worked >= STEADY_SECONDS
        self._deaths = 1 if is_steady else self._deaths + 1
        self.failed_starts += end.worked is None
        self.is_given_up = end.is_final or end.is_drained
        return grown(FIRST_PAUSE, 2.0, LONGEST_PAUSE, self._deaths)
