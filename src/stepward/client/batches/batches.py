"""``client.batches``: preview, start and steer acts on every task that a filter finds."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from stepward.client.batches.new_batch import BatchClient, checked_rate, order_of, preview_of, start_order
from stepward.client.batches.preview import BatchPreview
from stepward.client.live.live_values import UNSET
from stepward.client.submitting import act_arguments
from stepward.durations import Duration
from stepward.errors import BatchNotFound
from stepward.model.tasks.control_characters import sought
from stepward.store.contract import Batch, BatchVerb, Doubt, Later

RATE = 20.0
"""Acts a second unless another rate is asked for."""


class Batches:
    """Acts in bulk: a preview first, then the batch, which the leading Supervisor carries out, oldest task first.

    Each task is asked as by a single directive; one that refuses keeps no other from it. A batch is about the tasks
    that the filter found at the preview, of those that still fulfil it when their turn comes, and asks none twice.
    """

    def __init__(self, client: BatchClient) -> None:
        self._client = client

    async def preview(
        self,
        verb: BatchVerb | str,
        where: str,
        *,
        step: str | None = None,
        input: Any = UNSET,
        result: Any = UNSET,
        doubt: Doubt | str | None = None,
        later: Later | str | None = None,
        complete_by: datetime | Duration | None = None,
        priority: int | None = None,
    ) -> BatchPreview:
        """Count the tasks, and say what the act would do to the first of them; nothing is changed.

        ``verb`` is ``resubmit``, ``mark_done``, ``undo``, ``cancel``, ``suspend``, ``resume`` or ``delete``; the
        keywords are those of the methods of a task's handle, and ``priority`` is the tasks' priority from then on. A
        ``complete_by`` that is a duration counts from the act on each task. Raises InvalidFilter.
        """
        said: dict[str, Any] = {"step": step, "input": input, "result": result, "doubt": doubt, "later": later}
        order = order_of(self._client, verb, where, complete_by=complete_by, priority=priority, **said)
        return await preview_of(self._client, order)

    async def start(self, preview: BatchPreview, *, rate: float = RATE, reason: str | None = None) -> Batch:
        """Have the act of a preview carried out on at most ``rate`` tasks a second; the audit keeps the ``reason``."""
        return await start_order(self._client, preview.order, preview.token, rate=rate, reason=reason)

    async def recent(self, limit: int = 100) -> list[Batch]:
        """The batches, newest first."""
        return await self._client.store.operators.batches(act_arguments.listed(limit))

    async def get(self, id: str) -> Batch:
        """The batch of that id, and how far it is. Raises BatchNotFound."""
        found = await self._client.store.operators.batch(sought(id))
        if found is None:
            raise BatchNotFound(f"batch {id[:100]!r}: expected one that was started, found none such; look at the list")
        return found

    async def pause(self, id: str) -> Batch:
        """Ask no further task until ``resume``. Raises BatchNotFound or IllegalTransition, as the others do."""
        return await self._steer(id, "pause")

    async def resume(self, id: str) -> Batch:
        """Go on with a batch that is paused."""
        return await self._steer(id, "resume")

    async def stop(self, id: str) -> Batch:
        """Ask no further task for good; what was asked stays so."""
        return await self._steer(id, "stop")

    async def pace(self, id: str, rate: float) -> Batch:
        """Go on with another rate, in tasks a second."""
        return await self._steer(id, "pace", checked_rate(rate))

    async def _steer(self, id: str, act: str, rate: float | None = None) -> Batch:
        steered = await self._client.store.operators.steer_batch(sought(id), act, self._client.actor, rate)
        self._client.hints.hint()
        return steered
