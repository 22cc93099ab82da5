"""The state of Agents, for applications and operators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct

from stepward.errors import AgentNotFound
from stepward.model.agent_stats import AgentStats, agent_stats
from stepward.model.agents import AgentStanding
from stepward.model.records import Instance, Role
from stepward.store.contract import OperatorStore

APART_SECONDS = 1.0
"""Hosts whose clocks are kept by NTP differ by much less, and an answer takes a part of a second."""

LATE_SECONDS = 10.0
"""Seconds, a lease by default, within which a Supervisor declares an instance dead whose lease is over."""

STATS_SECONDS = 3600.0
"""Seconds since their submission within which tasks count for the error rate and the durations of an Agent."""


class AgentState(StrEnum):
    """Whether an Agent is asked for anything."""

    OK = "ok"
    SUSPENDED = "suspended"
    BREAKER_OPEN = "breaker open"
    NO_INSTANCE = "no instance"


class AgentStatus(Struct, frozen=True, kw_only=True):
    """Where an Agent stands, of all its live instances together."""

    name: str
    state: AgentState
    instances: int
    capacity: int
    """How many requests they take at once: slots lost to calls that do not stop are none."""
    in_flight: int
    stuck: int
    """Slots lost to calls that went past their deadline and do not stop."""
    asked: int
    """What Schedulers last said: requests that are out, and steps that wait for room."""
    waiting_since: float | None
    """Since when the oldest step has waited for room, as its Scheduler last said; None if none waits."""
    hosts: list[str]
    suspended_at: float | None
    suspended_by: str | None
    note: str | None
    opened_at: float | None
    """Since when its breaker is open."""


def is_silent(instance: Instance, now: float) -> bool:
    """Whether its lease is over, and it was not declared dead yet."""
    return instance.alive and instance.expires_at <= now


def is_late(instance: Instance, now: float) -> bool:
    """Whether its lease has been over for so long that a Supervisor should have declared it dead."""
    return instance.alive and now - instance.expires_at > LATE_SECONDS


def is_apart(instance: Instance) -> bool:
    """Whether its host's wall clock and the store's are further apart than clocks that are kept right."""
    return instance.ahead is not None and abs(instance.ahead) > APART_SECONDS


def statuses(instances: Sequence[Instance], standings: Sequence[AgentStanding], now: float) -> list[AgentStatus]:
    """The Agents that are served or were within the hour, that steps wait for, or that are suspended."""
    live = [instance for instance in instances if instance.alive and not is_silent(instance, now)]
    known = {standing.name: standing for standing in standings}
    named = {name for each in instances if each.role is Role.AGENT for name in each.serves}
    named |= {name for each in live for name in each.demand}
    named |= {name for name, standing in known.items() if standing.is_suspended}
    return [_status(known.get(name) or AgentStanding(name=name), live) for name in sorted(named)]


async def stats(operators: OperatorStore) -> list[AgentStats]:
    """How the attempts at each Agent ended, of the newest tasks of the last STATS_SECONDS."""
    return agent_stats(await operators.attempts(operators.now() - STATS_SECONDS))


def check_known(name: str, standings: Sequence[AgentStanding]) -> None:
    """Raise AgentNotFound unless that Agent was ever served."""
    known = [standing.name for standing in standings]
    if name not in known:
        served = ", ".join(known) or "none"
        raise AgentNotFound(
            f"Agent {str(name)[:100]!r}: expected one that was ever served ({served}), found none such; correct it"
        )


def _status(standing: AgentStanding, live: Iterable[Instance]) -> AgentStatus:
    name = standing.name
    serving = [each for each in live if each.role is Role.AGENT and name in each.serves]
    health = [health for each in serving for health in each.health if health.agent == name]
    return AgentStatus(
        name=name,
        state=_state(standing, is_served=bool(serving)),
        instances=len(serving),
        capacity=sum(each.room for each in health),
        in_flight=sum(each.in_flight for each in health),
        stuck=sum(each.stuck for each in health),
        asked=sum(each.demand.get(name, 0) for each in live),
        waiting_since=min((each.waits[name] for each in live if name in each.waits), default=None),
        hosts=sorted({each.host for each in serving}),
        suspended_at=standing.suspended_at,
        suspended_by=standing.suspended_by,
        note=standing.note,
        opened_at=standing.opened_at,
    )


def _state(standing: AgentStanding, *, is_served: bool) -> AgentState:
    if standing.is_suspended:
        return AgentState.SUSPENDED
    if not is_served:
        return AgentState.NO_INSTANCE
    return AgentState.BREAKER_OPEN if standing.is_open else AgentState.OK
