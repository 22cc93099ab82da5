"""Writes refused requests and reads of payloads into the audit, each up to a bound, so that they cannot flood it."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict

import msgspec

from stepward.client import session_of
from stepward.errors import StepwardError
from stepward.http.access.principals import Principal
from stepward.http.shared_client import ClientSource
from stepward.model.records import Audit

logger = logging.getLogger("stepward.http")

WINDOW_SECONDS = 60.0
REFUSED_PER_WINDOW = 30
"""Most refusals that are recorded one by one within a window; the next record counts the others."""
READ_AGAIN_SECONDS = 600.0
"""Seconds within which further reads of the same payloads by one principal are not recorded."""
READ = "read_payloads"
MOST_READS = 10_000
LONGEST_VALUE = 200


class AccessAudit:
    """Writes acts of access; if the store refuses one, the act is logged as a warning."""

    def __init__(self, source: ClientSource) -> None:
        self._source = source
        self._window_ends = 0.0
        self._recorded = 0
        self._omitted = 0
        self._reads: OrderedDict[tuple[str, str], float] = OrderedDict()

    async def refused(self, actor: str, *, reason: str, task: str | None = None, **request: str) -> None:
        """Records a refused request; ``request`` holds its method, path and address."""
        now = asyncio.get_running_loop().time()
        if now >= self._window_ends:
            self._window_ends, self._recorded = now + WINDOW_SECONDS, 0
        if self._recorded >= REFUSED_PER_WINDOW:
            self._omitted += 1
            return
        self._recorded += 1
        omitted, self._omitted = self._omitted, 0
        details: dict[str, str | int] = {"reason": reason}
        details |= {name: value[:LONGEST_VALUE] for name, value in request.items()}
        details |= {"omitted_before": omitted} if omitted else {}
        await self._write(Audit(actor=actor, act="refused", task=task, details=msgspec.json.encode(details)))

    async def read_payloads(self, principal: Principal, task: str) -> None:
        """Records that a principal is shown the payloads of the task with that uid."""
        if self._is_new(principal.name, task):
            await self._write(Audit(actor=principal.name, act=READ, task=task))

    async def read_list(self, principal: Principal, listed: str) -> None:
        """Records that a principal is shown a list that quotes payloads: ``tasks``, ``alerts``, ``audit``."""
        if self._is_new(principal.name, f"list {listed}"):
            await self._write(Audit(actor=principal.name, act=READ, details=msgspec.json.encode({"list": listed})))

    async def acted(self, principal: Principal, act: str, *, task: str | None = None) -> None:
        """Records an act of a principal that the store itself does not audit."""
        await self._write(Audit(actor=principal.name, act=act, task=task))

    async def reasoned(self, principal: Principal, act: str, subject: str, reason: str) -> None:
        """Records the reason of an act whose own entry in the audit has no place for it."""
        details = {"act": act, "subject": subject[:LONGEST_VALUE], "reason": reason}
        await self._write(Audit(actor=principal.name, act="reason", details=msgspec.json.encode(details)))

    def _is_new(self, actor: str, what: str) -> bool:
        """Whether that reading was not recorded lately; it counts as recorded from now on."""
        now = asyncio.get_running_loop().time()
        if now < self._reads.get((actor, what), 0.0):
            return False
        self._reads[actor, what] = now + READ_AGAIN_SECONDS
        self._reads.move_to_end((actor, what))
        if len(self._reads) > MOST_READS:
            self._reads.popitem(last=False)
        return True

    async def _write(self, act: Audit) -> None:
        try:
            client = await self._source.client()
            await session_of(client).store.operators.record_acts([act])
        except StepwardError as error:
            logger.warning("audit: expected to record %s of %s, found: %s", act.act, act.actor, error)
