"""The settings of all processes of a world."""

from __future__ import annotations

import random

from stepward.settings import Settings

FEW, MANY = 3, 100
"""Deaths of owners after which a task is parked."""
LEASES = (2.0, 3.0, 5.0)


def drawn_settings(chance: random.Random) -> Settings:
    """Settings that are short enough for a run, some of them drawn."""
    return Settings(
        transport="store",
        lease=chance.choice(LEASES),
        supervisor_every=chance.choice([0.5, 1.0]),
        poll=chance.choice([1.0, 2.0]),
        tasks_in_flight=chance.choice([1, 2, 4, 100]),
        tasks_in_memory=chance.choice([1, 100]),
        evict_after=chance.choice([0.0, 1.0, 5.0, None]),
        recovery_limit=chance.choice([FEW, MANY]),
        drain=chance.choice([0.0, 2.0]),
        commit_rows=chance.choice([1, 5000]),
        retention=None,
        # The disk is the host's, and its free share differs between two runs.
        warn_disk_free=None,
    )
