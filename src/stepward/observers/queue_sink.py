"""Alerts as events in a response queue of the application, which ``client.events("replies.APP.QUEUE")`` reads."""

from __future__ import annotations

from stepward.clock import Clock, SystemClock
from stepward.errors import AlertRefused, TransportError
from stepward.model.alerts.alert_routing import EVERY_ALERT, AlertNews, AlertRoute
from stepward.model.alerts.console_links import alert_link
from stepward.model.messages.cloudevents import sequence_text
from stepward.model.messages.status_events import KEPT_SECONDS
from stepward.model.records import Alert
from stepward.observers.alert_event import cloud_event
from stepward.payload import encode
from stepward.transport.queues.contract import AppQueues

EVENT_BYTES = 16 * 1024 * 1024
SEQUENCES = {AlertNews.RAISED: 1, AlertNews.RESOLVED: 2}


class QueueSink:
    """Puts each piece of news into ``replies.APP.QUEUE``, where it stays for seven days unless it is read.

    ``queues`` is None where the settings are only checked; then nothing is delivered.
    """

    def __init__(
        self,
        queue: str,
        queues: AppQueues | None,
        *,
        app: str,
        name: str = "queue",
        route: AlertRoute = EVERY_ALERT,
        console_url: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self.route = route
        self.description = f"queue {queue}"
        self._queue = f"replies.{app}.{queue}"
        self._queues = queues
        self._source = f"/stepward/{app}"
        self._console_url = console_url
        self._clock = clock or SystemClock()

    async def deliver(self, alert: Alert, news: AlertNews) -> None:
        """Put the news into the queue. Raises AlertRefused if the queue cannot be reached or refuses it."""
        if self._queues is None:
            raise AlertRefused(
                f"{self.description}: expected the application's queues, found none; start the application"
            )
        event = cloud_event(alert, news, self._source, alert_link(self._console_url, alert))
        event["sequence"] = sequence_text(SEQUENCES[news])
        body = encode(event, "alert", limit=EVENT_BYTES)
        try:
            await self._queues.put(self._queue, [(body, self._clock.wall() + KEPT_SECONDS)])
        except TransportError as error:
            raise AlertRefused(f"{self.description}: expected it to take the alert, found: {error}") from None
