"""Fair shares of an Agent's capacity: divided between the live Schedulers by their demand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from stepward.model.agents import AgentStanding

Demands = Mapping[str, int]
"""By the instance of a Scheduler: its requests that are out, and its steps that wait for room."""


class Room(NamedTuple):
    """How many requests of one Scheduler an Agent takes."""

    requests: int
    is_barred: bool = False
    """Whether it is reduced because the Agent is suspended or its breaker is open; no alert is raised then."""


def room(capacity: int, standing: AgentStanding | None, others: Demands, me: str, now: float) -> Room:
    """The room of Scheduler ``me`` beside ``others``, of an Agent whose instances take ``capacity`` requests in all."""
    if standing is not None and standing.is_suspended:
        return Room(0, is_barred=True)
    if standing is not None and standing.is_open and capacity > 0:
        asking = [scheduler for scheduler, demand in others.items() if demand > 0]
        is_first = me <= min(asking, default=me)
        return Room(int(is_first and standing.may_probe(now)), is_barred=True)
    return Room(fair_share(capacity, others, me))


def fair_share(capacity: int, others: Demands, me: str) -> int:
    """The max-min fair share of ``me``: no Scheduler gets more than another that asks for as much.

    A Scheduler that asks for less than its share leaves the rest to the others. Each gets one at least, or it would
    never move: where there are more Schedulers than room, some requests wait for a slot.
    """
    if capacity <= 0:
        return 0
    greedy = sorted((demand, scheduler) for scheduler, demand in others.items() if demand > 0)
    left = capacity
    while greedy and greedy[0][0] <= left // (len(greedy) + 1):
        left -= greedy.pop(0)[0]
    share, rest = divmod(left, len(greedy) + 1)
    before_me = sum(scheduler < me for _, scheduler in greedy)
    return max(1, share + (before_me < rest))
