"""Which faults a seed's world has, and how often: drawn first (a swarm), so that some worlds have few and some many."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
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
    """A service answers no request for a while: breakers open."""
    clock_rate: float = 0.0
    """By how much, as a share, the clock and the timers of a process may run fast or slow."""
    queues_in_store: float = 0.0
    """Not a rate: 1 if requests and replies travel through the store, and have the store's faults."""
    flood_every: float = 0.0
    """Signals for one task from every process at once, as fast as they go."""
    repair_every: float = 0.0
    """An operator mends a task in error: resubmits it, edits an input, or gives a result."""
    deploy_every: float = 0.0
    """A process is ended, and started again with other workflow code under the same version, or the right one."""
    flag_every: float = 0.0
    """A flag that workflow code reads as it runs is turned."""
    interrupt: float = 0.0
    """The application's code raises what is meant to end a process."""
    hang: float = 0.0
    """Workflow code never gives the loop back: its process ends after a while, and the next one hangs there too."""
    reply_garbled: float = 0.0
    """A reply holds what is no JSON, or is of another type than the operation declares."""
    endless: float = 0.0
    """A task that begins a new run again and again until a signal ends it."""

    def calm(self) -> Rates:
        """The second phase: nothing strikes any more."""
        return Rates()

    def kinds(self) -> list[str]:
        """The names of the rates that are not zero."""
        return [field.name for field in fields(self) if getattr(self, field.name)]

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
    clock_rate=0.4,
    queues_in_store=1.0,
    flood_every=5.0,
    repair_every=2.0,
    deploy_every=4.0,
    flag_every=2.0,
    interrupt=0.3,
    hang=0.5,
    reply_garbled=0.2,
    endless=0.5,
)
"""The strongest that a world gets; for ``every`` the shortest mean time."""


KINDS = frozenset(field.name for field in fields(Rates))
"""All that may strike."""
HARSH = (
    "clock_rate",
    "queues_in_store",
    "flood_every",
    "repair_every",
    "deploy_every",
    "flag_every",
    "interrupt",
    "hang",
    "reply_garbled",
    "endless",
)
"""Kinds that are drawn apart: the worlds of seeds that draw none of them stay as they were."""
SWITCHES = frozenset({"queues_in_store"})
"""Kinds that a world has or has not."""


def drawn(chance: random.Random) -> Rates:
    """The faults of one world, other than the harsh ones."""
    names = [field.name for field in fields(Rates) if field.name not in HARSH]
    return _drawn(Rates(), names, chance, chance.choice([0.25, 0.5, 0.75]))


def harsh(rates: Rates, chance: random.Random) -> Rates:
    """The same world with the harsh kinds that it has."""
    return _drawn(rates, HARSH, chance, chance.choice([0.0, 0.25, 0.5]))


def without(rates: Rates, names: Collection[str]) -> Rates:
    """The same faults but for some kinds."""
    return replace(rates, **dict.fromkeys(names, 0.0))


def _drawn(rates: Rates, names: Sequence[str], chance: random.Random, share: float) -> Rates:
    for name in names:
        if chance.random() < share:
            strongest = getattr(HIGHEST, name)
            strength = 1.0 if name in SWITCHES else chance.choice([0.2, 0.5, 1.0])
            value = strongest / strength if name.endswith("every") else strongest * strength
            rates = replace(rates, **{name: value})
    return rates
