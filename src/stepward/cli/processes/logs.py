"""Logs of a process that runs actors: to stderr, one line a record."""

from __future__ import annotations

import logging
import sys
import time

from stepward.views.printable import clean

CLIENTS = ("aio_pika", "aiormq")
"""Libraries whose messages Stepward reports in lines of its own."""


class OneLine(logging.Formatter):
    """Instant in UTC, level, number within the process group, logger, message; a traceback follows on the same line."""

    def __init__(self, process: int | None = None) -> None:
        which = "" if process is None else f"[{process}] "
        super().__init__(f"%(asctime)s.%(msecs)03dZ %(levelname)-7s {which}%(name)s %(message)s", "%Y-%m-%dT%H:%M:%S")
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        return clean(super().format(record))


def log_to_stderr(level: str, *, process: int | None = None) -> None:
    """Send logs to stderr, unless the application has configured logging.

    ``process`` is the number of this process within its group.
    """
    root = logging.getLogger()
    hush_clients()
    if not root.handlers:
        # Python's own warnings include the one about a step that workflow code did not await.
        logging.captureWarnings(True)
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(OneLine(process))
        root.addHandler(handler)
        root.setLevel(level)


def hush_clients() -> None:
    """Silence the broker libraries, whose errors Stepward reports itself, unless the application has configured
    logging."""
    if not logging.getLogger().handlers:
        for client in CLIENTS:
            logging.getLogger(client).setLevel(logging.CRITICAL)
