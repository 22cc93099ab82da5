"""What the audit tells of access: who was refused, and who read payloads. Neither can flood it."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict

import msgspec

from stepward.client import session_of
from stepward.errors import StepwardError
from stepward.http.access.principals import Principal
from stepward.http.client_source import ClientSource
from stepward.model.records import Audit

logger = logging.getLogger("stepward.http")

WINDOW_SECONDS = 60.0
REFUSED_PER_WINDOW = 30
"""Refused tries that are told one by one; of more their number is told."""
READ_AGAIN_SECONDS = 600.0
"""A principal that reads the payloads of a task again within this time is not told again."""
MOST_READS = 10_000
LONGEST_VALUE = 200


class AccessAudit:
    """Writes acts of access; where the store does not take one, it is a warning of the log."""

    def __init__(self, source: ClientSource) -> None:
        self._source = source
        self._window_ends = 0.0
        self._told = 0
        self._untold = 0
        self._reads: OrderedDict[tuple[str, str], float] = OrderedDict()

    async def refused(self, actor: str, *, reason: str, task: str | None = None, **request: str) -> None:
        """Somebody was refused; ``request`` tells its method, path and address."""
        now = asyncio.get_running_loop().time()
        if now >= self._window_ends:
            self._window_ends, self._told = now + WINDOW_SECONDS, 0
        if self._told >= REFUSED_PER_WINDOW:
            self._untold += 1
            return
        self._told += 1
        untold, self._untold = self._untold, 0
        details: dict[str, str | int] = {"reason": reason}
        details |= {name: value[:LONGEST_VALUE] for name, value in request.items()}
        details |= {"untold_before": untold} if untold else {}
        await self._write(Audit(actor=actor, act="refused", task=task, details=msgspec.json.encode(details)))

    async def read_payloads(self, principal: Principal, task: str) -> None:
        """A principal is shown the payloads of the task of that uid."""
        now = asyncio.get_running_loop().time()
        key = (principal.name, task)
        if now < self._reads.get(key, 0.0):
            return
        self._reads[key] = now + READ_AGAIN_SECONDS
        self._reads.move_to_end(key)
        if len(self._reads) > MOST_READS:
            self._reads.popitem(last=False)
        await self._write(Audit(actor=principal.name, act="read_payloads", task=task))

    async def acted(self, principal: Principal, act: str, *, task: str | None = None) -> None:
        """A principal did what the store itself does not audit."""
        await self._write(Audit(actor=principal.name, act=act, task=task))

    async def _write(self, act: Audit) -> None:
        try:
            client = await self._source.client()
            await session_of(client).store.operators.record_acts([act])
        except StepwardError as error:
            logger.warning("audit: expected to record %s of %s, found: %s", act.act, act.actor, error)
