"""The state of an Agent in words."""

from __future__ import annotations

from stepward.client import AgentStatus
from stepward.client.agent_status import AgentState
from stepward.views.times import span


def percent(share: float) -> str:
    """A share from 0 to 1 as people read it: ``0%``, ``0.4%``, ``12%``; more than nothing is never ``0%``."""
    return (
        "0%" if share == 0 else "<0.1%" if share < 0.001 else f"{100 * share:.1f}%" if share < 0.1 else f"{share:.0%}"
    )


def short_state_of(agent: AgentStatus, now: float) -> str:
    """The state of an Agent, and since when."""
    if agent.state is AgentState.SUSPENDED and agent.suspended_at is not None:
        return f"suspended {span(now - agent.suspended_at)}"
    return state_of(agent, now)


def state_of(agent: AgentStatus, now: float) -> str:
    """The state of an Agent, since when, and set by whom."""
    if agent.state is AgentState.SUSPENDED and agent.suspended_at is not None:
        note = f": {agent.note}" if agent.note else ""
        return f"suspended {span(now - agent.suspended_at)} by {agent.suspended_by}{note}"
    if agent.state is AgentState.BREAKER_OPEN and agent.opened_at is not None:
        return f"breaker open {span(now - agent.opened_at)}"
    return agent.state
