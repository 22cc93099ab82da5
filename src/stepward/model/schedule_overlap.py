"""The overlap policies: what a schedule does at a nominal time while its last task is at work."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

OverlapPolicy = Literal["allow", "skip", "buffer_one", "buffer", "cancel"]
"""An ``Overlap`` as applications write it."""


class Overlap(StrEnum):
    """The policy for a nominal time at which the last task of the schedule is at work."""

    ALLOW = "allow"
    """A task is started beside it."""
    SKIP = "skip"
    """No task is started for this time."""
    BUFFER_ONE = "buffer_one"
    """One task is started when it has ended, for the last time that has passed."""
    BUFFER = "buffer"
    """A task is started for each time, one after the other."""
    CANCEL = "cancel"
    """It is cancelled, and a task is started at once."""
