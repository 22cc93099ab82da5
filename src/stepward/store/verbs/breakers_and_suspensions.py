"""The state that all instances of an Agent share: a suspension by an operator, and one breaker."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.agents import AgentStanding
from stepward.model.tasks.control_characters import without_nul
from stepward.store import rows
from stepward.store.rules.audit.audited_acts import agent_audit
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.connection import VerbConnection


async def know(connection: VerbConnection, names: Sequence[str]) -> None:
    """Records the names of served Agents."""
    if names:
        await connection.change("agents.know", list(names))


async def standings(connection: VerbConnection) -> list[AgentStanding]:
    """The states of all Agents, by name."""
    return [rows.standing(row) for row in await connection.rows("agents.standings")]


async def open_breaker(connection: VerbConnection, agent: str, instance: str, seconds: float, now: float) -> bool:
    """Opens the breaker for so many seconds."""
    return await connection.change("agents.open", agent, instance, now, seconds) == 1


async def grant_probe(connection: VerbConnection, agent: str, instance: str, seconds: float, now: float) -> bool:
    """Lets one instance probe."""
    return await connection.change("agents.probe", agent, instance, now, seconds) == 1


async def close_breaker(connection: VerbConnection, agent: str, instance: str) -> bool:
    """Closes the breaker."""
    return await connection.change("agents.close", agent, instance) == 1


async def suspend(connection: VerbConnection, name: str, note: str | None, actor: str, now: float) -> bool:
    """Suspends the Agent: it gets no window."""
    said = None if note is None else without_nul(note)
    changed = await connection.change("agents.suspend", name, now, without_nul(actor), said)
    return await _audited(connection, "suspend", name, said, actor, now, changed)


async def resume(connection: VerbConnection, name: str, actor: str, now: float) -> bool:
    """Ends the suspension, and closes the breaker if no live instance could probe: it would stay open otherwise."""
    changed = await connection.change("agents.end_suspension", name)
    if await connection.row("agents.prober", name, now) is None:
        changed += await connection.change("agents.reset_breaker", name)
    return await _audited(connection, "resume", name, None, actor, now, changed)


async def _audited(
    connection: VerbConnection, act: str, name: str, note: str | None, actor: str, now: float, changed: int
) -> bool:
    if changed:
        await alerts_and_audit.write_audits(connection, [agent_audit(actor, act, name, note)], now)
    return changed > 0
