"""The part of a Scheduler's turn that the engines share: changes one by one, and messages to other tasks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from stepward.store.contract import Change
from stepward.store.rules.change_conflicts import Missed, why_missed
from stepward.store.store_errors import detail
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.tasks import inbox


async def apply_each(
    connection: VerbConnection,
    instance: str,
    changes: Sequence[Change],
    apply: Callable[[Change], Awaitable[None]],
    data_errors: tuple[type[Exception], ...],
) -> dict[str, str]:
    """Applies each change in a savepoint of its own; returns the uids of those that do not apply, with the reason.

    ``data_errors`` are the driver's exceptions for values that the tables do not accept.
    """
    missed: dict[str, str] = {}
    # Those that post come last: a post must not make another task of this very turn miss its release.
    for change in sorted(changes, key=lambda change: bool(change.posts)):
        try:
            async with connection.savepoint():
                await apply(change)
        except Missed as reason:
            held = await inbox.lock(connection, [change.task])
            missed[change.task] = why_missed(change, held.get(change.task), instance, str(reason))
        except data_errors as error:
            missed[change.task] = f"refused: {detail(error)}"
    return missed


async def write_others(connection: VerbConnection, changes: Sequence[Change], now: float) -> None:
    """Writes the posts to other tasks, settles alerts, and writes acts of the audit."""
    await inbox.post_all(connection, [post for change in changes for post in change.posts], now)
    await alerts_and_audit.resolve(connection, [change.fits for change in changes if change.fits is not None], now)
    await alerts_and_audit.write_audits(connection, [audit for change in changes for audit in change.audits], now)
