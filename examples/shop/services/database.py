"""The SQLite file of one service: opened durable, changed in whole transactions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from examples.shop.services.service import Service
from servers import ledger

SCHEMA = Path(__file__).with_name("schema.sql")


def open_database(path: Path, service: Service) -> sqlite3.Connection:
    """The service's file, made if it is new; each commit is on disk before it returns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.executescript(ledger.SCHEMA)
    connection.executescript(SCHEMA.read_text(encoding="utf-8"))
    service.prepare(connection)
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing of what happens inside."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        yield
