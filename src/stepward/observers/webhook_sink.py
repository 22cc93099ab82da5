"""Alerts as signed webhooks: one POST of a CloudEvent for each, to one receiver."""

from __future__ import annotations

import ssl
from collections.abc import Collection

from stepward.clock import Clock
from stepward.model.alerts.alert_routing import EVERY_ALERT, AlertNews, AlertRoute
from stepward.model.alerts.console_links import alert_link
from stepward.model.records import Alert
from stepward.observers.alert_event import cloud_event
from stepward.observers.webhook_address import Resolve, resolve
from stepward.observers.webhook_posts import TIMEOUT, SignedPosts
from stepward.payload import encode

EVENT_BYTES = 16 * 1024 * 1024


class WebhookSink:
    """Posts alerts to one URL; any 2xx answer within ``timeout`` seconds means that the receiver has it.

    ``source`` names the app in the event, ``console_url`` is the address of the console, for the event's link.
    ``allow_http`` allows plain http to other hosts than this one; ``private_hosts`` names those that may have private
    addresses.
    """

    def __init__(
        self,
        url: str,
        secret: str,
        *,
        name: str = "webhook",
        route: AlertRoute = EVERY_ALERT,
        source: str = "/stepward",
        console_url: str | None = None,
        timeout: float = TIMEOUT,
        allow_http: bool = False,
        private_hosts: Collection[str] = (),
        clock: Clock | None = None,
        resolve: Resolve = resolve,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.name = name
        self.route = route
        self._console_url = console_url
        self._source = source
        self._posts = SignedPosts(
            url,
            secret,
            timeout=timeout,
            allow_http=allow_http,
            private_hosts=private_hosts,
            clock=clock,
            resolve=resolve,
            tls=tls,
        )
        self.description = f"webhook {self._posts.target}"

    def __repr__(self) -> str:
        return f"<WebhookSink {self._posts.target}>"

    async def deliver(self, alert: Alert, news: AlertNews) -> None:
        """Post the news of the alert. Raises AlertRefused unless the receiver took it."""
        event = cloud_event(alert, news, self._source, alert_link(self._console_url, alert))
        await self._posts.post(event["id"], encode(event, "alert", limit=EVENT_BYTES))
