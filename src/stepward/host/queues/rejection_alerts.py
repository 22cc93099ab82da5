"""Alerts about rejected messages: of another store, of an older wire, or without proof."""

from __future__ import annotations

import asyncio

from stepward.errors import StoreError
from stepward.events import Event
from stepward.host.assembly import Parts
from stepward.model.records import Alert
from stepward.transport.broker.rejections import REJECTED


class RejectionAlerts:
    """Raises one alert for each reason, unless an open one exists.

    An alert that the store does not take is raised with the next report of that reason.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._waiting: dict[str, Alert] = {}
        self._received = asyncio.Event()

    async def keep(self) -> None:
        """Raise alerts until cancelled."""
        self._parts.observers.add(self._hear)
        try:
            while True:
                await self._received.wait()
                self._received.clear()
                waiting, self._waiting = self._waiting, {}
                for alert in waiting.values():
                    await self._raise(alert)
        finally:
            self._parts.observers.remove(self._hear)

    def _hear(self, event: Event) -> None:
        if event.name == REJECTED:
            alert = rejected_alert(**event.fields)
            self._waiting[alert.kind] = alert
            self._received.set()

    async def _raise(self, alert: Alert) -> None:
        try:
            await self._parts.store.host.warn(alert)
        except StoreError as error:
            self._parts.observers.emit("store.unavailable", error=str(error))


def rejected_alert(queue: str, reason: str, error: str, count: int) -> Alert:
    """The alert for a reason."""
    return Alert(kind=reason, message=f"queue {queue}: {error} (rejected by this process so far: {count:,})")
