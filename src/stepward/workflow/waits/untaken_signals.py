"""Signals that a run has not taken when ``continue_as_new`` ends it: handed to the next run in memory.

They stay rows of the task's inbox until a run takes them, and are not read again as long as the task stays in memory.
"""

from __future__ import annotations

from stepward.workflow.decisions import Continued, RunEnd
from stepward.workflow.waits.signals import Signals


def untaken(signals: Signals | None, end: RunEnd | None) -> Signals | None:
    """What the next run begins with, of the ``signals`` of a run that ended so; None where no run follows."""
    if signals is None or not isinstance(end, Continued):
        return None
    signals.end_waits()
    return signals
