"""Whether live Schedulers serve the same under one workflow and version; operators are told of those that do not."""

from __future__ import annotations

import msgspec

from stepward.events import Observers
from stepward.model.mixed_code import Mixed, mixed
from stepward.model.records import Alert
from stepward.store.contract import SupervisorStore

LOOK_EVERY = 5.0
"""Seconds between two looks."""
KIND = "mixed_code"
MOST_NAMED = 5
"""Workflows that one alert's message names; its details name all."""


class MixedCode:
    """Looks at the live Schedulers now and then, while this Supervisor leads."""

    def __init__(self, store: SupervisorStore, observers: Observers) -> None:
        self._store = store
        self._observers = observers
        self._look_at = 0.0
        self._told: list[str] | None = None
        """What differed at the last look; None before the first."""

    async def look(self, term: int) -> None:
        """Raise the alert when some differ, another when others do, and settle it when all agree."""
        now = self._store.now()
        if now < self._look_at:
            return
        found = mixed(await self._store.schedulers())
        self._look_at = now + LOOK_EVERY
        differs = [each.message for each in found]
        if differs == self._told:
            return
        # What a former leader has told stands, unless it is over.
        if (self._told is not None or not found) and await self._store.settle_alert(term, KIND) and not found:
            self._observers.tell("code.agrees")
        if found:
            await self._raise(term, found)
        self._told = differs

    async def _raise(self, term: int, found: list[Mixed]) -> None:
        more = f"; and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        message = "; ".join(each.message for each in found[:MOST_NAMED]) + more
        if await self._store.raise_alert(term, Alert(kind=KIND, message=message, details=_details(found))):
            self._observers.tell("code.differs", workflows=[each.workflow for each in found])


def _details(found: list[Mixed]) -> bytes:
    return msgspec.json.encode(
        [
            {
                "workflow": each.workflow,
                "differs": each.parts,
                "instances": [
                    {"id": instance.id, "host": instance.host, "pid": instance.pid}
                    for instance in (each.former, each.latter)
                ],
            }
            for each in found
        ]
    )
