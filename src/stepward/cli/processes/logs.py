"""Logs of a process that runs actors: to stderr, one line a record."""

from __future__ import annotations

import logging
import sys
import time

from stepward.cli.output.text_width import clean

CLIENTS = ("aio_pika", "aiormq")
"""Libraries that log what Stepward tells in lines of its own."""


class OneLine(logging.Formatter):
    """Instant in UTC, level, which process of a group, logger, message; a traceback follows on the same line."""

    def __init__(self, process: int | None = None) -> None:
        which = "" if process is None else f"[{process}] "
        super().__init__(f"%(asctime)s.%(msecs)03dZ %(levelname)-7s {which}%(name)s %(message)s", "%Y-%m-%dT%H:%M:%S")
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        return clean(super().format(record))


def log_to_stderr(level: str, *, process: int | None = None) -> None:
    """Send what is logged to stderr, unless the application has set up its own logging.

    ``process`` is the number of this one among those of its group.
    """
    root = logging.getLogger()
    hush_clients()
    if not root.handlers:
        # Among Python's own warnings is the one of a step that workflow code did not await.
        logging.captureWarnings(True)
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(OneLine(process))
        root.addHandler(handler)
        root.setLevel(level)


def hush_clients() -> None:
    """Leave what goes wrong with a broker to our own lines, unless the application has set up its own logging."""
    if not logging.getLogger().handlers:
        for client in CLIENTS:
            logging.getLogger(client).setLevel(logging.CRITICAL)
