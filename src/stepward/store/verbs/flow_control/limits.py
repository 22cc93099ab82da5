"""Limits as they are declared in code and set by operators."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.limits.flow_limit import WORKFLOW, FlowLimit, SetLimit
from stepward.model.limits.slot_shares import SlotLease
from stepward.model.tasks.control_characters import without_nul
from stepward.store import rows
from stepward.store.rules.audit.audited_acts import limit_audit
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.engine import VerbPart
from stepward.store.verbs.flow_control.slot_leases import slots


class LimitVerbs(VerbPart):
    """Implements ``LimitStore``."""

    async def limits(self) -> list[FlowLimit]:
        return await self._transactions.read(limits)

    async def slots(self) -> list[SlotLease]:
        return await self._transactions.read(slots)

    async def permits(self) -> dict[tuple[str, bool], int]:
        return await self._transactions.read(permit_counts)

    async def set_limit(self, name: str, values: SetLimit, actor: str) -> None:
        await self._transactions.write(set_limit, name, values, actor, self._clock.now())
        self._ring()

    async def reset_limit(self, name: str, actor: str) -> bool:
        was_set = await self._transactions.write(reset_limit, name, actor, self._clock.now())
        self._ring()
        return was_set


async def limits(connection: VerbConnection) -> list[FlowLimit]:
    """All limits, by name."""
    return [rows.flow_limit(row) for row in await connection.rows("limits.limits")]


async def declare(
    connection: VerbConnection, declared: Sequence[FlowLimit], undeclared: Sequence[str], now: float
) -> None:
    """Records what code declares, and that it declares no limit of the names in ``undeclared``."""
    for each in sorted(declared, key=lambda limit: limit.name):
        values = (each.declared_concurrency, each.declared_starts, each.declared_seconds)
        if await connection.change("limits.declare", each.name, each.per_key, *values):
            await _wake(connection, each.name, now)
    if undeclared and await connection.change("limits.undeclare", list(undeclared)):
        await connection.change("limits.forget_empty")
    for name in undeclared:
        await _wake(connection, name, now)


async def set_limit(connection: VerbConnection, name: str, values: SetLimit, actor: str, now: float) -> None:
    """Sets a limit in place of what is declared; what ``values`` does not name stays as it is in force."""
    note = None if values.note is None else without_nul(values.note)
    found = await connection.row("limits.locked", name)
    concurrency, rate = values.upon(None if found is None else rows.flow_limit(found))
    parts = (None, None) if rate is None else (rate.calls, rate.per_seconds)
    await connection.change("limits.set", name, concurrency, *parts, now, without_nul(actor), note)
    await _wake(connection, name, now)
    await alerts_and_audit.write_audits(connection, [limit_audit(actor, "set", name, values)], now)


async def reset_limit(connection: VerbConnection, name: str, actor: str, now: float) -> bool:
    """Lets what is declared hold again; False if nothing was set."""
    if not await connection.change("limits.reset", name):
        return False
    await connection.change("limits.forget_empty")
    await _wake(connection, name, now)
    await alerts_and_audit.write_audits(connection, [limit_audit(actor, "reset", name, SetLimit())], now)
    return True


async def permit_counts(connection: VerbConnection) -> dict[tuple[str, bool], int]:
    """How many tasks have a permit (True) or wait for one, by the name of the limit."""
    return {(name, held == 1): count for name, held, count in await connection.rows("permits.counts")}


async def _wake(connection: VerbConnection, name: str, now: float) -> None:
    """Has the tasks that wait for a permit ask again under the limit as it is now."""
    if name.startswith(WORKFLOW):
        await connection.rows("permits.lock")
        await connection.change("permits.wake", name, now)
