"""Which faults a seed's world has, and how often: drawn first (a swarm), so that some worlds have few and some many."""

from __future__ import annotations

import random
from dataclasses import dataclass, fields, replace

HOUR = 3600.0


@dataclass(slots=True)
class Rates:
    """How often each fault strikes; chances are per verb, message or call, ``every`` is a mean number of seconds."""

    store_unavailable: float = 0.0
    store_unknown: float = 0.0
    """The commit took place, and its answer was lost."""
    store_slow: float = 0.0
    store_outage_every: float = 0.0
    message_lost: float = 0.0
    message_doubled: float = 0.0
    message_delayed: float = 0.0
    queue_refuses: float = 0.0
    queues_wiped_every: float = 0.0
    crash_every: float = 0.0
    crash_at_failpoint: float = 0.0
    stall_at_failpoint: float = 0.0
    stall_at_judgement: float = 0.0
    reply_held_back: float = 0.0
    """The process stands still in the middle of what it does."""
    pause_every: float = 0.0
    terminate_every: float = 0.0
    clock_jump_every: float = 0.0
    service_error: float = 0.0
    service_error_after: float = 0.0
    """The effect took place, then the service answered with an error."""
    service_slow: float = 0.0
    service_hangs: float = 0.0
    answer_lost: float = 0.0
    declined: float = 0.0
    declined_after: float = 0.0
    undo_refused: float = 0.0
    operator_every: float = 0.0
    client_doubles: float = 0.0
    service_away_every: float = 0.0
    """A service answers nobody for a while: breakers open."""

    def calm(self) -> Rates:
        """The second phase: nothing strikes any more."""
        return Rates()

    def text(self) -> str:
        """The rates that are not zero."""
        known = ((field.name, getattr(self, field.name)) for field in fields(self))
        return ", ".join(f"{name}={value:.3g}" for name, value in known if value) or "none"


HIGHEST = Rates(
    store_unavailable=0.05,
    store_unknown=0.02,
    store_slow=0.3,
    store_outage_every=20.0,
    message_lost=0.3,
    message_doubled=0.3,
    message_delayed=0.5,
    queue_refuses=0.1,
    queues_wiped_every=15.0,
    crash_every=8.0,
    crash_at_failpoint=0.02,
    stall_at_failpoint=0.03,
    stall_at_judgement=0.5,
    reply_held_back=0.3,
    pause_every=10.0,
    terminate_every=15.0,
    clock_jump_every=5.0,
    service_error=0.3,
    service_error_after=0.2,
    service_slow=0.5,
    service_hangs=0.15,
    answer_lost=0.2,
    declined=0.1,
    declined_after=0.05,
    undo_refused=0.1,
    operator_every=4.0,
    client_doubles=0.5,
    service_away_every=4.0,
)
"""The strongest that a world gets; for ``every`` the shortest mean time."""


def drawn(chance: random.Random) -> Rates:
    """The faults of one world."""
    rates = Rates()
    share = chance.choice([0.25, 0.5, 0.75])
    for field in fields(Rates):
        if chance.random() < share:
            strongest = getattr(HIGHEST, field.name)
            strength = chance.choice([0.2, 0.5, 1.0])
            value = strongest / strength if field.name.endswith("every") else strongest * strength
            rates = replace(rates, **{field.name: value})
    return rates
