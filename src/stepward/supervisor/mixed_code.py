"""Alerts about live Schedulers that serve different code under one workflow and version."""

from __future__ import annotations

import msgspec

from stepward.events import Observers
from stepward.model.alerts.mixed_code import Mixed, mixed
from stepward.model.records import Alert
from stepward.store.contract import SupervisorStore

LOOK_EVERY = 5.0
"""Seconds between two checks."""
KIND = "mixed_code"
MOST_NAMED = 5
"""Most workflows that one alert's message names; its details name all."""


class MixedCode:
    """Checks the live Schedulers at intervals, while this Supervisor leads."""

    def __init__(self, store: SupervisorStore, observers: Observers) -> None:
        self._store = store
        self._observers = observers
        self._look_at = 0.0
        self._reported: list[str] | None = None
        """The differences at the last check; None before the first."""

    async def look(self, term: int) -> None:
        """Raise the alert for differences, replace it when they change, and resolve it when there are none."""
        now = self._store.now()
        if now < self._look_at:
            return
        found = mixed(await self._store.schedulers())
        self._look_at = now + LOOK_EVERY
        differs = [each.message for each in found]
        if differs == self._reported:
            return
        # An alert of a former leader stands, unless its cause is over.
        if (self._reported is not None or not found) and await self._store.resolve_alert(term, KIND) and not found:
            self._observers.emit("code.agrees")
        if found:
            await self._raise(term, found)
        self._reported = differs

    async def _raise(self, term: int, found: list[Mixed]) -> None:
        more = f"; and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        message = "; ".join(each.message for each in found[:MOST_NAMED]) + more
        if await self._store.raise_alert(term, Alert(kind=KIND, message=message, details=_details(found))):
            self._observers.emit("code.differs", workflows=[each.workflow for each in found])


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
