"""The stores of a test, on files or in schemas of a PostgreSQL database, and what stands in their tables."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

NAMES = ("a", "b", "c")
IN_SCHEMA = "?schema="


def in_files(folder: Path) -> list[str]:
    """Stores in files."""
    return [f"sqlite:///{folder / name}.db" for name in NAMES]


def in_schemas(address: str) -> list[str]:
    """Stores in one database."""
    return [f"{address}{IN_SCHEMA}{name}" for name in NAMES]


def looked_up(store: str, sql: str) -> list[tuple[Any, ...]]:
    """Rows of a store as they stand there; the statement names tables as SQLite's are named."""
    if IN_SCHEMA not in store:
        with closing(sqlite3.connect(store.removeprefix("sqlite:///"))) as connection:
            return connection.execute(sql).fetchall()
    with psycopg.connect(store.partition(IN_SCHEMA)[0], autocommit=True) as session:
        return session.execute(_on_postgres(store, sql)).fetchall()


def tables_of(store: str) -> list[str]:
    """The tables of a store, as SQLite's are named."""
    schema = store.partition(IN_SCHEMA)[2]
    if not schema:
        found = looked_up(store, "select name from sqlite_master where type = 'table'")
        return [name for (name,) in found if not name.startswith("sqlite_")]
    found = looked_up(store, f"select 'stepward_' || tablename from pg_tables where schemaname = '{schema}'")
    return [name for (name,) in found]


def changed(store: str, sql: str) -> None:
    """Changes rows of a store, past Stepward."""
    if IN_SCHEMA not in store:
        with closing(sqlite3.connect(store.removeprefix("sqlite:///"))) as connection, connection:
            connection.execute(sql)
        return
    with psycopg.connect(store.partition(IN_SCHEMA)[0], autocommit=True) as session:
        session.execute(_on_postgres(store, sql))


def _on_postgres(store: str, sql: str) -> str:
    schema = store.partition(IN_SCHEMA)[2]
    sql = re.sub(r"\bstepward_(\w+)\b(?!')", rf'"{schema}".\1', sql).replace("value ->>", "value::json ->>")
    return sql.replace("alive = 1", "alive")
