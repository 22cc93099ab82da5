"""How all instances of an Agent stand together: suspended by an operator, or behind one breaker."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stepward.model.agents import AgentStanding
from stepward.store import rows
from stepward.store.queries import load_queries
from stepward.store.rules.verdicts import agent_audit
from stepward.store.sqlite import journal
from stepward.store.sqlite.connection import Connection
from stepward.store.sqlite.rows import FRAGMENTS

Q = load_queries(__package__, "agents.sql", FRAGMENTS)


def know(connection: Connection, names: Sequence[str]) -> None:
    """Agents of these names are served."""
    if names:
        connection.change(Q["know"], (msgspec.json.encode(names).decode(),))


def standings(connection: Connection) -> list[AgentStanding]:
    """All of them, by name."""
    return [rows.standing(row) for row in connection.rows(Q["standings"])]


def open_breaker(connection: Connection, agent: str, instance: str, seconds: float, now: float) -> bool:
    """Let nothing pass for so long."""
    return connection.change(Q["open"], (agent, instance, now, seconds)) == 1


def grant_probe(connection: Connection, agent: str, instance: str, seconds: float, now: float) -> bool:
    """Let one instance find out."""
    return connection.change(Q["probe"], (agent, instance, now, seconds)) == 1


def close_breaker(connection: Connection, agent: str, instance: str) -> bool:
    """Let everything pass again."""
    return connection.change(Q["close"], (agent, instance)) == 1


def suspend(connection: Connection, name: str, note: str | None, actor: str, now: float) -> bool:
    """Give it no room."""
    changed = connection.change(Q["suspend"], (name, now, actor, note))
    return _audited(connection, "suspend", name, note, actor, now, changed)


def resume(connection: Connection, name: str, actor: str, now: float) -> bool:
    """Give it room again."""
    return _audited(connection, "resume", name, None, actor, now, connection.change(Q["resume"], (name, now)))


def _audited(
    connection: Connection, act: str, name: str, note: str | None, actor: str, now: float, changed: int
) -> bool:
    if changed:
        journal.write_audits(connection, [agent_audit(actor, act, name, note)], now)
    return changed == 1
