"""Alerts to mail, chat and paging services, through Apprise (extra ``apprise``)."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from urllib.parse import urlsplit

from stepward.errors import AlertRefused, SettingsError
from stepward.model.alerts.alert_routing import EVERY_ALERT, AlertNews, AlertRoute, severity_of
from stepward.model.alerts.console_links import alert_link
from stepward.model.records import Alert
from stepward.settings.sink_settings import Severity

TIMEOUT = 30.0
LONGEST_MESSAGE = 2_000
"""Most characters of an alert's message that are sent; chats and pagers cut longer ones without saying so."""


class AppriseSink:
    """Sends each piece of news as a message to the service of one Apprise URL, such as ``mailto://…`` or ``slack://…``.

    Raises SettingsError if Apprise is missing or does not know the URL; the error does not repeat it.
    """

    def __init__(
        self,
        url: str,
        *,
        app: str = "",
        name: str = "apprise",
        route: AlertRoute = EVERY_ALERT,
        console_url: str | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        what = f"alert_sinks: sink {name!r}"
        if find_spec("apprise") is None:
            raise SettingsError(f"{what}: expected the package apprise, found none; run: pip install stepward[apprise]")
        import apprise  # noqa: PLC0415  an extra's

        self._service = apprise.Apprise()
        if not self._service.add(url):
            raise SettingsError(f"{what}: expected a URL that Apprise knows, found another; see its list of services")
        self.name = name
        self.route = route
        self.description = f"apprise {urlsplit(url).scheme}://…"
        self._app = app
        self._console_url = console_url
        self._timeout = timeout

    async def deliver(self, alert: Alert, news: AlertNews) -> None:
        """Send the news. Raises AlertRefused unless the service took it."""
        from apprise import NotifyFormat  # noqa: PLC0415  an extra's

        try:
            async with asyncio.timeout(self._timeout):
                taken = await self._service.async_notify(
                    title=title_of(alert, news, self._app),
                    body=body_of(alert, news, alert_link(self._console_url, alert)),
                    notify_type=kind_of(alert, news),
                    body_format=NotifyFormat.TEXT,
                )
        except TimeoutError:
            raise AlertRefused(
                f"{self.description}: expected an answer within {self._timeout:g} s, found none"
            ) from None
        if not taken:
            raise AlertRefused(
                f"{self.description}: expected it to take the message, found it refused; see Apprise's log"
            )


def title_of(alert: Alert, news: AlertNews, app: str) -> str:
    """The subject of the message."""
    about = alert.task_id or alert.workflow or "the application"
    end = "resolved" if news is AlertNews.RESOLVED else str(severity_of(alert.kind))
    return f"[{app or 'stepward'}] {end}: {alert.kind.replace('_', ' ')}, {about}"


def body_of(alert: Alert, news: AlertNews, link: str | None) -> str:
    """The text of the message: what happened, where, and the page about it."""
    message = alert.message if len(alert.message) <= LONGEST_MESSAGE else f"{alert.message[:LONGEST_MESSAGE]}…"
    over = "This is over by itself.\n" if news is AlertNews.RESOLVED else ""
    step = f"Step: {alert.step}\n" if alert.step else ""
    return f"{over}{message}\n{step}Alert {alert.number}{f': {link}' if link else ''}"


def kind_of(alert: Alert, news: AlertNews) -> str:
    """The kind of message by which services choose colours and urgency."""
    if news is AlertNews.RESOLVED:
        return "success"
    kinds = {Severity.INFO: "info", Severity.WARNING: "warning"}
    return kinds.get(severity_of(alert.kind), "failure")
