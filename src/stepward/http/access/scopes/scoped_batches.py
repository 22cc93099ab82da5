"""Batches in the name of a principal: they touch no task out of its scope, and it sees those it started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from stepward.client import Batches, BatchPreview, ClientSession
from stepward.client.batches.new_batch import order_of, preview_of, start_order
from stepward.client.batches.preview import BatchOrder
from stepward.errors import BatchNotFound
from stepward.http.access.access_audit import AccessAudit
from stepward.http.access.permissions import Permission
from stepward.http.access.principals import Principal
from stepward.http.access.two_person import needs_second_person
from stepward.http.exception_handlers import HttpRefusal
from stepward.store.contract import Batch, BatchParameters, BatchVerb

MOST_LISTED = 1_000


class ScopedBatches:
    """What a principal may do with batches; with a scope, the batches of other principals do not exist for it."""

    def __init__(
        self, session: ClientSession, principal: Principal, audit: AccessAudit, *, needs_two_persons: bool
    ) -> None:
        self._session = session
        self._needs_two_persons = needs_two_persons
        self._audit = audit
        self._batches = Batches(session)
        self._principal = principal

    async def preview(self, verb: BatchVerb, where: str, said: Mapping[str, Any]) -> BatchPreview:
        """What the act would do to the tasks in scope. Raises InvalidFilter."""
        return await preview_of(self._session, self._order(verb, where, said))

    async def start(
        self, verb: BatchVerb, where: str, said: Mapping[str, Any], *, token: str, rate: float, reason: str | None
    ) -> Batch:
        """Start what a preview of just this act was looked at. Raises Refused."""
        order = self._order(verb, where, said)
        chosen = order.parameters
        if self._needs_two_persons and needs_second_person(verb, chosen.doubt, chosen.later):
            raise HttpRefusal(
                403, f"{verb} in bulk: expected the two-person rule to be off, found it on; act one by one"
            )
        return self._shown(await start_order(self._session, order, token, rate=rate, reason=reason))

    async def recent(self, limit: int) -> list[Batch]:
        """The batches, newest first."""
        found = await self._batches.recent(limit if self._principal.scope.is_everything else MOST_LISTED)
        seen = [batch for batch in found if self._sees(batch)][:limit]
        if self._principal.payloads and any(map(_quotes_payloads, seen)):
            await self._audit.read_list(self._principal, "batches")
        return [self._shown(batch) for batch in seen]

    async def get(self, id: str) -> Batch:
        """The batch of that id. Raises BatchNotFound, in the same words for one that it may not see."""
        found = await self._batches.get(id)
        if not self._sees(found):
            raise BatchNotFound(f"batch {id[:100]!r}: expected one that was started, found none such; look at the list")
        if self._principal.payloads and _quotes_payloads(found):
            await self._audit.read_list(self._principal, "batches")
        return self._shown(found)

    async def pause(self, id: str) -> Batch:
        """Ask no further task until ``resume``."""
        await self.get(id)
        return self._shown(await self._batches.pause(id))

    async def resume(self, id: str) -> Batch:
        """Go on with a batch that is paused."""
        await self.get(id)
        return self._shown(await self._batches.resume(id))

    async def stop(self, id: str) -> Batch:
        """Ask no further task for good."""
        await self.get(id)
        return self._shown(await self._batches.stop(id))

    async def pace(self, id: str, rate: float) -> Batch:
        """Go on with another rate, in tasks a second."""
        await self.get(id)
        return self._shown(await self._batches.pace(id, rate))

    def _order(self, verb: BatchVerb, where: str, said: Mapping[str, Any]) -> BatchOrder:
        if verb is BatchVerb.DELETE and not self._principal.may(Permission.ADMINISTER):
            raise HttpRefusal(403, f"delete: expected an admin without a scope, found {self._principal.name}")
        scope = self._principal.scope
        return order_of(self._session, verb, where, workflows=scope.workflows, labels=dict(scope.labels), **said)

    def _sees(self, batch: Batch) -> bool:
        return self._principal.scope.is_everything or batch.actor == self._principal.name

    def _shown(self, batch: Batch) -> Batch:
        if self._principal.payloads:
            return batch
        kept = batch.parameters
        return replace(batch, reason=None, parameters=_without_payloads(kept))


def _quotes_payloads(batch: Batch) -> bool:
    return any((batch.reason, batch.parameters.input, batch.parameters.result))


def _without_payloads(given: BatchParameters) -> BatchParameters:
    """The parameters without payloads."""
    return replace(given, input=None, result=None)
