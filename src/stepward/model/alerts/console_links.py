"""The addresses of the console's pages, for links from outside it."""

from __future__ import annotations

from urllib.parse import quote

from stepward.model.records import Alert


def task_href(id: str) -> str:
    """The address of a task's page, below the console's root."""
    return f"/tasks/{quote(id.replace('/', '~'), safe='~@:')}"


def alert_link(console_url: str | None, alert: Alert) -> str | None:
    """The page of the alert's task at the cause, else the alert among the open ones; None without a console."""
    if console_url is None:
        return None
    if alert.task_id is None:
        return f"{console_url}/alerts#alert-{alert.number}"
    return f"{console_url}{task_href(alert.task_id)}#cause"
