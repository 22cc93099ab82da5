"""Events and alerts as lines of the standard library's logging, under loggers ``stepward.*``.

A line is the event's name and ``key=value`` parts; ``task`` is the id that operators know, ``task_uid`` the internal
one, where only that is known. Unprintable characters are escaped, so that no payload moves a terminal's cursor, adds a
line, or hides other text.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any

from stepward.events import Event
from stepward.model.alerts.alert_routing import EVERY_ALERT, AlertNews, AlertRoute, severity_of
from stepward.model.alerts.console_links import alert_link
from stepward.model.records import Alert
from stepward.payload.secret_values import redacted_text

PLAIN = re.compile(r"[\w.:/@+,#-]+")
LONGEST_VALUE = 1000
LONGEST_TRACEBACK = 8000
"""Most characters of a traceback; of a longer one the end is logged, which holds the error."""
WARNINGS = (
    "actor.failed",
    "alert.given_up",
    "alert.refused",
    "partition.failed",
    "step.failed",
    "step.gave_up",
    "supervisor.forgave",
    "transport.accepted",
    "transport.connected",
    "transport.lost",
    "transport.refused",
    "transport.rejected",
)
"""``transport.connected`` and ``transport.accepted`` are warnings because they end what was warned of."""
WARNING_ENDS = (
    ".blocked",
    ".broke",
    ".dead_letter",
    ".error",
    ".fenced",
    ".hung",
    ".jumped",
    ".not_deterministic",
    ".unavailable",
    "_failed",
    "_stuck",
    "_opened",
)
DEBUGS = (
    "agent.heartbeat",
    "agent.transport_failed",
    "scheduler.publish_failed",
    "scheduler.settle_failed",
    "scheduler.take_failed",
    "submission.queue_failed",
)
"""Events that every verb emits in an outage, which ``transport.lost`` or ``store.unavailable`` reports once."""
DEBUG_FAMILIES = ("step.", "turn.", "message.")
"""Events of every step, which are logged at level DEBUG."""


class LogObserver:
    """Logs each event as one line; the part of its name before the dot names the logger."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[logging.Logger, int]] = {}

    def __call__(self, event: Event) -> None:
        """Log ``event`` unless its logger ignores that level."""
        known = self._known.get(event.name)
        if known is None:
            known = self._known[event.name] = (_logger(event.name), level_of(event.name))
        logger, level = known
        if logger.isEnabledFor(level):
            logger.log(level, LogLine(event.name, event.fields))


class LogSink:
    """Takes alerts as warnings of the logger ``stepward.alerts``, and their ends as INFO.

    ``console_url`` is the address of the console, for the link of each alert.
    """

    def __init__(self, *, name: str = "log", route: AlertRoute = EVERY_ALERT, console_url: str | None = None) -> None:
        self.name = name
        self.route = route
        self.description = "log"
        self._console_url = console_url
        self._logger = logging.getLogger("stepward.alerts")

    async def deliver(self, alert: Alert, news: AlertNews) -> None:
        """Log the news; never refuses."""
        parts: dict[str, Any] = {
            "number": alert.number,
            "kind": alert.kind,
            "severity": severity_of(alert.kind),
            "task": alert.task_id,
            "task_uid": alert.task if alert.task_id is None else None,
            "step": alert.step,
        }
        if news is AlertNews.RESOLVED:
            self._logger.info(LogLine("alert.resolved", parts))
            return
        more = {"message": alert.message, "details": alert.details, "link": alert_link(self._console_url, alert)}
        self._logger.warning(LogLine("alert", parts | more))


class LogLine:
    """The message of a log record: its text is the line, and formatters of other forms read its parts."""

    __slots__ = ("name", "parts")

    def __init__(self, name: str, parts: Mapping[str, Any]) -> None:
        self.name = name
        self.parts = parts

    def __str__(self) -> str:
        return line(self.name, self.parts.items())


def level_of(name: str) -> int:
    """The level of an event's line."""
    if name in DEBUGS:
        return logging.DEBUG
    if name in WARNINGS or name.endswith(WARNING_ENDS):
        return logging.WARNING
    return logging.DEBUG if name.startswith(DEBUG_FAMILIES) else logging.INFO


def line(name: str, parts: Iterable[tuple[str, Any]]) -> str:
    """``name key=value …``; None is left out, values that are not plain are quoted."""
    return " ".join([name, *(f"{key}={_value(key, value)}" for key, value in parts if value is not None)])


def _value(key: str, value: object) -> str:
    if key == "traceback":
        return value_text(str(value)[-LONGEST_TRACEBACK:], LONGEST_TRACEBACK)
    return value_text(value)


def json_value(key: str, value: object) -> object:
    """A value as JSON lines show it: numbers, flags and lists stay, texts are cut at the length of the text lines."""
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [json_value(key, item) for item in value]
    text = redacted_text(value).decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
    if key == "traceback":
        return text[-LONGEST_TRACEBACK:]
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def value_text(value: object, longest: int = LONGEST_VALUE) -> str:
    """A value as one printable word, or quoted and escaped; cut at 1,000 characters unless said otherwise."""
    text = redacted_text(value).decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
    if len(text) > longest:
        text = f"{text[:longest]}…"
    if PLAIN.fullmatch(text):
        return text
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted if quoted.isprintable() else _escape(quoted)}"'


def _escape(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(f"stepward.{name.partition('.')[0]}")
