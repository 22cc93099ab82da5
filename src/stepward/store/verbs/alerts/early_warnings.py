"""Early warnings: the signs that the leader reads from the store, and the alerts that it keeps open for them."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.records import Alert, Instance
from stepward.store import rows
from stepward.store.contract.values.early_warnings import KeptWarnings, LateTask, QueueHead, WaitingTask, WarningFigures
from stepward.store.rules import supervisor_rows
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.connection import VerbConnection

MOST_LATE_TASKS = 1_000
MOST_WARNINGS = 1_000
SHORTEST_DEADLINE_SECONDS = 60.0
"""Tasks with less time end before an operator could act."""
SHORTEST_LEASE_SECONDS = 5.0
"""A shorter lease is used up by any pause of a busy host."""


async def keep_warnings(
    connection: VerbConnection, kinds: Sequence[str], new: Sequence[Alert], lasting: Sequence[Alert], now: float
) -> KeptWarnings:
    """Raises what is new, and resolves what is gone."""
    known = [rows.alert(row) for row in await connection.rows("alerts.open_of", list(kinds), MOST_WARNINGS)]
    wanted = {(alert.kind, alert.details) for alert in (*new, *lasting)}
    over = [alert.number for alert in known if (alert.kind, alert.details) not in wanted]
    resolved = await connection.rows("alerts.resolve", over, now, supervisor_rows.ACTOR) if over else []
    await alerts_and_audit.acknowledged(connection, sorted(resolved), supervisor_rows.ACTOR, now)
    open_ = {(alert.kind, alert.details) for alert in known}
    raised = [alert for alert in new if (alert.kind, alert.details) not in open_]
    await alerts_and_audit.write_alerts(connection, raised, now)
    return KeptWarnings(len(raised), len(resolved))


async def figures(connection: VerbConnection, task_share: float, created_before: float, now: float) -> WarningFigures:
    """What early warnings of tasks and queues are judged by."""
    late = await connection.rows(
        "early_warnings.late_tasks", now, task_share, SHORTEST_DEADLINE_SECONDS, MOST_LATE_TASKS
    )
    newest = await connection.row("early_warnings.newest_token")
    return WarningFigures(
        late_tasks=[LateTask(*row) for row in late],
        heads=[QueueHead(*row) for row in await connection.rows("early_warnings.heads")],
        newest_token=0 if newest is None else newest[0],
        waiting=[WaitingTask(*row) for row in await connection.rows("early_warnings.waiting", created_before)],
    )


async def late_leases(connection: VerbConnection, share: float, now: float) -> list[Instance]:
    """The live instances that have used that share of their lease without renewing it."""
    found = await connection.rows("early_warnings.late_leases", now, share, SHORTEST_LEASE_SECONDS)
    return [rows.instance(row) for row in found]
