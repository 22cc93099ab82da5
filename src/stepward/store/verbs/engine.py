"""An engine as verbs see it: its transactions, its clock, and how others hear of a change."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from stepward.store.verbs.connection import VerbClock, VerbTransactions


class VerbEngine(NamedTuple):
    """What the verbs of one store object run on."""

    leases: VerbTransactions
    """For renewing leases, which waits for nothing else where an engine can do several things at once."""
    others: VerbTransactions
    """For all other verbs."""
    clock: VerbClock
    ring: Callable[[], None]
    """Tells the other processes of the store that something was changed."""
