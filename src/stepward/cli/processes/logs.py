"""Logs of a process that runs actors: to stderr, one line a record."""

from __future__ import annotations

import json
import logging
import sys
import time

from stepward.observers.logs import LogLine, json_value
from stepward.settings import Settings
from stepward.views.printable import clean

CLIENTS = ("aio_pika", "aiormq", "azure")
"""Libraries whose messages Stepward reports in lines of its own."""


class OneLine(logging.Formatter):
    """Instant in UTC, level, number within the process group, logger, message; a traceback follows on the same line."""

    def __init__(self, process: int | None = None) -> None:
        which = "" if process is None else f"[{process}] "
        super().__init__(f"%(asctime)s.%(msecs)03dZ %(levelname)-7s {which}%(name)s %(message)s", "%Y-%m-%dT%H:%M:%S")
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        return clean(super().format(record))


class JsonLine(logging.Formatter):
    """A JSON object a line: ``time``, ``level``, ``process`` (number within the group), ``logger``, and the event's
    name and fields, or ``message`` of other records; texts are cut as in the text lines."""

    def __init__(self, process: int | None = None) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        found: dict[str, object] = {"time": f"{at}.{int(record.msecs):03d}Z", "level": record.levelname}
        if self._process is not None:
            found["process"] = self._process
        found["logger"] = record.name
        if isinstance(record.msg, LogLine):
            found["event"] = record.msg.name
            for key, value in record.msg.parts.items():
                if value is not None:
                    found[key if key not in found else f"{key}_"] = json_value(key, value)
        else:
            found["message"] = record.getMessage()
        if record.exc_info:
            found["traceback"] = self.formatException(record.exc_info)
        return json.dumps(found)


def log_to_stderr(settings: Settings, *, process: int | None = None) -> None:
    """Send logs to stderr, unless the application has configured logging.

    ``process`` is the number of this process within its group.
    """
    root = logging.getLogger()
    hush_clients()
    if not root.handlers:
        # Python's own warnings include the one about a step that workflow code did not await.
        logging.captureWarnings(True)
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter((JsonLine if settings.log_format == "json" else OneLine)(process))
        root.addHandler(handler)
        root.setLevel(settings.log_level)


def hush_clients() -> None:
    """Silence the broker libraries, whose errors Stepward reports itself, unless the application has configured
    logging."""
    if not logging.getLogger().handlers:
        for client in CLIENTS:
            logging.getLogger(client).setLevel(logging.CRITICAL)
