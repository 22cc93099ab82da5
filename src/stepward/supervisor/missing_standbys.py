"""Alerts about PostgreSQL standbys: fewer confirm commits than the settings require."""

from __future__ import annotations

from stepward.events import Observers
from stepward.model.records import Alert
from stepward.settings import Settings
from stepward.store.contract import SupervisorStore

LOOK_EVERY = 10.0
KIND = "standby_missing"


class Standbys:
    """Checks the standbys at intervals, while this Supervisor leads."""

    def __init__(self, store: SupervisorStore, settings: Settings, observers: Observers) -> None:
        self._store = store
        self._expected = settings.synchronous_standbys
        self._observers = observers
        self._look_at = 0.0
        self._in_order = False

    async def look(self, term: int) -> None:
        """Raise the alert when there are too few, and resolve it when they are back."""
        now = self._store.now()
        if not self._expected or now < self._look_at:
            return
        standbys = await self._store.standbys()
        self._look_at = now + LOOK_EVERY
        if standbys is None:
            return
        confirming = sum(standby.confirms for standby in standbys)
        if confirming < self._expected:
            await self._report_missing(term, confirming)
        elif not self._in_order:
            await self._resolve(term)

    async def _report_missing(self, term: int, confirming: int) -> None:
        self._in_order = False
        message = (
            f"expected {self._expected} standbys that commits wait for, found {confirming}: commits may now be "
            "lost with the primary; see stepward check"
        )
        if await self._store.raise_alert(term, Alert(kind=KIND, message=message)):
            self._observers.emit("standbys.missing", expected=self._expected, found=confirming)

    async def _resolve(self, term: int) -> None:
        if await self._store.resolve_alert(term, KIND):
            self._observers.emit("standbys.back", expected=self._expected)
        self._in_order = True
